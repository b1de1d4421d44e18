"""Explanation of one person's risk: identifying places, rivals, and the effect of each protection."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import polars as pl

from habitprint.attacks import Attack, AttackResult, Scenario, run_attack
from habitprint.auditing.candidates import UNPROTECTED, Candidate
from habitprint.auditing.people import telling_places
from habitprint.auditing.preparation import Prepared
from habitprint.auditing.trials import Protections, Trial
from habitprint.auditing.verdict import Advice
from habitprint.errors import InputError, require_option
from habitprint.formatting import Drawn, abbreviated
from habitprint.histograms import align
from habitprint.ids import positions, to_ids
from habitprint.weighing import Sides, Weight, pair_gains

N_PLACES = 10  # places that are listed one by one
N_RIVALS = 6  # rivals that are listed, the person included
N_PROTECTIONS = 8

Part = Literal["places", "rivals", "protections"]


@dataclass(frozen=True)
class TellingPlace:
    """The evidence of one place for a pair of rows.

    Parameters
    ----------
    place
        The place.
    gain
        The part of the pair's gain that the place adds.
    released_share, known_share
        The person's shares at the place, in both tables.
    visited_by
        The share of known people who were there: a place where everybody goes gives nobody away.
    """

    place: str | int
    gain: float
    released_share: float
    known_share: float
    visited_by: float


@dataclass(frozen=True)
class Rival:
    """A known person who could be confused with the explained person: the evidence, and the id."""

    user: str | int
    gain: float
    is_same_person: bool
    is_named: bool


@dataclass(frozen=True)
class Shelter:
    """The effect of a protection on one person.

    Parameters
    ----------
    label
        The protection, in a few words.
    chance
        The probability that the explained attack re-identifies the person in the protected table.
    n_identical
        The size of the person's anonymity set in the protected table: no attack is right with a probability above one
        over it. None if the person is left out.
    is_advised
        Whether it is what the audit advises.
    """

    label: str
    chance: float
    n_identical: int | None
    is_advised: bool


@dataclass(frozen=True)
class Explanation(Drawn):
    """The reasons why a person is re-identified, or is not. Made by `Audit.explain`.

    It names people and places: for internal use only.

    Parameters
    ----------
    user
        The person's id in the released table.
    named
        The known user whom the attack claims; None if it claims nobody.
    is_right
        Whether the claim is right; None if the attacker has no data about this person.
    chance
        The probability that the claim is right; with n people of equal shares it is divided by n.
    probability
        The calibrated probability of the claim; None with too few people.
    n_others_identical
        The number of other released users with the same shares.
    weight
        The weight of the attack.
    compared_with
        The known user whose habits are compared: the person, or else the claimed user; None if there is neither.
    places, n_more_places, more_gain
        The places that add most to the gain of this pair; the number of other places, and their gain in total.
    rivals
        The known users with the highest gain, and the person.
    protections
        The effect of the best protections on this person; the first is no protection.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 6), noise=False)
    >>> why = found.explain(found.users.filter("realised_correct")["user"][0])
    >>> why.is_right, why.protections[0].label
    (True, 'unprotected')
    >>> abs(why.gain - sum(place.gain for place in why.places) - why.more_gain) < 1e-9
    True
    """

    user: str | int
    named: str | int | None
    is_right: bool | None
    chance: float
    probability: float | None
    n_others_identical: int
    weight: str
    compared_with: str | int | None
    places: tuple[TellingPlace, ...]
    n_more_places: int
    more_gain: float
    rivals: tuple[Rival, ...]
    protections: tuple[Shelter, ...]

    __repr__ = abbreviated

    @property
    def gain(self) -> float:
        """Return the total gain of the pair."""
        return math.fsum([*(place.gain for place in self.places), self.more_gain])

    def to_frame(self, rows: Part = "places") -> pl.DataFrame:
        """Return the places, the rivals or the protections as a frame.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.audit(hp.datasets.town(20, 6), noise=False)
        >>> found.explain(found.users["user"][0]).to_frame("rivals").columns
        ['user', 'gain', 'is_same_person', 'is_named']
        """
        require_option("rows", rows, get_args(Part))
        if rows == "protections":
            shelters = pl.DataFrame(self.protections, schema_overrides={"n_identical": pl.Int64})
            return shelters.rename({"label": "protection"})
        return pl.DataFrame(self.places if rows == "places" else self.rivals)


@dataclass(frozen=True, eq=False)
class Internal:
    """The internal part of an audit: it names people and places, and is in no report.

    Parameters
    ----------
    users
        The people at risk, by id.
    advice
        The recommended protection; None if none is needed, or none meets the target.
    joint
        The strongest joint attack on the unprotected table.
    candidates, protections
        The protections that were tried on all users, in the order of the trials, and what they reached.
    prepared
        The tables that were audited, and those that the attacker trained on, without the events behind them.
    """

    users: pl.DataFrame
    advice: Advice | None
    joint: AttackResult
    candidates: tuple[Candidate, ...]
    protections: Protections
    prepared: Prepared

    __repr__ = abbreviated

    @cached_property
    def _sheltered(self) -> list[tuple[Trial, dict[object, tuple[float, int]]]]:
        """Return the protections that are worth showing, each with everybody's chance and number of identical rows."""
        found = self.protections
        extra = [at for at in (found.chosen, found.measured) if at]
        shown = list(dict.fromkeys([*extra, *(at for at in found.frontier if at)]))[:N_PROTECTIONS]
        return [(found.trials[at], self._shelter(self.candidates[at])) for at in sorted(shown)]

    def _shelter(self, candidate: Candidate) -> dict[object, tuple[float, int]]:
        _, tables = self.joint.scenario.protected_by(candidate.mechanism)
        attack = Attack(self.joint.attack.weight, "approximate")
        # The attacker applies the protection to their own data if that identifies this person.
        found = [run_attack(each, attack, seed=self.joint.matching.seed) for each in tables.transformed]
        chances = np.zeros(tables.released.n_users)
        chances[tables.common.released] = np.max([each.chances for each in found], axis=0)
        both = zip(chances.tolist(), tables.released.identical_rows.tolist(), strict=True)
        return dict(zip(tables.released.users.to_list(), both, strict=True))

    def explain(self, user: object) -> Explanation:
        """Return the reasons why a released person, given by id, is re-identified or not."""
        tables, matching = self.joint.scenario.applied, self.joint.matching
        row = _row_of(user, tables.released.users)
        rows, columns = matching.rows_in(tables.released, tables.known)
        here = np.flatnonzero(rows == row)
        named = int(columns[here[0]]) if len(here) else None
        own = next(iter(tables.common.known[tables.common.released == row].tolist()), None)
        facts = self.users.row(int(here[0]), named=True) if len(here) else {}
        chance = 0.0 if own is None else float(facts.get("expected_correct", 0.0))
        other = named if own is None else own
        places = [] if other is None else _places_of_pair(tables, row, other, matching.weight)
        who, ids = tables.released.users[row], tables.known.users
        unprotected = int(self.joint.scenario.released.identical_rows[row])
        shelters = [Shelter(UNPROTECTED.label, chance, unprotected, is_advised=False)]
        for trial, by_user in self._sheltered:
            found, n_identical = by_user.get(who, (0.0, None))
            shelters.append(Shelter(trial.label, found, n_identical, trial is self.protections.advised))
        return Explanation(
            user=who,
            named=None if named is None else ids[named],
            is_right=None if own is None else named == own,
            chance=chance,
            probability=facts.get("probability"),
            n_others_identical=int(facts.get("n_others_identical", 0)),
            weight=matching.weight_name,
            compared_with=None if other is None else ids[other],
            places=tuple(places[:N_PLACES]),
            n_more_places=len(places[N_PLACES:]),
            more_gain=math.fsum(place.gain for place in places[N_PLACES:]),
            rivals=_rivals(tables, matching.weight, row, named, own),
            protections=tuple(shelters),
        )


