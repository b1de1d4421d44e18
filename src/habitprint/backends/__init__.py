"""Places other than this machine where tables live, and where they are counted, attacked and sampled."""
