"""`cluster.py WORKERS THREADS`: a Dask cluster here; prints its address and its workers' ids, ends with its input."""

import sys

from distributed import LocalCluster

if __name__ == "__main__":
    workers, threads = map(int, sys.argv[1:])
    with LocalCluster(n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, *(one.pid for one in cluster.workers.values()), flush=True)
        sys.stdin.read()