def _row_of(user: object, users: pl.Series) -> int:
    fix = "take one of audit.users['user']"
    if not isinstance(user, (str, int)) or isinstance(user, bool):
        raise InputError(f"{user!r} is not the id of a user", why="ids are text or integers", fix=fix)
    row = int(positions(to_ids([user], "user"), users)[0])
    if row < 0:
        why = "only people in the released table can be explained"
        raise InputError(f"the released table has no user {user!r}", why=why, fix=fix)
    return row


def _places_of_pair(tables: Scenario, row: int, column: int, weight: Weight) -> list[TellingPlace]:
    """Return the places that add to the gain of a pair, the most identifying first."""
    found = telling_places(tables, np.array([row]), np.array([column]), weight)
    released, known = align(tables.released, tables.known)
    here, there = (side.shares[[at]].toarray()[0] for side, at in ((released, row), (known, column)))
    return [
        TellingPlace(place, gain, float(here[at]), float(there[at]), visited_by)
        for at, place, gain, visited_by in found.select("column", "place", "gain", "visited_by").iter_rows()
    ]


def _rivals(tables: Scenario, weight: Weight, row: int, named: int | None, own: int | None) -> tuple[Rival, ...]:
    """Return the known people with the highest gains; the claimed one and the true one are among them."""
    ids, everybody = tables.known.users, np.arange(tables.known.n_users)
    sides = Sides.of(*align(tables.released, tables.known), weight)
    gains = pair_gains(sides, np.full(len(ids), row), everybody)
    nearest = [at for at in np.lexsort((everybody, -gains))[:N_RIVALS].tolist() if gains[at] > 0]
    kept = [at for at in dict.fromkeys((*nearest, named, own)) if at is not None]
    in_order = sorted(kept, key=lambda at: (-gains[at], at))
    return tuple(Rival(ids[at], float(gains[at]), at == own, at == named) for at in in_order)
