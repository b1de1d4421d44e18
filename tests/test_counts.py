"""Which users cannot be told apart, against a comparison of every row with every other."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint import counts

# Few values of few places, so that equal rows are common; 0.1 + 0.2 differs from 0.3 in the last bit alone.
WHOLE = st.integers(0, 2)
FRACTIONS = st.sampled_from([0.0, 0.3, 0.1 + 0.2, 1.0])


@st.composite
def tables(draw: st.DrawFn) -> hp.Histograms:
    values = draw(st.sampled_from([WHOLE, FRACTIONS]))
    rows = draw(st.lists(st.lists(values, min_size=3, max_size=3).filter(any), min_size=1, max_size=8))
    return hp.Histograms(sparse.csr_array(np.array(rows)), pl.Series(range(len(rows))), pl.Series(["a", "b", "c"]))


def row_by_row(histograms: hp.Histograms) -> list[int]:
    rows = histograms.counts.toarray().tolist()
    return [rows.count(row) for row in rows]


@given(tables())
def test_rows_are_identical_if_every_single_count_is(histograms: hp.Histograms) -> None:
    assert histograms.identical_rows.tolist() == row_by_row(histograms)


@given(tables())
def test_accidents_of_fingerprints_change_nothing(histograms: hp.Histograms) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_fingerprints", lambda starts, *_: np.zeros(len(starts) - 1, np.uint64))
        assert histograms.identical_rows.tolist() == row_by_row(histograms)


def test_equal_shares_of_different_totals_are_not_identical() -> None:
    assert hp.Histograms.from_strings({1: "ab", 2: "aabb"}).identical_rows.tolist() == [1, 1]
