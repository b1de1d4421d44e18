"""The risks of a protected table: row pointed at, row reconstructed, places attributed.

The first is guaranteed by the number of identical rows. The other two are measured.

A group publishes one row for all of its members. Times the number of members, that row is the sum of theirs. An
attacker who has the file takes such sums apart in six ways:

- *by denominators*: a value that one member alone contributed is c/T of that person. So the values of a group that are
  whole multiples of 1/T may be one person's row. The pieces are then matched to people whom the attacker knows.
- *by known places*: if one member alone is known to visit a place, the value there is theirs. If several are, it is
  divided in proportion to their known shares.
- *by fitting*: the known rows of the members are fitted to the sums. They add up to the sum at each place, and no
  member has more than one row.
- *by probability*: known habits and the sums together tell how probable each value of a member is. The most probable
  place and value are claimed.
- *by subtraction*: the known rows of all other members are subtracted from the sum. The rest is the row of the last
  one.
- *by intersection*: two releases of the same people have different groups. Values that are equal in both groups of a
  person belong to a member of both.

A row counts as reconstructed by three rules. The attacker names the right person. At least 80% of the claimed cells are
that person's own. These cells hold at least half of the person's shares, or half of their places. A value counts as the
person's own by two rules. It is within the published step, so that rounding alone does not hide a success. It is off by
at most half of the true value, so that a coarse step does not produce one.

The base rate is the share of people whose row the attacker's own data show without any release. There the attacker
claims known values above a threshold, or the most probable place and value: the claims that are best over all people.
The measured share leaves these people out. An attacker cannot know which of two claims is right. So every attack uses
the attacker's own data if the release says too little about a person.

If s of m members visited a place and nothing distinguishes the members, each of them visited it with probability s/m.
An attacker who knows the habits of some of them does better. So attribution is measured beside a base rate, and is
never guaranteed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
from habitprint.attacks import Scenario
from habitprint.auditing.posterior import Places, Prior, likeliest_units, prior_of_units
from habitprint.conversion import AnyTable, as_histograms
from habitprint.errors import InputError, first_few
from habitprint.formatting import abbreviated
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.matching import Matching, MatchOptions
from habitprint.matching.match import find_matching
from habitprint.mechanisms import GuaranteedRisk, Release, RoundTo, Step
from habitprint.mechanisms.exposure import apparent_totals, is_grouped
from habitprint.mechanisms.groups.microaggregation import UNITS, Microaggregate
from habitprint.mechanisms.release import as_release
from habitprint.places import read_sensitive, require_sensitive
from habitprint.progress import Progress, silent
from habitprint.rates import IntervalMethod, Rate
from habitprint.truth import SAME_ID, Truth
from habitprint.weighing import WeightName, find_weight

OWN = 0.8  # least share of the claimed cells that must be the person's own
HELD = 0.5  # least share of a person's shares, or of their places, that the claim must hold
SOLE_VISITOR = 0.9  # with this part of the known shares at a place of a group, a user counts as alone there
FEW = 2  # rows of at most so many places are reported apart
MOST_EVENTS = 1_000  # largest total of a person whose denominators are tried
EXACT = 1e-9  # values nearer than this are equal
RIGHT = 0.5  # a value that is off by more than this part of itself is wrong, however coarse the published step is
CLAIMED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # thresholds of known values that are claimed without a release
AGREE = 2  # a value and a known value agree if they are at most so many published steps apart
LEAST_FITTED = 0.1  # smaller fitted values are not claimed: most of them are wrong
UNKNOWN_PARTS = (0.03, 0.001)  # parts of a known row that may be at any place of the group; fitting tries both
REMEMBERED = (0.1, 0.5)  # parts of a new event that a known one counts as: habits that change, and stable ones
BELOW_HALF = 0.2  # worth of a claim below half of a row: right about people with one or two places only
STRANGER = 0.15  # probability of a visit that is not known, as a part of the share of people who are known to visit
LEAST_STRANGER = 0.002
LIKELY_STRANGER = 0.5  # highest probability of a stranger at a place
N_FITTINGS = 50  # after which fitted values hardly change
MOST_UNITS = 1_000  # largest number of units of a member that is tried if only the file is known
EPSILON = 0.001  # share of the gain that may be missing when pieces are matched
# People are named by the weights that named most in trials; none of them needs training.
NAMED_BY: tuple[WeightName, ...] = ("likelihood", "rarity")
HASH_SEED = 0  # seed of the hashes by which equal pieces are recognised: it changes no result

MOST_PEOPLE = 1_000  # most people about whom a place is claimed: enough for an interval of three points
FEWEST_PEOPLE = 50
MOST_WORK = 3e7  # most entries of similar people: they take some seconds
MOST_VISITORS = 100  # only places with at most so many visitors show who is similar
SAMPLE_SEED = 0  # seed of the sample of people
FEWEST_CLAIMS = 20  # about sensitive places: a share of fewer says nothing
LEFT_OVER = 0.1  # part of a value that counts as unexplained even if known habits explain all of it

UnmixingMethod = Literal["denominators", "known-places", "fitting", "probability", "subtraction", "intersection"]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a release, as an attacker reads them from the file and its JSON file.

    Parameters
    ----------
    sums
        The size of each group times its published shares: what its members add up to, groups × places.
    of_row
        The number of each row's group.
    step
        The largest error of a value in `sums`, for each group: the published step.
    units
        The number of units that each member contributes; None for exact means.
    least_members
        The number of members who must visit a place that is shown.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: "aab", 2: "c"})
    >>> groups = Groups.of(hp.microaggregate(habits, k=2, units=None))
    >>> groups.sums.toarray().round(2).tolist(), groups.step.tolist()
    ([[0.67, 0.33, 1.0]], [1e-09])
    """

    sums: SparseMatrix
    of_row: Indices
    step: Floats
    units: int | None
    least_members: int

    @classmethod
    def of(cls, release: Release, places: pl.Series | None = None) -> "Groups | None":
        """Return the groups of identical rows, over these places or their own.

        None without groups, and where a later step scaled their rows.
        """
        if not is_grouped(release) or _is_rescaled(release.steps):
            return None
        published, of_row = release.histograms, release.histograms.share_classes
        sizes, first = np.bincount(of_row), np.unique(of_row, return_index=True)[1]
        rows = Histograms(published.counts[first], published.users.gather(first), published.places)
        made = [step.mechanism for step in release.steps if isinstance(step.mechanism, Microaggregate)]
        units, scales = made[-1].units if made else None, sizes.astype(np.float64)
        least_members = made[-1].least_members if made else 1
        if units is not None and least_members > 1:
            # Places of few members were left out, and the row was scaled to one again. The scale is the least number of
            # units that makes all of its values whole.
            n_units = apparent_totals(rows)
            scales = np.where(n_units > 0, n_units / units, scales)
        # Values are taken as they are published, also where rounding keeps a row from adding up to one.
        sums = sparse.csr_array(sparse.diags_array(scales) @ rows.counts)
        sums.sort_indices()
        units = units if made else _apparent_units(sums)
        step = np.full(len(sizes), EXACT if units is None else 1 / units + EXACT) + _rounding(release.steps) * sizes / 2
        if places is not None:
            sums = _move(sums, published.places, places)
        return cls(sums, of_row, np.asarray(np.minimum(step, 1.0), np.float64), units, least_members)


