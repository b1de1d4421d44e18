"""Checks of two tables of counts: whether they can be compared, and ids that are no person or place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from habitprint.arrays import Indices, SparseMatrix
from habitprint.checks.check import check_ids, check_tail, check_words, is_total
from habitprint.checks.finding import Finding
from habitprint.histograms import FEW_SHARED, Histograms, n_shared_places
from habitprint.ids import positions

FEWEST_OTHERS = 10  # ids whose sum equals the counts of another id: with so many, that is no accident
HALF = 0.5  # of the ids of one kind are those of the other: the columns of one table are swapped
FEWEST_CROSSED, PART_CROSSED = 10, 0.05  # entries of both tables with user and place exchanged
MORE_CROSSED = 4  # ratio of crossed entries to entries that are the same in both


def check_sides(released: Histograms, known: Histograms) -> list[Finding]:
    """Find faults that make a comparison of two tables unreliable.

    Examples
    --------
    >>> found = check_sides(Histograms.from_strings({1: "abcdef"}), Histograms.from_strings({1: "vwxyza"}))
    >>> [(each.code, each.count, each.of) for each in found]
    [('few-shared-places', 1, 6)]
    """
    found = []
    if released.to_table().equals(known.to_table()):
        found.append(Finding("same-tables", "changes-answer", released.n_users, kind="user"))
    n_shared, fewer = n_shared_places(released, known), min(released.n_places, known.n_places)
    if n_shared == 0:
        found.append(Finding("no-shared-places", "stops", 0, fewer, "place"))
    elif n_shared < FEW_SHARED * fewer:
        # Where most places are rare, it is so with the best of names.
        found.append(Finding("few-shared-places", "note", n_shared, fewer, "place"))
    if released.n_places == 1:
        n_totals = len(np.unique(released.totals))
        found.append(Finding("one-place", "changes-answer", n_totals, released.n_users, "place"))
    return found


def check_tables(released: Histograms, known: Histograms, *, same_ids: bool, is_protected: bool) -> list[Finding]:
    """Find ids that are no persons or places, totals among the counts, and users that are places.

    Parameters
    ----------
    released, known
        The tables.
    same_ids
        Whether a user has the same id in both: then ids of both are one set.
    is_protected
        Whether the released table was protected: then its rows are no longer those of people.

    Examples
    --------
    >>> week = {"user": ["a", "b", "Total"], "place": ["x"] * 3, "count": [1, 2, 3]}
    >>> table = Histograms.from_table(week)
    >>> found = check_tables(table, table, same_ids=True, is_protected=False)
    >>> [(each.code, each.gravity, each.count) for each in found]
    [('total-row', 'stops', 2)]
    """
    plain = [known] if is_protected else [released, known]
    sets = [[released, known]] if same_ids else [[table] for table in plain]
    users = [each for tables in sets for each in check_ids(_count_entries(tables, "user"), "user")]
    places = check_ids(_count_entries(plain, "place"), "place")
    found = [
        *_without_named(users, _sums(plain, "user")),
        *_without_named(places, _sums(plain, "place")),
        *_check_swapped(released, known, plain, same_ids=same_ids),
    ]
    return [replace(each, options="") for each in found]  # the options that fix ids are for events


def _rows_of(table: Histograms, kind: Literal["user", "place"]) -> tuple[pl.Series, SparseMatrix]:
    """Return the ids of users or of places, and the counts with a row for each."""
    return (table.users, table.counts) if kind == "user" else (table.places, table.counts.T.tocsr())


def _count_entries(tables: Sequence[Histograms], kind: Literal["user", "place"]) -> pl.DataFrame:
    """Return how many entries each id has in all tables; an integer and its decimal text are the same id."""
    rows = [_rows_of(table, kind) for table in tables]
    frames = [pl.DataFrame({"id": ids, "n": np.diff(counts.indptr).astype(np.int64)}) for ids, counts in rows]
    if len({ids.dtype for ids, _ in rows}) > 1:
        frames = [frame.cast({"id": pl.String}) for frame in frames]
    return pl.concat(frames).group_by("id").agg(pl.col("n").sum())


def _without_named(found: list[Finding], sums: list[Finding]) -> list[Finding]:
    """Return findings about ids, without totals by name where the counts prove them."""
    return [*(each for each in found if not (sums and each.code == "total-row")), *sums]


def _sums(tables: Sequence[Histograms], kind: Literal["user", "place"]) -> list[Finding]:
    """Find users or places whose counts are the sum of all others."""
    shown: list[str] = []
    for table in tables:
        ids, counts = _rows_of(table, kind)
        totals, sums = np.asarray(counts.sum(axis=1)).ravel(), np.asarray(counts.sum(axis=0)).ravel()
        for at in np.flatnonzero(np.isclose(2 * totals, totals.sum())).tolist():
            is_sum = np.allclose(2 * counts[[at]].toarray().ravel(), sums)
            n_others = len(totals) - 1
            if is_sum and (n_others >= FEWEST_OTHERS or (n_others and is_total(ids[at]))):
                shown.append(str(ids[at]))
    n_ids = sum(table.n_users if kind == "user" else table.n_places for table in tables)
    examples = tuple(dict.fromkeys(shown))
    return [Finding("total-row", "stops", len(shown), n_ids, kind, examples)] if shown else []


def _check_swapped(
    released: Histograms, known: Histograms, plain: Sequence[Histograms], *, same_ids: bool
) -> list[Finding]:
    if _are_entries_crossed(released, known) if same_ids else _are_places_crossed(released, known):
        return [Finding("swapped-columns", "stops", released.n_users, released.n_users, "user")]
    told = (
        check_words(table.users, table.places)
        or check_tail(np.diff(table.counts.indptr), np.bincount(table.counts.indices, minlength=table.n_places))
        for table in plain
    )
    return next(filter(None, told), [])


def _are_entries_crossed(released: Histograms, known: Histograms) -> bool:
    """Return whether entries (a, b) of one table are (b, a) in the other, even if users and places have similar ids.

    People come back to their places. So far more entries are the same in both tables than are exchanged by accident.
    """
    user_user, user_place = (positions(released.users, ids) for ids in (known.users, known.places))
    place_user, place_place = (positions(released.places, ids) for ids in (known.users, known.places))
    if not (user_user >= 0).any() and all((found >= 0).mean() >= HALF for found in (user_place, place_user)):
        return True
    entries, other = released.counts.tocoo(), known.counts.tocoo()
    there = other.row.astype(np.int64) * known.n_places + other.col

    def n_shared(users: Indices, places: Indices) -> int:
        is_id = (users >= 0) & (places >= 0)
        return int(np.isin(users[is_id] * np.int64(known.n_places) + places[is_id], there).sum())

    crossed = n_shared(place_user[entries.col], user_place[entries.row])
    if crossed < max(FEWEST_CROSSED, PART_CROSSED * min(entries.nnz, other.nnz)):
        return False
    return crossed > MORE_CROSSED * n_shared(user_user[entries.row], place_place[entries.col])


def _are_places_crossed(released: Histograms, known: Histograms) -> bool:
    """Return whether users of one table are places of the other, where users have other ids in both."""

    def similarity(ids: pl.Series, others: pl.Series) -> float:
        n_common = int((positions(ids, others) >= 0).sum())
        return n_common / (len(ids) + len(others) - n_common)

    crossed = max(similarity(released.users, known.places), similarity(released.places, known.users))
    return crossed >= HALF and 2 * similarity(released.places, known.places) < crossed
