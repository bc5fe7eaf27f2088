"""A Dask cluster of processes on this machine, for tests: prints its address, and ends when its input does.

Run as `local_cluster.py WORKERS THREADS`.
"""

import sys

from distributed import LocalCluster

if __name__ == "__main__":
    workers, threads = map(int, sys.argv[1:])
    with LocalCluster(n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=None) as cluster:
        sys.stdout.write(cluster.scheduler_address + "\n")
        sys.stdout.flush()
        sys.stdin.read()