def _is_rescaled(steps: Sequence[Step]) -> bool:
    """Return whether a step after the groups removed values from their rows, which are then scaled again."""
    after = list(dropwhile(lambda step: not isinstance(step.mechanism, Microaggregate), steps))[1:]
    return not all(
        step.mechanism.gives_fresh_ids or isinstance(step.mechanism, RoundTo | Microaggregate) for step in after
    )


def _rounding(steps: Sequence[Step]) -> float:
    """Return to which multiples shares were rounded, in all; rounding of counts, before they became shares, is none."""
    bases, has_shares = 0.0, False
    for each in steps:
        has_shares = has_shares or each.mechanism.makes_shares
        if isinstance(each.mechanism, RoundTo) and has_shares:
            bases += each.mechanism.base
    return bases


def _apparent_units(sums: SparseMatrix) -> int | None:
    """Return the least number of units that makes all sums whole; None if there is none."""
    found = (
        units for units in range(1, MOST_UNITS + 1) if np.ptp(sums.data * units - np.rint(sums.data * units)) < EXACT
    )
    return next(found, None)


@dataclass(frozen=True)
class Reconstruction:
    """The share of people whose own row an attacker reconstructs from a release in groups.

    Parameters
    ----------
    method
        The attack that reconstructs the rows of most people.
    rate
        The share of rows that the release adds: people whose row is reconstructed with it, by shares or by places.
        People whose row is then lost are subtracted. The denominator is the people whose row the attacker's own data do
        not show. `by_chance` is the share of all people whose row these data show. The attacker claims known values
        above a threshold, or the most probable place: the claims that show the most rows.
    by_shares, by_places
        The same where a row holds at least half of a person's shares, and half of their places.
    few_places, more_places
        The same rate among people with one or two places, and among all others; None if there are none.
    pieced
        The share of people whose row can be pieced together from denominators, even if the attacker does not know whose
        row it is.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> hp.measure_risks(released, hp.microaggregate(released, k=5), known).reconstruction.pieced.n
    60
    """

    method: UnmixingMethod
    rate: Rate
    by_shares: Rate
    by_places: Rate
    few_places: Rate | None
    more_places: Rate | None
    pieced: Rate

    def __repr__(self) -> str:
        return f"Reconstruction(by {self.method}: {self.rate.words})"

    def is_within(self, target: float) -> bool:
        """Return whether the upper end of the interval is within a target.

        A rate of zero among few people can fail too: its upper end is above a low target. If the attacker's own data
        show everybody's row, nothing is left to reconstruct, and the result passes.
        """
        return self.rate.by_chance >= 1 or self.rate.high <= target


@dataclass(frozen=True)
class TakenApart:
    """Whether a table publishes rows for groups, and the measured share of reconstructed rows.

    Examples
    --------
    >>> WHOLE.is_within(0.05), TakenApart(is_grouped=True).is_within(0.05)
    (True, False)
    """

    is_grouped: bool
    found: Reconstruction | None = None

    def is_within(self, target: float) -> bool:
        """Return whether the share of reconstructed rows is within a target; an unmeasured share is not."""
        return self.found.is_within(target) if self.found is not None else not self.is_grouped


WHOLE = TakenApart(is_grouped=False)  # rows are people's own: pointing at the right row reveals it


