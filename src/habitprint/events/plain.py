"""Ids as they should have been written, and ids that stand for nobody."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.events.events import Events, require_events
from habitprint.io.tables import collect

LEADING_ZEROS = r"^([-+]?)0+(\w)"


def plain_ids(events: Events) -> Events:
    """Return the events with ids that have neither blanks around them nor zeros before them.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [" 007", "7"], "time": ["2012-04-09"] * 2, "place": ["x", "x "]})
    >>> plain_ids(calls).usable.select("user", "place").collect().rows()
    [('7', 'x'), ('7', 'x')]
    """
    require_events(events)
    kinds = events.frame.collect_schema()
    text = [name for name in ("user", "place") if kinds.get(name) == pl.String]
    return replace(
        events, frame=events.frame.with_columns(without_zeros(pl.col(name).str.strip_chars()) for name in text)
    )


def without_zeros(text: pl.Expr) -> pl.Expr:
    """Return the expression for ids without zeros before them.

    Examples
    --------
    >>> pl.DataFrame({"id": ["007", "0", "-01"]}).select(without_zeros(pl.col("id")))["id"].to_list()
    ['7', '0', '-1']
    """
    return text.str.replace(LEADING_ZEROS, "${1}${2}")


def without_ids(events: Events, users: Sequence[str] = (), places: Sequence[str] = ()) -> Events:
    """Return the events without some users and places, whose rows are counted as left out; a number as its text.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jo", "NULL"], "time": ["2012-04-09"] * 2, "place": ["x", "x"]})
    >>> without_ids(calls, users=["NULL"]).usable.collect()["user"].to_list()
    ['Jo']
    """
    require_events(events)
    for name, ids in (("user", users), ("place", places)):
        if ids and name in events.columns:
            is_named = pl.col(name).cast(pl.String).is_in(list(ids))
            events = events.leave_out(is_named, f"its {name} is left out by name")
    return events


def refuse_absent_ids(events: Events, users: Sequence[str] = (), places: Sequence[str] = ()) -> None:
    """Raise `InputError` if a user or place that is to be left out is in no row.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jo", "NULL"], "time": ["2012-04-09"] * 2, "place": ["x", "x"]})
    >>> refuse_absent_ids(calls, users=["NULL"])
    >>> refuse_absent_ids(calls, users=["null"])
    Traceback (most recent call last):
    habitprint.errors.InputError: no user 'null' in a frame
      why: nothing would be left out, and what was meant would still be counted
      fix: leave out --without-user null, or write it as in the data: 'NULL'
    """
    for name, asked in (("user", users), ("place", places)):
        if not asked:
            continue
        ids = pl.Series(name, [], pl.String)
        if name in events.columns:
            (ids,) = collect([events.frame.select(pl.col(name).cast(pl.String).unique())], events.source)[0]
        if absent := [id_ for id_ in asked if id_ not in ids]:
            near = ids.filter(ids.str.strip_chars().str.to_lowercase() == absent[0].strip().lower()).to_list()
            such = f", or write it as in the data: {first_few(near)}" if near else ""
            raise InputError(
                f"no {name} {first_few(absent)} in {events.source}",
                why="nothing would be left out, and what was meant would still be counted",
                fix=f"leave out {' '.join(f'--without-{name} {shlex.quote(id_)}' for id_ in absent)}{such}",
            )
