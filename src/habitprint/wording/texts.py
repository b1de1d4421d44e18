"""The fixed texts of a report, for a reader who does not know the method."""

from habitprint.formatting import headed, sentence
from habitprint.losses import SCALES
from habitprint.wording.page import Term

INTERNAL = "Internal: for the people who decide about the release. Do not publish. It names no person and no place."
GROUPS = (
    "An attacker can often find a person’s group, and then knows the row of the group. An attacker who has the rows of "
    "all other members can compute the last one. Two releases of the same people can be combined: publish a table once."
)
NOT_COVERED = """
Other tables about the same people, or the same table of another time. Together they reveal more than each alone.

Pseudonyms that are used again in other data, and the key to them.
"""
KINDS_OF_RISK = (
    "Linkability: measured, as re-identification with data from another time. Singling out: measured as far as it uses "
    "such a link. Inference: measured for groups only, as rows reconstructed and places attributed."
)
KNOWLEDGE = """
They know these habits exactly, with names: from an older release, a leak, or a service that collects such data.

They run every attack below, and the strongest one counts: joint matching, and one by one from either side.

They know which protection was applied. They apply the same protection to their own data if that helps.

They compare shares. Where totals differ from person to person, they use totals too.
"""
MORE_KNOWN = (
    "An attacker who knows more can exceed the measured risk, but not the guarantee. They can reconstruct more of what "
    "groups publish."
)
TRUTH = "The truth about people is used only to count correct matches. The attacker never sees it."
METHOD = (
    "The audit plays the attacker on your own data. It takes two periods, hides the names in one, and counts how many "
    "people can be re-identified with the other. It repeats this for each protection. A person counts if they are in "
    "the released table and known to the attacker."
)
DECISION = """
A protected table is judged by its guarantee about pointing at rows, unless you chose to decide by measured risk.
Identical rows with fresh random pseudonyms cannot be distinguished. An attacker who points at one of m identical rows
is right with probability at most 1/m. The mean over all people is compared with the target.

Rows must not be reconstructed from groups either. Attacks take groups apart: by denominators, by places of a single
member, and by subtracting known people. The upper end of that share must be within the target, or no row
reconstructed at all.

Places attributed to a person are measured beside their base rate. They decide nothing and are never guaranteed.

An unprotected table is judged by the upper end of the 95% interval of the strongest attack. With few people, a low
share can be luck.

A protection that is only measured is selected on one half of the people and confirmed on the hold-out half.

Each person counts once. If an attack gives one name to several rows, it counts by the probability of the right one.

A low average can hide a few people whose match is certain: see “Who is at risk?”.
"""
LIMITS = """
The audit says whether a target is met. The decision to release rests with the data controller.

The measured risk holds for the attacks that were run, on this pair of periods. Only the guarantee holds for every
attack.

The guarantee is about pointing at a person’s row, and nothing else. A group reveals its row for all of its members.

The interval shows how far the share could differ for similar people. It does not cover an attacker with better data.

Habits change. A table of another year needs its own audit.
"""
METHODS_IN_WORDS = (
    "“Joint matching” pairs all people of both tables together. “One by one” pairs each person alone, from either "
    "side. The weight follows the comma: “rarity” gives rare places more weight; “likelihood” asks how likely the "
    "known visits are for each released row; a “trained” weight was fitted to people whose truth the attacker knows."
)
OPTIONS = """
Another target: --target 1%. Decide by measured risk: --decide measured. Utility to keep: --keep totals, ranking,
patterns, prediction or people.

A name for the data in report and record: --name.
"""
OPTIONS_HERE = "An attacker who knows only some of the people: --overlap 50%."  # not where all are attacked remotely
OPTIONS_OF_EVENTS = (
    "Other periods: --release and --known, each FIRST..LAST. Ids that share most events with another id: --shared "
    "merge or --shared drop."
)
SAME_AGAIN = "The same data, options, seed and versions give the same numbers, except for secure noise."
WORDS = """
Released table: The statistics to be published: one row per pseudonym, with its counts or shares at each place.

Known table: The attacker’s data: the same kind of counts from another period, with names.

Person: The owner of one row: a person, card, phone or account.

Place: The thing that is counted: an antenna, site, grid cell, product or category.

Histogram: A person’s counts over all places. Divided by their sum they are shares.

Re-identified: The attack pairs the released row with the right person.

Measured risk: The share of people whom the strongest attack re-identifies, with its 95% interval. Attacks that were
not run may reach more.

Row pointed at: An attacker names one row for a person. Guaranteed: right with probability at most one over the number
of identical rows.

Average risk, highest risk: The mean of that probability over all people, and its maximum (in ARX: marketer and
prosecutor risk).

Row reconstructed: A person’s own published values, pieced together from groups with the right name. Measured: at
least 80% of the pieces are that person’s, and they hold half of the person’s shares or places.

Place attributed: A place named of a person that the attacker did not know. Measured, beside the base rate of any
member of the group.

Anonymity set: The rows that are identical to a person’s row (equivalence class).

k-anonymity: Every anonymity set has at least k rows.

Units: Each member of a group contributes the same number of whole units, rounded at random. No value shows whose it is.

95% interval: The range of shares that fits the result, for similar people (Wilson’s score interval, with the variance
of people who are matched together). The upper end decides.

By chance: The share that pairs drawn at random re-identify. People with equal shares count by the probability of the
right pair, so a number of people may be 156.5.

Target: The largest share that you accept.

Joint matching: Pairs all people together with the smallest total weight, with a proof that no other pairing has a
smaller one.

One by one: Pairs each row with the nearest known person, or each known person with the nearest row.

Weight: The distance of two histograms. Jensen–Shannon, l1, cosine and dot are four weights.

Proven optimal: No pairing is better for this weight, up to rounding. Another weight may be.

Guess: A pair that shares no place, drawn at random among those left over.

Margin: The loss of the best total if one pair is forbidden. A large margin means that no other match fits as well.

Claim, precision: A claim is a match that the attacker names. The precision is the share of claims that are right.

Utility: What a release must keep: totals, ranking, individual patterns, predictive value or people. The recommended
protection loses the least of it. Where that differs by less than 0.05, the sum of the other losses decides.
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