@dataclass(frozen=True, eq=False)
class Scene:
    """A release of groups, the attacker's data and people's own rows, all over the same places.

    Parameters
    ----------
    tables
        The release, the attacker's data and the truth.
    groups
        The published groups.
    known
        The attacker's data, changed as anyone can copy it of the release.
    looked_in
        The group in which the attacker looks for each known user; -1 for none.
    own
        The own shares of everybody who counts, before groups were made.
    """

    tables: Scenario
    groups: Groups
    known: Histograms
    looked_in: Indices
    own: SparseMatrix

    @classmethod
    def of(cls, original: Histograms, release: Release, tables: Scenario, pointed: Matching) -> "Scene | None":
        """Lay out a release; None where it is not in groups.

        Parameters
        ----------
        original
            The histograms before any protection, of everybody who counts.
        release, tables
            What is published; the same with the attacker's data and the truth.
        pointed
            An attack on the release: it tells the group in which the attacker looks for each person.
        """
        known = tables.fully_transformed.aligned[1]
        groups = Groups.of(release, known.places)
        if groups is None:
            return None
        own, common = release.public(original), tables.common
        shares = _move(own.shares, own.places, known.places)
        people = tables.known.users.gather(common.known), tables.released.users.gather(common.released)
        rows = [_take_rows(shares, positions(ids, own.users)) for ids in _owners(own.users, *people)]
        published = groups.sums[groups.of_row[common.released]]
        # The group of a person contains their own row; other groups do not.
        shares = max(rows, key=lambda each: float(shared_cells(each, published)[2].sum()))
        return cls(tables, groups, known, _look_in(pointed, known, tables.released, groups.of_row), shares)

    @cached_property
    def of_person(self) -> Indices:
        """Return the row in `known` of each counted person, -1 if it has no count left."""
        return positions(self.tables.known.users.gather(self.tables.common.known), self.known.users)

    @property
    def group_of_person(self) -> Indices:
        """Return the true group of each counted person."""
        return self.groups.of_row[self.tables.common.released]

    @property
    def known_of_people(self) -> SparseMatrix:
        """Return the known row of each counted person; empty if it has no count left."""
        return _take_rows(self.known.shares, self.of_person)

    @cached_property
    def known_cells(self) -> tuple[Indices, Floats, Indices]:
        """Return the cells of known rows that the group shows in which the user is looked for.

        These are the user, the known share, and the number of the cell in the sums of the groups.
        """
        shares, sums = self.known.shares, self.groups.sums
        user = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
        cells, wanted = _keys(sums), self.looked_in[user] * sums.shape[1] + shares.indices
        at = np.searchsorted(cells, wanted)
        is_shown = (self.looked_in[user] >= 0) & (np.append(cells, -1)[at] == wanted)
        return user[is_shown], shares.data[is_shown], at[is_shown]

    @property
    def tolerance(self) -> Floats:
        """Return how far a value may be from a person's own and still count as that: the published step."""
        return self.groups.step[self.group_of_person]


def reconstruct(
    scene: Scene, also: Sequence[Matching] = (), others: Sequence[Release] = (), progress: Progress = silent
) -> Reconstruction:
    """Run all reconstruction attacks on a release, and return the result of the strongest.

    Parameters
    ----------
    scene
        The release.
    also
        Further attacks, in whose groups the attacker looks for people, too.
    others
        Other releases of the same people.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> release = hp.microaggregate(released, k=5, units=None)
    >>> tables = Scenario(release.histograms, known, "same-id", release.steps)
    >>> reconstruct(Scene.of(released, release, tables, point(tables))).method
    'denominators'
    """
    pieces, group_of_piece = _split_by_denominator(scene.groups)
    of_person, n_people = scene.of_person, max(scene.tables.n_people, 1)
    priors = [_prior(scene, remembered) for remembered in REMEMBERED]

    def judged(rows: SparseMatrix) -> tuple[Booleans, Booleans, Booleans]:
        by_shares, by_places = _judge(rows, scene.own, scene.tolerance)
        return by_shares | by_places, by_shares, by_places

    def n_right(judged: tuple[Booleans, ...]) -> int:
        return int(np.count_nonzero(judged[0]))

    known = scene.known_of_people
    alone = replace(scene, looked_in=np.full_like(scene.looked_in, -1))
    own_claims = [_from(known, least) for least in CLAIMED]
    own_claims += [_take_rows(_claim_most_probable(alone, prior), of_person) for prior in priors]
    without = max(own_claims, key=lambda rows: n_right(judged(rows)))
    with_release: list[tuple[UnmixingMethod, tuple[Booleans, ...]]] = [
        (way, judged(claimed))
        for way, rows in _claims(scene, pieces, priors, also, others, progress)
        for claimed in _with_own_data(_take_rows(rows, of_person), known, without, scene.tolerance)
    ]
    method, after = max(with_release, key=lambda each: n_right(each[1]))
    before = judged(without)
    rate, by_shares, by_places = (_added(*each, n_people) for each in zip(before, after, strict=True))
    is_few = np.diff(scene.own.indptr) <= FEW
    few_places, more_places = (
        _added(before[0][are_asked], after[0][are_asked], int(are_asked.sum())) if are_asked.any() else None
        for are_asked in (is_few, ~is_few)
    )
    pieced = _rate(_are_pieced(pieces, group_of_piece, scene), n_people)
    return Reconstruction(method, rate, by_shares, by_places, few_places, more_places, pieced)


def _claims(
    scene: Scene,
    pieces: SparseMatrix,
    priors: Sequence[Prior],
    also: Sequence[Matching],
    others: Sequence[Release],
    progress: Progress,
) -> Iterator[tuple[UnmixingMethod, SparseMatrix]]:
    """Yield what each attack claims of each known user."""
    for rows in _named(pieces, scene.known, progress):
        yield "denominators", rows
    released, of_row = scene.tables.released, scene.groups.of_row
    looked_in = [scene.looked_in, *(_look_in(pointed, scene.known, released, of_row) for pointed in also)]
    for each in (replace(scene, looked_in=looked) for looked in looked_in):
        for least in SOLE_VISITOR, 0.0:
            yield "known-places", _read_known_places(each, least)
        for unknown_part in UNKNOWN_PARTS:
            yield "fitting", _fit_known_rows(each, unknown_part)
        for prior in priors if each.groups.units is not None else ():
            yield "probability", _claim_most_probable(each, prior)
        yield "subtraction", _subtract_others(each)
    for other in others:
        for rows in _intersect(scene, other, progress):
            yield "intersection", rows


