"""Why one person is found: the places that give them away, their rivals, and what each protection does to them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.attacks import Attack, AttackResult, Scenario, run_attack
from habitprint.auditing.candidates import UNPROTECTED, Candidate
from habitprint.auditing.trials import Protections, Trial
from habitprint.display import Drawn, abbreviated
from habitprint.errors import InputError, require_option
from habitprint.formatting import counted
from habitprint.histograms import Histograms, align
from habitprint.ids import positions, to_ids
from habitprint.weighing import Sides, pair_gains, place_gains

N_PLACES = 10  # that are told one by one
N_RIVALS = 6  # the person included
N_PROTECTIONS = 8

Part = Literal["places", "rivals", "protections"]


@dataclass(frozen=True)
class TellingPlace:
    """The evidence of one place for a pair of rows.

    Parameters
    ----------
    place
        Which one.
    gain
        What it adds to the gain of the pair.
    released_share, known_share
        How much of the person's counts are there, in both tables.
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
    """A known person who could be taken for the one explained: the evidence, and their id."""

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
        How likely the attack that was explained names them, on the protected table.
    n_identical
        How many rows of the protected table are identical to theirs, theirs included: nobody can be surer than one in
        so many. None where they are left out of it.
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

    It names people and places: for internal use.

    Parameters
    ----------
    user
        The person, as in the released table.
    named
        Whom the attack takes them for; None where it gives them no name.
    is_right
        Whether that is who they are; None for somebody whom the attacker does not know.
    chance
        How likely the attack is right, in expectation over people who cannot be told apart.
    probability
        How surely the attacker can say so, calibrated; None where too few people teach that.
    n_others_identical
        How many others have the same shares in the released table.
    weight
        By which people are compared.
    compared_with
        With whose known habits: their own, or those of whom they are taken for; None where there is neither.
    places, n_more_places, more_gain
        The places that speak for this pair, those that tell most first; and how many others there are, with what they
        add in all. Together it is the gain of the pair.
    rivals
        The known people of whom most speaks for being them, and themselves.
    protections
        What the best protections would do to them; the first is none.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 6), noise=False)
    >>> why = found.explain(found.users.filter("is_correct")["user"][0])
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

    def __repr__(self) -> str:
        return abbreviated(self)

    @property
    def gain(self) -> float:
        """Return what speaks for the pair in all."""
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
            columns = [(each.label, each.chance, each.n_identical, each.is_advised) for each in self.protections]
            kinds = {
                "protection": pl.String(),
                "chance": pl.Float64(),
                "n_identical": pl.Int64(),
                "is_advised": pl.Boolean(),
            }
            return pl.DataFrame(columns, schema=kinds, orient="row")
        return pl.DataFrame(self.places if rows == "places" else self.rivals)


@dataclass(frozen=True, eq=False)
class _Sheltered:
    """The probability of each person under a protection, by row of the protected table, and the table."""

    trial: Trial
    tables: Scenario
    chances: Floats
    n_identical: Indices


