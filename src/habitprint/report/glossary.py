"""Words of a report and what they mean, for a person who does not know the method."""

from habitprint.report.page import Term
from habitprint.report.words import stanzas

WORDS = """
Released table: The statistics to be published: for each pseudonym, how often it was at each place.

Known table: What an adversary has: the same kind of counts from another period, with names.

User: One person (or one card, phone or account), under a pseudonym in the released table.

Place: Whatever is counted: an antenna, a site, a grid cell, a product, a category.

Histogram: A user’s counts over all places. Divided by their sum they are called shares.

Common user: A person who is in both tables, and so can be identified at all.

Identified: The attack pairs the released pseudonym with the right person.

Share identified: Correctly paired people among all common users. People with the very same shares cannot be told
apart; each of them counts by the chance of hitting the right one, which is why a number of people may be 156.5.

95% interval: How far the share could lie from the one measured if the audit were repeated with other people of the
same kind (Wilson’s score interval). Decisions rest on its upper end, so that luck does not make them.

By chance: The share that would be identified if pairs were drawn at random: what anybody can do. One by one, every
released user draws a known one; all at once, each known user is drawn once, so with fewer known users it is less.

Target: The largest share that you accept. It is compared with the upper end of the 95% interval.

All at once (joint): Pairs all users of both tables together so that the sum of the weights is the smallest possible.
It comes with a proof that no other pairing has a smaller one.

One by one: Each released user is paired with the nearest known user, whoever else takes the same one.

Weight: How unlike two histograms are. Jensen–Shannon, l1, cosine and dot are four ways to measure it.

Proven optimal: No pairing can do better for this weight, up to rounding. A cleverer weight or more knowledge still
could.

Guess: A pair of users who share no place, drawn among those left over.

Margin: How much worse the best sum becomes if one pair is forbidden. A large margin means that nobody else fits
nearly as well, so the adversary can be sure of that pair without being told.

Claim: A pair that the adversary names. They may name only those with the largest margins.

Precision: The share of the claims made that are right.

Information loss: How far the protected histograms are from the original ones: 0 when nothing is lost, 1 when
everybody is released as the mean of all. Noise, or leaving places out, can exceed 1.

Totals error: How far the totals per place of the protected table are from the original ones, as a share.

Ranking error: Of all pairs of the most popular places, the share that the protected table ranks the other way round.

Frontier: The protections that no other beats in both respects, less risk and less loss.

k-anonymity: Every released row is identical to those of at least k − 1 other users.
"""
GLOSSARY = tuple(Term(name, meaning) for name, _, meaning in (entry.partition(": ") for entry in stanzas(WORDS)))