def _with_own_data(
    claimed: SparseMatrix, known: SparseMatrix, without: SparseMatrix, step: Floats
) -> Iterator[SparseMatrix]:
    """Yield the rows that an attacker may claim of everybody who counts, from what is read off the groups.

    Three ways to claim. (1) All values that are read. (2) The same, or own data if they are less than half of a row.
    (3) Only values that are about as known if they are half of a row, or else own data.
    """
    yield claimed
    yield _or_else(claimed, without)
    row, place, read, own = shared_cells(claimed, known)
    agree = np.abs(read - own) <= AGREE * step[row]
    means = (read[agree] + own[agree]) / 2
    yield _or_else(sparse.csr_array((means, (row[agree], place[agree])), claimed.shape), without)


def _or_else(rows: SparseMatrix, others: SparseMatrix) -> SparseMatrix:
    """Return rows, and another one instead of each that holds less than a row must hold to count."""
    holds = np.asarray(rows.sum(axis=1)).ravel() >= HELD - EXACT
    at = np.arange(len(holds)) + np.where(holds, 0, len(holds))
    chosen = sparse.csr_array(sparse.vstack([rows, others], format="csr")[at])
    chosen.eliminate_zeros()
    return chosen


def _added(before: Booleans, after: Booleans, n: int) -> Rate:
    """Return which rows a release adds to those that were right before, among n people."""
    gained, lost, n_before = (int(np.count_nonzero(each)) for each in (after & ~before, before & ~after, before))
    return Rate.added(gained, lost, n_before, n)


def point(tables: Scenario, progress: Progress = silent) -> Matching:
    """Return a joint attack on a release, by a weight that needs no training and finds groups well.

    Examples
    --------
    >>> import habitprint as hp
    >>> point(Scenario(*hp.datasets.town(60, 20), "same-id")).size
    60
    """
    return _match(*tables.fully_transformed.aligned, NAMED_BY[0], progress)


def _match(rows: Histograms, known: Histograms, weight: WeightName, progress: Progress) -> Matching:
    options = MatchOptions(weight=find_weight(weight), method="approximate", epsilon=EPSILON)
    return find_matching(rows, known, options, progress)


def _rate(is_right: Booleans | Floats, n: int | None = None, by_chance: float = 0.0) -> Rate:
    chances = is_right.astype(np.float64)
    return Rate.of_chances(chances, len(chances) if n is None else n, by_chance, IntervalMethod.JOINT)


def _split_by_denominator(groups: Groups) -> tuple[SparseMatrix, Indices]:
    """Return rows that may be one person's, pieces × places, and the group of each.

    For every total T, it takes the values that are whole multiples of 1/T within the published step. They must add up
    to between half a row and one row. A second piece has only the values that fit no smaller total.
    """
    sums, n_groups = groups.sums, groups.sums.shape[0]
    group = np.repeat(np.arange(n_groups), np.diff(sums.indptr))
    step = groups.step[group]
    smallest = np.zeros(len(step), np.int64)  # the least total that each value fits
    most = max(1, int(min(MOST_EVENTS, 0.5 / groups.step.min())))  # beyond, everything fits
    chosen = []
    for total in range(1, most + 1):
        parts = sums.data * total
        fits = (np.abs(parts - np.rint(parts)) <= np.minimum(total * step, 0.5)) & (parts >= 0.5)  # noqa: PLR2004
        smallest[fits & (smallest == 0)] = total
        for are_pieces in (fits, smallest == total):
            held = np.bincount(group[are_pieces], sums.data[are_pieces], n_groups)
            slack = groups.step * np.bincount(group[are_pieces], minlength=n_groups)
            is_row = (held >= HELD) & (held <= 1 + slack)
            chosen.append(np.flatnonzero(are_pieces & is_row[group]))
    starts = [np.flatnonzero(np.diff(group[cells], prepend=-1)) for cells in chosen]
    lengths = [np.diff(start, append=len(cells)) for start, cells in zip(starts, chosen, strict=True)]
    cells = np.concatenate(chosen)
    row = np.repeat(np.arange(sum(map(len, starts))), np.concatenate(lengths))
    if not len(cells):
        return sparse.csr_array((0, sums.shape[1])), np.zeros(0, np.int64)
    # The same cells may fit several totals: each piece once.
    marks = np.random.default_rng(HASH_SEED).integers(0, 2**63, len(step), np.uint64)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    _, once = np.unique(np.add.reduceat(marks[cells], first), return_index=True)
    pieces = sparse.csr_array((sums.data[cells], (row, sums.indices[cells])), (len(first), sums.shape[1]))
    return pieces[np.sort(once)], group[cells[first]][np.sort(once)]


def _named(pieces: SparseMatrix, known: Histograms, progress: Progress) -> Iterator[SparseMatrix]:
    """Yield the piece that is matched to each known user, if any, by one weight after the other."""
    if not pieces.shape[0]:
        return
    rows = Histograms(pieces, pl.Series(np.arange(pieces.shape[0])), known.places)
    for weight in NAMED_BY:
        matching = _match(rows, known, weight, progress)
        named = np.full(known.n_users, -1, np.int64)
        named[positions(matching.known, known.users)] = matching.released.to_numpy()
        yield _take_rows(pieces, named)


def _look_in(pointed: Matching, known: Histograms, released: Histograms, of_row: Indices) -> Indices:
    """Return the group in which the attacker looks for each known user; -1 for none."""
    group = np.full(known.n_users, -1, np.int64)
    at, row = positions(pointed.known, known.users), positions(pointed.released, released.users)
    is_there = (at >= 0) & (row >= 0)
    group[at[is_there]] = of_row[row[is_there]]
    return group


