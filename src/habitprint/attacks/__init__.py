"""Attacks: two tables and who is whom in them, one attack, its result, and a suite of attacks."""
