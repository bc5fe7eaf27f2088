"""Trials on the workers of a cluster: what travels, what a worker does with it, and Dask's part."""
