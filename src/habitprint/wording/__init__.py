"""Sentences of reports, records and commands, made from facts; one function for each fact."""