def _subtract_others(scene: Scene) -> SparseMatrix:
    """Return a group's sums minus the known shares of all other members, if at most one row is left.

    Where more than one row is left even without this user's own known shares, nothing is claimed.
    """
    groups, shares, group = scene.groups, scene.known.shares, scene.looked_in
    is_open = np.asarray(unexplained_sums(scene).sum(axis=1)).ravel() <= 1 + groups.step
    who = np.flatnonzero((group >= 0) & is_open[group])
    left = groups.sums - _selection(group, groups.sums.shape[0]).T @ shares
    rest = sparse.csr_array(left[group[who]] + shares[who])
    rest.data[rest.data <= np.repeat(groups.step[group[who]], np.diff(rest.indptr))] = 0
    rest.eliminate_zeros()
    is_row = np.asarray(rest.sum(axis=1)).ravel() <= 1 + groups.step[group[who]] * np.diff(rest.indptr)
    taken = _selection(np.where(is_row, np.arange(len(who)), -1), len(who), at=who, n=len(group))
    return sparse.csr_array(taken @ rest)


def _read_known_places(scene: Scene, least: float) -> SparseMatrix:
    """Return each known user's part of their group's sums at known places, in proportion to known shares.

    Only places are read where the user has at least a part `least` of what is known in the group. Where it is nearly
    all, the whole sum is theirs.
    """
    groups, (user, share, at) = scene.groups, scene.known_cells
    part = share / np.bincount(at, share, groups.sums.nnz)[at]
    part = np.where(part >= SOLE_VISITOR, 1.0, part)
    value = part * groups.sums.data[at]
    is_read = (part >= least) & (value <= 1 + groups.step[scene.looked_in[user]])
    cells = value[is_read], (user[is_read], groups.sums.indices[at[is_read]])
    return sparse.csr_array(cells, scene.known.shares.shape)


def _fit_known_rows(scene: Scene, unknown_part: float) -> SparseMatrix:
    """Return large values that each known user has of their group's sums at known places, after proportional fitting.

    A row is the known row of a user, except for a part of it. This part is spread over the places of the group in
    proportion to their sums. Places are scaled so that all rows add up to the sum there, then users so that nobody has
    more than one row, and again. The spread part is the same for all members, so it is kept as one row for each group.
    """
    sums, group, (user, share, at) = scene.groups.sums, scene.looked_in, scene.known_cells
    who, n_groups = np.flatnonzero(group >= 0), sums.shape[0]
    group, of_sum = group[who], np.repeat(np.arange(n_groups), np.diff(sums.indptr))
    spread = unknown_part * sums.data / np.bincount(of_sum, sums.data, n_groups)[of_sum]
    row, share = np.searchsorted(who, user), (1 - unknown_part) * share
    known = sparse.csr_array((share, (row, at)), (len(who), sums.nnz))
    known_by_place = known.T
    of_user = np.ones(len(who))
    for _ in range(N_FITTINGS):
        total = known_by_place @ of_user + spread * np.bincount(group, of_user, n_groups)[of_sum]
        of_place = sums.data / np.where(total > 0, total, 1.0)
        in_row = known @ of_place + np.bincount(of_sum, spread * of_place, n_groups)[group]
        of_user /= np.maximum(of_user * in_row, 1.0)
    fitted = of_user[row] * of_place[at] * (share + spread[at])
    return _from(sparse.csr_array((fitted, (user, sums.indices[at])), scene.known.shares.shape), LEAST_FITTED)


def _prior(scene: Scene, remembered: float) -> Prior:
    """Return what the attacker expects of each known user at each known place, before they look at the release."""
    table, shares = scene.tables.known, scene.known.shares
    # Of shares, the number of events is the least one that makes them.
    known_totals = apparent_totals(table) if np.any(table.counts.data % 1) else table.totals
    n_events = np.maximum(np.rint(known_totals[positions(scene.known.users, table.users)]), 1).astype(np.int64)
    totals = np.repeat(n_events, np.diff(shares.indptr))
    events = np.rint(shares.data * totals).astype(np.int64)
    return prior_of_units(events, totals, scene.groups.units or UNITS, remembered)


def _claim_most_probable(scene: Scene, prior: Prior) -> SparseMatrix:
    """Return for each known user the place and value that are most probably right, from known habits and the sums.

    Users without a candidate group get the value that is most probable without a release.
    """
    groups, shares, group = scene.groups, scene.known.shares, scene.looked_in
    n_users, n_places = shares.shape
    user, units = np.repeat(np.arange(n_users), np.diff(shares.indptr)), groups.units or UNITS
    order = np.lexsort((shares.indices, group[user]))
    user, place = user[order], shares.indices[order].astype(np.int64)
    first = np.flatnonzero(np.diff(group[user] * n_places + place, prepend=-n_places - 1))
    where, what, n_known = group[user[first]], place[first], np.diff(first, append=len(user))
    published = np.rint(_at(groups.sums, np.maximum(where, 0), what) * units).astype(np.int64)
    n_others = np.bincount(group[group >= 0], minlength=groups.sums.shape[0])[np.maximum(where, 0)] - n_known
    visit = np.maximum(STRANGER * np.bincount(place, minlength=n_places)[what] / n_users, LEAST_STRANGER)
    stranger = np.minimum(visit * np.maximum(n_others, 0), LIKELY_STRANGER)
    places = Places(np.append(first, len(user)), np.where(where >= 0, published, -1), stranger)
    worth = np.where(np.arange(units + 1) >= HELD * units, 1.0, BELOW_HALF)
    likely, value = likeliest_units(Prior(prior.units, prior.kind[order]), places, groups.least_members, worth)
    row, column = _best(sparse.csr_array((likely, (user, place)), shares.shape))
    values = sparse.csr_array((value / units, (user, place)), shares.shape)
    return sparse.csr_array((_at(values, row, column), (row, column)), shares.shape)


