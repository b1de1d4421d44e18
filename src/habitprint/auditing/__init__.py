"""The audit: whether a table meets its target, which people are at risk, and which protection helps.

preparation (what is it, which periods) → attacks (what an attacker achieves) → curves (what that depends on) →
candidates, trials and search (which protection helps) → people (who is at risk) → verdict (the answer) → audit (all).
"""
