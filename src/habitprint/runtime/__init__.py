"""The machine: compiled kernels, threads, and the versions of libraries."""