def unexplained_sums(scene: Scene) -> SparseMatrix:
    """Return the part of each group's sums that the known habits of its presumed members do not explain."""
    groups, group = scene.groups, scene.looked_in
    members = _selection(group, groups.sums.shape[0]).T
    left = sparse.csr_array(sparse.csr_array(groups.sums - members @ scene.known.shares).maximum(0))
    left.data[left.data <= np.repeat(groups.step, np.diff(left.indptr))] = 0
    left.eliminate_zeros()
    return left


def _intersect(scene: Scene, other: Release, progress: Progress) -> Iterator[SparseMatrix]:
    """Yield rows for each known user from the values that are equal in both of their groups, in two releases.

    Such values belong to people who are in both groups. They are claimed whole, by denominators and by known places.
    """
    first, second, group = scene.groups, Groups.of(other, scene.known.places), scene.looked_in
    if second is None:
        raise InputError(
            "the other release is not in groups",
            why="only releases in groups can be intersected",
            fix="pass only releases made with groups (--k), or remove this one",
        )
    pointed = point(Scenario(other.histograms, scene.tables.known, scene.tables.truth, other.steps), progress)
    again = _look_in(pointed, scene.known, other.histograms, second.of_row)
    who = np.flatnonzero((group >= 0) & (again >= 0))
    both, of_user = np.unique(np.column_stack([group[who], again[who]]), axis=0, return_inverse=True)
    row, place, one, two = shared_cells(first.sums[both[:, 0]], second.sums[both[:, 1]])
    step = first.step[both[:, 0]] + second.step[both[:, 1]]
    is_equal = np.abs(one - two) <= np.minimum(step[row], RIGHT * np.maximum(one, two) + EXACT)
    cells = one[is_equal], (row[is_equal], place[is_equal])
    sums = sparse.csr_array(cells, (len(both), scene.known.n_places))
    equal = Groups(sums, of_user, step, first.units, first.least_members)
    looked_in = np.full(len(group), -1, np.int64)
    looked_in[who] = of_user.ravel()
    yield _take_rows(equal.sums, looked_in)
    yield _read_known_places(replace(scene, groups=equal, looked_in=looked_in), SOLE_VISITOR)
    yield from _named(_split_by_denominator(equal)[0], scene.known, progress)


def _selection(which: Indices, n_rows: int, at: Indices | None = None, n: int | None = None) -> SparseMatrix:
    """Return the matrix that takes row ``which[i]`` to place i (or ``at[i]`` of n), and nothing where it is -1."""
    is_there = which >= 0
    places = np.flatnonzero(is_there) if at is None else at[is_there]
    return sparse.csr_array((np.ones(len(places)), (places, which[is_there])), (n or len(which), n_rows))


def _take_rows(rows: SparseMatrix, which: Indices) -> SparseMatrix:
    """Return rows by their numbers, and an empty row for each -1."""
    n, shape = rows.shape[0], (rows.shape[0] + 1, rows.shape[1])
    with_empty = sparse.csr_array((rows.data, rows.indices, np.append(rows.indptr, rows.indptr[-1])), shape)
    return sparse.csr_array(with_empty[np.where(which >= 0, which, n)])


def _from(rows: SparseMatrix, least: float) -> SparseMatrix:
    """Return rows without values below a threshold."""
    large = sparse.csr_array(rows, copy=True)
    large.data[large.data < least] = 0
    large.eliminate_zeros()
    return large


def _judge(claimed: SparseMatrix, own: SparseMatrix, tolerance: Floats) -> tuple[Booleans, Booleans]:
    """Return for each person whether the claimed row is theirs, by shares and by places."""
    row, _, value, true = shared_cells(claimed, own)
    is_own = np.abs(value - true) <= np.minimum(tolerance[row], RIGHT * true)
    n = own.shape[0]
    n_own = np.bincount(row[is_own], minlength=n)
    held = np.bincount(row[is_own], true[is_own], n)
    n_claimed = np.diff(claimed.indptr)
    is_precise = (n_claimed > 0) & (n_own >= OWN * n_claimed)
    return is_precise & (held >= HELD - EXACT), is_precise & (n_own >= HELD * np.diff(own.indptr))


