"""Does this meet the target? An audit goes through its stages from left to right.

data (what is it, which periods) → attacks (what an attacker achieves) → curves (what that depends on) → candidates,
trials and search (which protection helps) → people (who is at risk) → verdict (the answer) → audit (all of it).
"""
