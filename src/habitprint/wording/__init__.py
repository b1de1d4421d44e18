"""Sentences: each has one author here, made from values that hold facts only."""
