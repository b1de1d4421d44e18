"""Sentences about people who are followed through releases that are repeated under new pseudonyms."""

from habitprint.following import Following, Survival
from habitprint.formatting import at_most, counted, percent
from habitprint.wording.blocks import Block, Table, Text, fixed_text, table

HEADS = ("Interval", "Releases", "Days", "People", "Still followed", "Upper end", "In every release")
MORE_HEADS = ("Link by link", "In one release only")


def about_survival(survival: Survival) -> str:
    """Say how many people are still followed in the last release of a series.

    Examples
    --------
    >>> from habitprint.following import Followed
    >>> from habitprint.rates import Rate
    >>> share = Rate.of(30, 40, by_chance=0.025)
    >>> about_survival(Survival(7, 40, 0, (Followed(1, 7, share, share, share),)))
    'With new pseudonyms every 7 days, an attacker still follows 75% of people after 7 days.'
    """
    last = survival.last
    return fixed_text("followed", every=counted(survival.every, "day"), rate=last.everybody, days=last.n_days)


def about_rotation(found: Following, target: float) -> str:
    """Say which rotation intervals keep the share of people who are followed within a target.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_rotation(hp.follow(hp.datasets.calls_twin(60).events, every=3), target=0.05)
    'No tested interval keeps this share within 5% in every release.'
    """
    within = [counted(each.every, "day") for each in found.survivals if each.is_within(target)]
    if not within:
        return fixed_text("followed: no interval", target=target)
    return fixed_text("followed: intervals", days=" or ".join(within), target=target)


def about_following(found: Following, target: float) -> list[Block]:
    """Say how long people are followed by rotation interval: the answer, and how it was found.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in about_following(hp.follow(hp.datasets.calls_twin(60).events, every=3), target=0.05)]
    ['text', 'text']
    """
    if not found.survivals:
        return [Text(fixed_text("followed: nobody"))]
    notes = [fixed_text("followed: method")]
    if found.n_sampled is not None:
        notes.append(fixed_text("followed: sample", n=found.n_sampled))
    if found.too_long:
        days = ", ".join(f"{days:,}" for days in found.too_long)
        notes.append(fixed_text("followed: too long", n_days=found.n_days, days=days))
    return [Text(about_worst(found, target)), Text(" ".join(notes))]


def about_worst(found: Following, target: float) -> str:
    """Say at which interval most people are still followed, and which intervals meet the target.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_worst(hp.follow(hp.datasets.calls_twin(60).events, every=3), target=0.05)[-64:]
    ' No tested interval keeps this share within 5% in every release.'
    """
    worst = max(found.survivals, key=lambda each: each.last.everybody.value)
    return f"{about_survival(worst)} {about_rotation(found, target)}"


def following_table(found: Following) -> Table:
    """Return the share of people who are still followed in the last release, a row for each rotation interval.

    Examples
    --------
    >>> import habitprint as hp
    >>> len(following_table(hp.follow(hp.datasets.calls_twin(60).events, every=[1, 3])).rows)
    2
    """
    rows = [
        [
            counted(each.every, "day"),
            each.last.n_releases + 1,
            each.last.n_days,
            each.last.everybody.n,
            percent(each.last.everybody.value),
            at_most(each.last.everybody.high),
            None if each.last.throughout is None else percent(each.last.throughout.value),
            percent(each.last.link_by_link.value),
            each.n_once,
        ]
        for each in found.survivals
    ]
    return table("People who are followed", [*HEADS, *MORE_HEADS], rows)
