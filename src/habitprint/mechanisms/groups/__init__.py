"""Groups of similar users: micro-aggregation, the search for groups, and the compiled search for neighbours."""