def _are_pieced(pieces: SparseMatrix, group_of_piece: Indices, scene: Scene) -> Booleans:
    """Return whether any piece of a person's group is their row, for each counted person."""
    group = scene.group_of_person
    found = np.zeros(len(group), np.bool_)
    order = np.argsort(group_of_piece, kind="stable")
    counts = np.bincount(group_of_piece, minlength=scene.groups.sums.shape[0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    for turn in range(int(counts.max(initial=0))):
        who = np.flatnonzero(counts[group] > turn)
        by_shares, by_places = _judge(pieces[order[starts[group[who]] + turn]], scene.own[who], scene.tolerance[who])
        found[who] |= by_shares | by_places
    return found


def shared_cells(one: SparseMatrix, other: SparseMatrix) -> tuple[Indices, Indices, Floats, Floats]:
    """Return row, place and both values of the cells that two matrices have in common.

    Examples
    --------
    >>> one, other = sparse.csr_array([[1.0, 2.0]]), sparse.csr_array([[0.0, 3.0]])
    >>> [cells.tolist() for cells in shared_cells(one, other)]
    [[0], [1], [2.0], [3.0]]
    """
    keys, first, second = np.intersect1d(_keys(one), _keys(other), assume_unique=True, return_indices=True)
    row, place = np.divmod(keys, one.shape[1])
    return row, place, one.data[first], other.data[second]


def _keys(table: SparseMatrix) -> Indices:
    """Return one number for each cell of a table, ascending."""
    table.sort_indices()
    return np.repeat(np.arange(table.shape[0]) * table.shape[1], np.diff(table.indptr)) + table.indices


def _owners(original: pl.Series, known: pl.Series, released: pl.Series) -> list[pl.Series]:
    """Return the ids of the counted people in the original: those of the known table, or those of the release."""
    found = [people for people in (known, released) if (positions(people, original) >= 0).all()]
    if found:
        return found
    missing = known.filter(positions(known, original) < 0)
    raise InputError(
        f"the original does not have {first_few(missing.to_list())}, who {'is' if len(missing) == 1 else 'are'} in the "
        "release and known to the attacker",
        why="a reconstructed row is compared with a person's own, so everybody who counts must be in the original",
        fix="give the table that was protected, with the ids of the known table",
    )


def _move(rows: SparseMatrix, before: pl.Series, after: pl.Series) -> SparseMatrix:
    """Return rows over other places; those that are not among them are left out."""
    to = positions(before, after)
    return sparse.csr_array(rows @ _selection(to, len(after)))


@dataclass(frozen=True)
class SensitiveClaims:
    """The share of right claims about sensitive places of people in identified groups, beside the base rate.

    Parameters
    ----------
    n_places, n_shown
        The number of sensitive places, and of those that a group shows.
    n_claims
        The number of people about whom there is a claim. It is the most likely sensitive place of their group that the
        attacker did not know of this person.
    rate
        The share of right claims; None with fewer than 20 claims. `by_chance` is the base rate without the release: the
        share of visitors among all people who are not known to visit the place.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> risks = hp.measure_risks(released, hp.microaggregate(released, k=5), known, sensitive=["place-00"])
    >>> risks.attribution.sensitive.n_shown
    1
    """

    n_places: int
    n_shown: int
    n_claims: int
    rate: Rate | None


@dataclass(frozen=True)
class Attribution:
    """The share of right claims about places that people in identified groups visit, beside the base rate.

    Parameters
    ----------
    right_group
        The share of people whose group the attacker identifies.
    new_places
        The share of right claims about a new place, one claim for each of these people. The claim is the most likely
        place of the group that the attacker did not know of this person. `by_chance` is the base rate among members of
        that group who are not known to visit the place.
    still_visited
        The share of right claims that a person still visits a place. There is one claim for each place that the
        attacker knows of this person alone, if the guessed group shows it. `by_chance` is the base rate among all
        places known of one person alone, shown or not.
    sensitive
        Claims about sensitive places only; None without such a list.

    The two rates about places are None if there is no claim.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> hp.measure_risks(released, hp.microaggregate(released, k=5), known).attribution.new_places.n <= 60
    True
    """

    right_group: Rate
    new_places: Rate | None
    still_visited: Rate | None
    sensitive: SensitiveClaims | None = None


def attribute(scene: Scene, sensitive: pl.Series | None = None) -> Attribution:
    """Claim places of people in their groups, and count how often that is right; sensitive places also on their own.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario
    >>> from habitprint.auditing.reconstruction import point
    >>> released, known = hp.datasets.town(60, 20)
    >>> release = hp.microaggregate(released, k=5)
    >>> tables = Scenario(release.histograms, known, "same-id", release.steps)
    >>> attribute(Scene.of(released, release, tables, point(tables))).right_group.n
    60
    """
    is_asked = (scene.of_person >= 0) & (scene.looked_in[scene.of_person] >= 0)
    asked = _sample(scene, np.flatnonzero(is_asked))
    known = scene.known.shares[scene.of_person[asked]]
    group = scene.looked_in[scene.of_person[asked]]
    own = sparse.csr_array(scene.own[asked] > 0)
    shown = sparse.csr_array(scene.groups.sums[group] > 0)
    is_right = group == scene.group_of_person[asked]
    scores = _score_new_places(scene, known, shown, group)
    new, place = _best(scores)
    new, place = new[is_right[new]], place[is_right[new]]
    base = _base_rate(scene, group[new], place)
    person, where = (np.asarray(at, np.int64) for at in known.nonzero())
    is_alone = np.bincount(scene.known.shares.indices, minlength=known.shape[1])[where] == 1
    person, where = person[is_alone], where[is_alone]
    is_still_there, is_claimed = _at(own, person, where), _at(shown, person, where) > 0
    claims = is_still_there[is_claimed]
    return Attribution(
        right_group=_rate(is_right, max(len(asked), 1)),
        new_places=_rate(_at(own, new, place), by_chance=float(base.mean())) if len(new) else None,
        still_visited=_rate(claims, by_chance=float(is_still_there.mean())) if len(claims) else None,
        sensitive=None if sensitive is None else _claim_sensitive(scene, scores[is_right], own[is_right], sensitive),
    )


def _claim_sensitive(scene: Scene, scores: SparseMatrix, own: SparseMatrix, sensitive: pl.Series) -> SensitiveClaims:
    """Claim the most likely sensitive place of each person whose group is identified; the group must show it."""
    at = positions(sensitive, scene.known.places)
    at = at[at >= 0]
    who, best = _best(sparse.csr_array(scores[:, at]))
    n_shown = int(np.isin(at, scene.groups.sums.indices[scene.groups.sums.data > 0]).sum())
    if len(who) < FEWEST_CLAIMS:
        return SensitiveClaims(len(sensitive), n_shown, len(who), None)
    place = at[best]
    visits, known = (sparse.csr_array((rows > 0).astype(np.float64)) for rows in (scene.own, scene.known_of_people))
    n_visitors, n_known, n_both = (np.asarray(each.sum(axis=0)).ravel() for each in (visits, known, visits * known))
    base = (n_visitors - n_both)[place] / np.maximum(visits.shape[0] - n_known, 1)[place]
    return SensitiveClaims(len(sensitive), n_shown, len(who), _rate(_at(own, who, place), by_chance=float(base.mean())))


def _sample(scene: Scene, people: Indices) -> Indices:
    """Return the people about whom places are claimed; fewer if many people share many places."""
    drawn = np.random.default_rng(SAMPLE_SEED).permutation(people)[:MOST_PEOPLE]
    shares = scene.known.shares
    n_visitors = np.bincount(shares.indices, minlength=shares.shape[1])
    n_identical = _rare(shares[scene.of_person[drawn]], n_visitors).astype(bool) @ n_visitors
    work = np.cumsum(n_identical * (shares.nnz / shares.shape[0]))
    return np.sort(drawn[: max(int(np.searchsorted(work, MOST_WORK)), FEWEST_PEOPLE)])


def _rare(known: SparseMatrix, n_visitors: Floats | Indices) -> SparseMatrix:
    """Return known shares, weighted by rarity: sharing a popular place does not make people similar."""
    weight = np.where(n_visitors <= MOST_VISITORS, 1 / np.maximum(n_visitors, 1), 0.0)
    rare = sparse.csr_array(known * weight)
    rare.eliminate_zeros()
    return rare


def _score_new_places(scene: Scene, known: SparseMatrix, shown: SparseMatrix, group: Indices) -> SparseMatrix:
    """Return how well each place of a person's group fits them that they are not known to visit.

    A place fits if people with similar habits visit it; rare places count more. It fits better if the known habits of
    other members do not explain its value in the group.
    """
    everybody = sparse.csr_array((scene.known.shares > 0).astype(np.float64))
    similarity = sparse.csr_array(_rare(known, np.asarray(everybody.sum(axis=0)).ravel()) @ everybody.T)
    fits = sparse.csr_array(similarity @ everybody)
    left = sparse.csr_array(unexplained_sums(scene) + LEFT_OVER * scene.groups.sums)[group]
    candidates = sparse.csr_array(shown.astype(np.float64) - shown.multiply(known > 0))
    candidates.eliminate_zeros()
    # If no similar person was there, the unexplained part of the group's value still counts.
    least = 1e-3 * float(fits.data.mean()) if fits.nnz else 1.0
    return sparse.csr_array((candidates * least + candidates.multiply(fits)).multiply(left))


def _best(scores: SparseMatrix) -> tuple[Indices, Indices]:
    """Return the rows that have a score at all, and the column of the largest in each; of equal ones the first."""
    scores.eliminate_zeros()
    row = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, row))  # scipy's argmax goes through the rows one by one
    best = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
    return row[best], scores.indices[best].astype(np.int64)