@dataclass(frozen=True, eq=False)
class Case:
    """The data of an attack, so that it can be explained: it has people by id, so it is in no file.

    Parameters
    ----------
    joint
        The strongest joint attack on the table as it is.
    users
        Who is at risk, by id.
    candidates
        The protections that were tried on all users, in the order of the trials.
    protections
        What they reached.
    """

    joint: AttackResult
    users: pl.DataFrame
    candidates: tuple[Candidate, ...]
    protections: Protections

    def __repr__(self) -> str:
        return f"Case({counted(self.users.height, 'person', 'people')})"

    @cached_property
    def _sheltered(self) -> tuple[_Sheltered, ...]:
        """Return the protections that are worth showing, made once for all people who are asked about."""
        found = self.protections
        extra = [at for at in (found.chosen, found.measured) if at]
        shown = list(dict.fromkeys([*extra, *(at for at in found.frontier if at)]))[:N_PROTECTIONS]
        order = [at for at in range(len(found.trials)) if at in shown]
        return tuple(self._shelter(self.candidates[at], found.trials[at]) for at in order)

    def _shelter(self, candidate: Candidate, trial: Trial) -> _Sheltered:
        _, tables = self.joint.scenario.protected_by(candidate.mechanism)
        attack = Attack(self.joint.attack.weight, "approximate")
        # The attacker may repeat what anyone can of a protection, or not: whichever identifies this person.
        found = [run_attack(each, attack, seed=self.joint.matching.seed) for each in tables.transformed]
        chances = np.zeros(tables.released.n_users)
        chances[tables.common.released] = np.max([each.chances for each in found], axis=0)
        return _Sheltered(trial, tables, chances, tables.released.identical_rows)

    def explain(self, user: object) -> Explanation:
        """Return why a person of the released table is found, or is not.

        Parameters
        ----------
        user
            The id in the released table.
        """
        tables, matching = self.joint.scenario.applied, self.joint.matching
        row = self._row_of(user, tables)
        rows, columns = matching.rows_in(tables.released, tables.known)
        here = np.flatnonzero(rows == row)
        named = int(columns[here[0]]) if len(here) else None
        own = next(iter(tables.common.known[tables.common.released == row].tolist()), None)
        facts = self.users.row(int(here[0]), named=True) if len(here) else None
        chance = 0.0 if facts is None or own is None else float(facts["chance_correct"])
        other = named if own is None else own
        released, known = align(tables.released, tables.known)
        sides = Sides.of(released, known, matching.weight)
        places = [] if other is None else _telling_places(sides, released, known, row, other)
        return Explanation(
            user=released.users[row],
            named=None if named is None else known.users[named],
            is_right=None if own is None or named is None else named == own,
            chance=chance,
            probability=None if facts is None else facts["probability"],
            n_others_identical=0 if facts is None else int(facts["n_others_identical"]),
            weight=matching.weight_name,
            compared_with=None if other is None else known.users[other],
            places=tuple(places[:N_PLACES]),
            n_more_places=len(places[N_PLACES:]),
            more_gain=math.fsum(place.gain for place in places[N_PLACES:]),
            rivals=_rivals(sides, known.users, row, named, own),
            protections=tuple(self._shelters(user, chance, row)),
        )

    def _row_of(self, user: object, tables: Scenario) -> int:
        users = tables.released.users
        fix = "take one of audit.users['user']"
        if not isinstance(user, (str, int)) or isinstance(user, bool):
            raise InputError(f"{user!r} is not the id of a user", why="ids are text or integers", fix=fix)
        row = int(positions(to_ids([user], "user"), users)[0])
        if row < 0:
            raise InputError(
                f"the released table has no user {user!r}",
                why="only people in the released table can be explained",
                fix=fix,
            )
        return row

    def _shelters(self, user: object, chance: float, row: int) -> list[Shelter]:
        alike = int(self.joint.scenario.released.identical_rows[row])
        found = [Shelter(UNPROTECTED.label, chance, alike, is_advised=False)]
        for each in self._sheltered:
            at = int(positions(to_ids([user], "user"), each.tables.released.users)[0])
            is_advised = each.trial is self.protections.advised
            if at < 0:
                found.append(Shelter(each.trial.label, 0.0, None, is_advised))
            else:
                found.append(Shelter(each.trial.label, float(each.chances[at]), int(each.n_identical[at]), is_advised))
        return found


def _telling_places(sides: Sides, released: Histograms, known: Histograms, row: int, column: int) -> list[TellingPlace]:
    """Return the places that speak for a pair, in the order in which they give somebody away (`find_give_aways`)."""
    added = place_gains(sides, np.array([row]), np.array([column]))
    visited_by = np.bincount(known.counts.indices, minlength=known.n_places)[added.indices] / known.n_users
    order = np.lexsort((added.indices, -added.data * (1 - visited_by)))
    here, there = (side.shares[[at]].toarray()[0] for side, at in ((released, row), (known, column)))
    return [
        TellingPlace(
            known.places[place], float(added.data[at]), float(here[place]), float(there[place]), float(visited_by[at])
        )
        for at in order
        for place in [int(added.indices[at])]
    ]


def _rivals(sides: Sides, ids: pl.Series, row: int, named: int | None, own: int | None) -> tuple[Rival, ...]:
    """Return the known people of whom most speaks for being somebody; among them who is named, and who it is."""
    everybody = np.arange(len(ids))
    gains = pair_gains(sides, np.full(len(ids), row), everybody)
    nearest = [at for at in np.lexsort((everybody, -gains))[:N_RIVALS].tolist() if gains[at] > 0]
    kept = [at for at in dict.fromkeys((*nearest, named, own)) if at is not None]
    in_order = sorted(kept, key=lambda at: (-gains[at], at))
    return tuple(Rival(ids[at], float(gains[at]), at == own, at == named) for at in in_order)
