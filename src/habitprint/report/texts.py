"""The long texts of a report, for a person who does not know the method."""

from habitprint.formatting import headed, sentence
from habitprint.losses import SCALES
from habitprint.report.page import Term

INTERNAL = (
    "Internal: for those who decide about the release, not to be published with it. It names no person and no place."
)
PARAGRAPH = (
    "It was tested whether people can be identified again in “{source}” if a table of how often each of them was at "
    "each place is released under pseudonyms{released}. Somebody was assumed to hold that table and to know the "
    "same kind of habits of {n_known}, with names, from another time.{in_sample} {answer} Whether to release it is for "
    "people to decide."
)
ADVERSARY_IN_SHORT = (
    "Holds the released table; knows habits of {n_known} from another time exactly, with names; knows how the table "
    "was protected, and does the same to what they know or does not, whichever finds more; knows nothing else."
    "{in_sample} What is guaranteed about pointing at rows holds whatever they know. What is measured does not."
)
DEFAULT_TARGET = "the tool’s default, not a legal threshold"
GIVEN_TARGET = "set by whoever ran the audit; the tool knows no legal threshold"
EACH_PERSON = (
    "Nobody’s row pointed at with a probability above {allowed}. That is no target for rows reconstructed: their "
    "measured rate stands beside it."
)
GROUPS = (
    "The group of a person can often still be found, and its row is then known. An attacker who has the rows of all "
    "other members works out the last one. Two releases of the same people can be combined: publish a table once."
)
ONLY_MEASURED = "Attacks that were not made, and adversaries who know more."
NOT_COVERED = """
Other tables about the same people, or the same table of another time: together they can tell more than each alone.

Pseudonyms that are used again elsewhere, and the key to them.
"""
KINDS_OF_RISK = (
    "Linkability is measured: finding a person’s row again with what is known from another time. Singling out is "
    "measured as far as it leads through such a link. Inference is measured for groups only: how many people’s own "
    "rows can be reconstructed, and how often places are attributed to them."
)
QUESTION = (
    "The number above answers one question: how many people would somebody identify who holds the released table and "
    "knows the same people’s habits from another period?"
)
KNOWLEDGE = """
They know these habits exactly, with names: from an older release, from a leak, or because they run one of the
services that collect such data.

They try every attack shown below, and the strongest one counts: all at once, with a proof of how near that is to the
best possible, and one by one from either side.

They know which protection was applied. They do the same to what they know, as far as anyone can, or they do not:
whichever identifies more people.

They compare shares. Where the totals of a released table differ, they use those too.
"""
NOTHING_ELSE = (
    "They know nothing else: {}. Somebody who knows more can point at more rows than was measured, but never at more "
    "than is guaranteed; and can reconstruct more of what groups publish."
)
UNKNOWN = "no age, no address, no hours of the day"
TRUTH = "Who really is whom is used only to count what the attack got right. The adversary is never told."
METHOD = (
    "The audit plays the adversary on your own data. It takes two periods, hides the names in one, and sees how many "
    "people can be found again with the other. It does so with the table as it is, and once more for each protection. "
    "Everybody counts who is in the released table, as it would be published, and known to the adversary."
)
DECISION = """
For a protected table, on what is guaranteed about pointing at rows, unless it was asked to decide by what is
measured. Rows that are identical, totals included, and have fresh random pseudonyms cannot be told apart by anybody.
An attacker who points at one row for a person whose row is one of m identical ones is right with a chance of at most
one in m, whatever they know. The mean of these chances over all people is compared with the target.

Besides, the rows of people must not be reconstructed from what groups publish. That is measured by attacks that take
groups apart: by denominators, by places that one member alone is known to visit, and by subtracting people whom the
attacker knows. The upper end of that share must not be above the target either, or nobody’s row may have been
reconstructed at all.

Which places can be attributed to a person is measured beside its base rate. It decides nothing, and it is never
guaranteed.

For a table that is not protected, on what is measured: the upper end of the 95% interval of the strongest attack, not
the share that happened to be measured, because with few people a low share can be luck.

Both numbers stand beside each other for every protection. One that is only measured to be enough was chosen with one
half of the people and confirmed with the other, because the cheapest of many is often the luckiest.

Everybody counts once: a name that an attack gives to several rows counts by the chance that the right one is drawn.

Not only the average: a low share may hide a few people of whom the adversary can be sure. “Who is at risk” looks at
those.
"""
LIMITS = """
It does not say that a table should be released. It says whether a target is met; who sets the target, and what else
speaks for or against a release, is for people to decide.

What is measured holds for the attacks that were made, on this pair of periods. Only what is guaranteed holds for all.

What is guaranteed is about pointing at somebody’s row, and about nothing else. What a group publishes is told about
all of its members, and who knows some of them learns more about the others.

The interval tells how much the share could differ for other people of the same kind. It knows nothing of an adversary
with better data.

Places and habits change. A table of next year needs an audit of its own.
"""
METHODS_IN_WORDS = (
    "“All at once” pairs all people of both tables together so that the whole fits best; “one by one” looks at each "
    "person alone, from the released table or from the known side. What follows the comma is how the likeness of two "
    "histograms is measured: with “rarity”, places count the more the fewer people visit them; “likelihood” asks how "
    "likely the known visits are from each released row; a “learned” measure was fitted to people of whom it is known "
    "who they are."
)
OPTIONS = """
Another target: --target 1%. By what is measured once the table is protected: --decide measured. What the table is for,
so which loss counts: --keep totals, ranking, patterns, prediction or people.

What the data is called in report and record: --name.
"""
OPTIONS_HERE = "An adversary who knows only some of the people: --overlap 50%."  # not where all are attacked elsewhere
OPTIONS_OF_EVENTS = (
    "Other periods: --release and --known, each FIRST..LAST. People who share their events with another id: --shared "
    "merge, or --shared drop."
)
SAME_AGAIN = "The same data, settings, seed and versions give the same numbers, except where secure noise was added."
WORDS = """
Released table: The statistics to be published: for each pseudonym, how often it was at each place.

Known table: What an adversary has: the same kind of counts from another period, with names.

Person: Whoever, or whatever card, phone or account, has one row in a table; under a pseudonym in the released one.

Scope: How many people are in the file, in the released table, known to the adversary and in both; which time the two
tables cover; and how much of the file that is. Every share is one of the people in both.

Place: Whatever is counted: an antenna, a site, a grid cell, a product, a category.

Histogram: A person’s counts over all places. Divided by their sum they are called shares.

Identified: The attack pairs the released pseudonym with the right person.

Measured: What the strongest of the attacks that were made identifies, with its 95% interval. Attacks that were not
made can reach more.

Row pointed at: How often an attacker names the right one of identical rows. Guaranteed: at most one over their
number, whatever the attacker knows and does. It needs no interval.

Row reconstructed: A person’s own published values pieced together from what a group publishes, with the right name.
Measured: at least 80% of the pieces are that person’s, and hold half of their shares or places.

Places attributed: Places named of a person in their group. Measured, beside the base rate: how often that would be
right of any member.

Units: Every member of a group contributes the same number of whole units, rounded at random, so that no value shows
whose it is.

Share identified: People who are identified among all who are in both tables. People with the very same shares cannot
be told apart; each of them counts by the chance of hitting the right one, which is why a number of people may be
156.5.

95% interval: How far the share could lie from the one measured if the audit were repeated with other people of the
same kind (Wilson’s score interval, with the variance of people who depend on each other because they are matched with
each other). What is measured is judged by its upper end, so that luck does not decide.

By chance: The share that would be identified if pairs were drawn at random: what anybody can do. One by one, every
released row draws a known person; all at once, each known person is drawn once, so with fewer of them it is less.

Target: The largest share that you accept. What is guaranteed is compared with it, or for a table that is not
protected the upper end of the 95% interval of what is measured. Rows reconstructed must be within it, too.

All at once (joint): Pairs all people of both tables together so that the sum of the weights is the smallest possible.
It comes with a proof that no other pairing has a smaller one.

One by one: Each released row is paired with the nearest known person, or each known person with the nearest row,
whoever else takes the same one.

Weight: How unlike two histograms are. Jensen–Shannon, l1, cosine and dot are four ways to measure it.

Proven optimal: No pairing can do better for this weight, up to rounding. A cleverer weight or more knowledge still
could.

Guess: A pair of people who share no place, drawn among those left over.

Margin: How much worse the best sum becomes if one pair is forbidden. A large margin means that nobody else fits
nearly as well, so the adversary can be sure of that pair without being told.

Claim: A pair that the adversary names. They may name only those with the largest margins.

Precision: The share of the claims made that are right.

Purpose: What the table is for, which says what counts as lost. Totals of places, their ranking, patterns of each
person, their predictive value and people in the table are kept by different protections. The cheapest loses the least
of what was asked for; where that differs by less than 0.05, the least of predictive value, totals and people
together.

Frontier: The protections that no other beats in both respects, less risk and less loss.

k-anonymity: Every released row is identical to those of at least k − 1 other people.
"""


def stanzas(text: str) -> tuple[str, ...]:
    r"""Return the parts of a text that stand between empty lines, each on one line.

    Examples
    --------
    >>> stanzas("One and\na half.\n\nTwo.")
    ('One and a half.', 'Two.')
    """
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))


GLOSSARY = (
    *(Term(name, meaning) for name, _, meaning in (entry.partition(": ") for entry in stanzas(WORDS))),
    *(Term(headed(scale.name), f"{sentence(scale.meaning)} {sentence(scale.ends)}") for scale in SCALES.values()),
)
