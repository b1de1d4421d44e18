"""Sensitive places: a chosen list. Claims about these places are also measured on their own."""

import os
from typing import Any

import numpy as np
import polars as pl

from habitprint.conversion import is_path
from habitprint.errors import InputError, first_few
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.io.tables import read_table, require_columns, to_frame


def read_sensitive(source: Any) -> pl.Series:
    """Read a list of sensitive places: a file or a frame with the column ``place``, or the ids themselves.

    Examples
    --------
    >>> read_sensitive({"place": ["clinic", "church", "clinic"]}).to_list()
    ['church', 'clinic']
    >>> read_sensitive([12, 7]).to_list()
    [7, 12]
    """
    called = os.fspath(source) if is_path(source) else "the list of sensitive places"
    if isinstance(source, (list, tuple, pl.Series)):
        ids = to_ids(source, "place")
    else:
        frame = read_table(source) if is_path(source) else to_frame(source)
        require_columns(frame, ("place",), source=called)
        ids = to_ids(frame["place"], "place")
    if ids.is_empty():
        why, fix = "then there is nothing to measure", "name a place in each row, or leave the list out"
        raise InputError(f"{called} is empty", why=why, fix=fix)
    return ids.unique().sort()


def require_sensitive(sensitive: pl.Series | None, *tables: Histograms) -> None:
    """Raise `InputError` if no table has one of the sensitive places.

    Examples
    --------
    >>> import habitprint as hp
    >>> require_sensitive(pl.Series(["clinic"]), hp.Histograms.from_strings({1: ["dorm", "library"]}))
    Traceback (most recent call last):
    habitprint.errors.InputError: the tables have no place 'clinic', which the list of sensitive places names
      why: nobody visits it in either period, so no claim about it can be right, and the risk would look low
      fix: write places as in the data, such as 'dorm', 'library'; or remove them from the list
    """
    if sensitive is None:
        return
    is_there = np.any([positions(sensitive, table.places) >= 0 for table in tables], axis=0)
    if is_there.all():
        return
    raise InputError(
        f"the tables have no place {first_few(sensitive.filter(~is_there).to_list())}, which the list of sensitive "
        "places names",
        why="nobody visits it in either period, so no claim about it can be right, and the risk would look low",
        fix=f"write places as in the data, such as {first_few(tables[0].places.head(2).to_list())}; or remove them "
        "from the list",
    )
