"""Backends: clusters that count, attack and sample remote tables."""
