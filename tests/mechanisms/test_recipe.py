"""A recipe is a tuple of mechanisms: files and options hold it as it is."""

from typing import get_args

import msgspec
import pytest

import habitprint as hp
from habitprint.mechanisms import Recipe, from_flags
from habitprint.mechanisms.recipe import FLAGS, AnyMechanism, from_text, to_text

RECIPES: list[Recipe] = [
    (),
    (hp.Microaggregate(5),),
    (hp.MergeRarePlaces(9), hp.KeepTopPlaces(7), hp.SuppressBelow(2), hp.RoundTo(2.5), hp.ReleaseShares()),
    (hp.LimitContribution(total=9), hp.SuppressBelow(1.5)),
    (hp.AddNoise(2.5, "event", 1e-6), hp.RoundTo(3)),
    (hp.AddNoise(1.0, limit=20), hp.Microaggregate(5, "l2", "mdav", units=7, least_members=2)),
    (hp.KeepTopPlaces(3), hp.Microaggregate(5, mean_k=8, units=None)),
]


class Written(msgspec.Struct):
    """A file that holds a recipe."""

    recipe: Recipe


def parsed(flags: str) -> dict[str, object]:
    """Return options as a command line would give them."""
    given: dict[str, object] = {}
    for words in flags.removeprefix("--").split(" --") if flags else []:
        name, _, value = words.partition(" ")
        is_float = name in {"epsilon", "delta", "mean-k", "suppress-below", "round-to"}
        given[f"--{name}"] = (float(value) if is_float else int(value) if value.isdigit() else value) if value else True
    return given


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_options_ask_for_the_recipe_that_they_were_made_of(recipe: Recipe) -> None:
    again = from_flags(parsed(hp.to_flags(recipe)))
    assert again == recipe
    assert [type(each) for each in from_flags(dict(reversed(parsed(hp.to_flags(recipe)).items())))] == [
        kind for kind in FLAGS if kind in map(type, recipe)
    ]


def test_every_mechanism_has_options_and_one_place_in_their_order() -> None:
    assert list(FLAGS) == list(get_args(AnyMechanism))


def test_options_name_a_mapping_without_telling_it() -> None:
    assert hp.to_flags((hp.Coarsen({"a": "x"}, "leave-out"),)) == "--coarsen MAPPING --unknown-places leave-out"


@pytest.mark.parametrize("mapping", [{"a": "x", "b": "x"}, {1: 10, 2: 10}, {1: "x"}], ids=str)
def test_a_recipe_comes_back_from_a_file_and_does_the_same(mapping: dict[str | int, str | int]) -> None:
    habits = hp.Histograms.from_table({"user": [1] * len(mapping), "place": list(mapping), "count": [2] * len(mapping)})
    for recipe in [*RECIPES, (hp.Coarsen(mapping), hp.RoundTo(2))]:
        text = to_text({"schema": "s", "recipe": recipe})
        again = from_text(text, Written, "s").recipe
        assert again == recipe
    made = [hp.chain(*each)(habits).histograms.to_table() for each in (recipe, again)]
    assert made[0].equals(made[1])
