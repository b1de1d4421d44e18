"""The best matching of every size, from one run."""

import numpy as np
import pytest

import habitprint as hp
from instances import CASES, Case

pytestmark = pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_size_has_the_total_of_a_matching_of_that_size(case: Case) -> None:
    released, known = case.make(seed=6)
    path = hp.matching_path(released, known)
    for size in np.unique(np.linspace(1, len(path.sizes), 7).astype(int)):
        matching = hp.match(released, known, size=int(size))
        assert path.total_weight[size - 1] == pytest.approx(matching.total_weight, abs=1e-9)
        assert path.total_gain[size - 1] == pytest.approx(matching.total_gain, abs=1e-9)


@pytest.mark.parametrize("weight", hp.WEIGHTS)
def test_the_total_is_convex_and_the_price_never_rises(weight: str) -> None:
    path = hp.matching_path(*hp.datasets.town(80, 20), weight=weight)  # type: ignore[arg-type]
    assert np.all(np.diff(path.price) <= 0)
    assert np.all(np.diff(path.total_weight, 2) >= -1e-12)


def test_the_pairs_of_a_chosen_size_come_with_their_proof() -> None:
    released, known = hp.datasets.town(80, 20)
    path = hp.matching_path(released, known)
    matching = path.matching(33)
    assert matching.size == 33
    assert matching.is_exact
    assert matching.verify(released, known) <= 1e-10
    assert matching.total_weight == pytest.approx(path.total_weight[32], abs=1e-9)


def test_no_shared_place_is_allowed_and_said_and_other_things_are_refused() -> None:
    released, known = hp.Histograms.from_strings({1: "a"}), hp.Histograms.from_strings({1: "b"})
    with pytest.warns(hp.NoSharedPlaceWarning, match="every pair is a guess"):
        assert hp.matching_path(released, known).price.tolist() == [0.0]
    with pytest.raises(hp.InputError, match="not Histograms"):
        hp.matching_path(released, "known.csv")  # type: ignore[arg-type]


def test_the_table_has_a_row_for_every_size() -> None:
    table = hp.matching_path(*hp.datasets.town(30, 10)).to_table()
    assert table["size"].to_list() == list(range(1, 31))
