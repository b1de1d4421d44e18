"""Groups of like users: micro-aggregation, how groups are found, and the compiled search for neighbours."""
