"""The long texts of a report, for a person who does not know the method."""

from habitprint.report.page import Term

QUESTION = (
    "The number above answers one question: how many people would somebody identify who holds the released table and "
    "knows the same people’s habits from another period?"
)
KNOWLEDGE = """
They know these habits exactly, with names: from an older release, from a leak, or because they run one of the
services that collect such data.

They try every attack shown below, and the strongest one counts. Among them is a matching of all users at once with a
proof of how near it is to the best possible. They know which protection was applied.

They compare shares: how much somebody was counted in all is not used. If counts are released, totals may identify
too: release shares.
"""
NOTHING_ELSE = (
    "They know nothing else: {}. Somebody who knows more can identify more, and this audit does not bound that."
)
UNKNOWN = "no age, no address, no hours of the day"
TRUTH = "Who really is whom is used only to count what the attack got right. The adversary is never told."
METHOD = (
    "The audit plays the adversary on your own data. It takes two periods, hides the names in one, and sees how many "
    "people can be found again with the other. It does so with the table as it is, and once more for each protection."
)
DECISION = """
The upper end of the 95% interval of the strongest attack, not the share that happened to be measured: with few
people, a low share can be luck.

The same attack on the protected table, by an adversary who knows how it was protected.

Not only the average: a low share may hide a few people of whom the adversary can be sure. “Who is at risk” looks at
those.
"""
LIMITS = """
It is a measurement of one kind of attack on one pair of periods, not a guarantee. Only a protection that names a
guarantee gives one.

The interval tells how much the share could differ for other people of the same kind. It knows nothing of an adversary
with better data.

Where many protections are tried and the cheapest is taken, a lucky one has an advantage. That is why the one chosen
is attacked again, with every method.

Places and habits change. A table of next year needs an audit of its own.
"""
METHODS_IN_WORDS = (
    "“All at once” pairs all users of both tables together so that the whole fits best; “one by one” looks at each "
    "released user alone. What follows the comma is how the likeness of two histograms is measured."
)
SAME_AGAIN = "The same data, settings, seed and versions give the same numbers, except where secure noise was added."
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


def stanzas(text: str) -> tuple[str, ...]:
    r"""Return the parts of a text that stand between empty lines, each on one line.

    Examples
    --------
    >>> stanzas("One and\na half.\n\nTwo.")
    ('One and a half.', 'Two.')
    """
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))


GLOSSARY = tuple(Term(name, meaning) for name, _, meaning in (entry.partition(": ") for entry in stanzas(WORDS)))