def _base_rate(scene: Scene, group: Indices, place: Indices) -> Floats:
    """Return the share of members who were at a place, among those who are not known to visit it."""
    n_groups, n = scene.groups.sums.shape[0], len(scene.group_of_person)
    members = sparse.csr_array((np.ones(n), (scene.group_of_person, np.arange(n))), (n_groups, n))
    own, known = (sparse.csr_array((rows > 0).astype(np.float64)) for rows in (scene.own, scene.known_of_people))
    n_known, n_known_there = (_at(sparse.csr_array(members @ each), group, place) for each in (known, known * own))
    n_new = _at(sparse.csr_array(members @ own), group, place) - n_known_there
    return np.asarray(n_new / np.maximum(np.bincount(scene.group_of_person, minlength=n_groups)[group] - n_known, 1))


def _at(table: SparseMatrix, row: Indices, column: Indices) -> Floats:
    """Return single cells of a table; of none, none (where scipy returns a matrix)."""
    return np.asarray(table[row, column], np.float64).ravel() if len(row) else np.zeros(0)


@dataclass(frozen=True)
class Risks:
    """The three risks of a protected table: row pointed at, row reconstructed, places attributed.

    Parameters
    ----------
    guaranteed
        The highest risk that any attack points at the right row. None if identical rows can be distinguished by
        something else, such as their ids.
    is_grouped
        Whether rows are published for groups.
    reconstruction, attribution
        The measured risks of groups; None if they were not measured, or there are no groups.
    n_draws
        The number of measured draws of the units; the risks are those of the worst draw.

    Examples
    --------
    >>> Risks(GuaranteedRisk(0.05, 0.05), is_grouped=True).reconstruction is None
    True
    """

    guaranteed: GuaranteedRisk | None
    is_grouped: bool
    reconstruction: Reconstruction | None = None
    attribution: Attribution | None = None
    n_draws: int = 1

    __repr__ = abbreviated


def measure_risks(
    original: Histograms | AnyTable,
    release: Release | Histograms | AnyTable,
    known: Histograms | AnyTable,
    truth: Truth = SAME_ID,
    *,
    others: Sequence[Release] = (),
    sensitive: AnyTable | None = None,
    progress: Progress = silent,
) -> Risks:
    """Measure the three risks of a release: row pointed at, row reconstructed, places attributed.

    Parameters
    ----------
    original
        The table before any protection, with the user ids of the known table, or with those of the release.
    release
        The published table.
    known, truth
        The attacker's data, and the truth, as for `habitprint.evaluate`.
    others
        Further releases of the same people that the attacker has too, with the same user ids.
    sensitive
        Places whose attribution is also measured on their own: a list, or a file or frame with the column ``place``.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> risks = hp.measure_risks(released, hp.microaggregate(released, k=5), known)
    >>> risks.guaranteed.average, risks.attribution.right_group.n
    (0.2, 60)
    """
    table, theirs = as_histograms(original, "original"), as_histograms(known, "known")
    release, places = as_release(release), None if sensitive is None else read_sensitive(sensitive)
    require_sensitive(places, table, theirs)
    tables = Scenario(release.histograms.in_order(), theirs.in_order(), truth, release.steps)
    guaranteed = GuaranteedRisk.of(tables.anonymity_sets)
    scene = Scene.of(table, replace(release, histograms=tables.released), tables, point(tables, progress))
    if scene is None:
        return Risks(guaranteed, is_grouped=is_grouped(release))
    reconstruction = reconstruct(scene, others=others, progress=progress)
    return Risks(guaranteed, is_grouped=True, reconstruction=reconstruction, attribution=attribute(scene, places))
