"""Every value shows itself in a few lines, and in a notebook as markup in which text from the data is only text."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree as ET

import altair as alt
import polars as pl
import pytest

import habitprint as hp
from audits import only_groups
from habitprint.auditing.curves import Point
from habitprint.formatting import Drawn, Shown, abbreviated, cut

MOST_LINES, MOST_LETTERS = 20, 1_500
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "&lt;b&gt; & ]]>",
    "{{ 7 * 7 }}",
    "x' onload='y",
)
TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "img"}
ATTRIBUTES = {"style", "scope", "alt", "src"}


def town() -> tuple[hp.Histograms, hp.Histograms]:
    """Return two tables of a small town, where some people and places have hostile names."""
    sides = hp.datasets.town(24, 8)
    names = [*HOSTILE, *(f"person {at}" for at in range(24 - len(HOSTILE)))]
    places = [*HOSTILE, *(f"place {at}" for at in range(max(side.n_places for side in sides)))]
    released, known = (
        hp.Histograms(side.counts, pl.Series(names), pl.Series(places[: side.n_places])) for side in sides
    )
    return released, known


@cache
def values() -> dict[str, object]:
    """Return one value or more of every public kind, with hostile names in it where it holds names."""
    released, known = town()
    table = released.to_table()
    days = pl.DataFrame({"time": ["2012-04-09", "2012-04-10", "2012-04-16", "2012-04-17"]})
    events = hp.events_from_frame(table.join(days, how="cross"), source=HOSTILE[0])
    matching = hp.match(released, known)
    with only_groups():
        found = hp.audit((released, known), target=0.5, noise=False, name=HOSTILE[0])
    other = replace(found, verdict=replace(found.verdict, target=0.6))
    release = hp.chain(hp.KeepTopPlaces(6), hp.Microaggregate(3), hp.ReleaseShares())(released)
    mapping = hp.PlaceMapping(
        pl.DataFrame({"place": released.places, "to": [f"to {at % 3}" for at in range(released.n_places)]})
    )
    training = hp.train(released, known)
    guarantees = [
        hp.KAnonymity(2), hp.SmallestCount(2), hp.MultiplesOf(2), hp.LimitedContribution(9.0, None),
        hp.DifferentialPrivacy(1.0, 0.0, "event", None), hp.EqualTotals(), hp.EqualContributions(50),
        hp.OnlyPlaces(tuple(released.places.to_list())), hp.OnlyPlaces(tuple(range(2000))),
    ]  # fmt: skip
    mechanisms = [
        hp.AddNoise(1.0, unit="event"), hp.KeepTopPlaces(3), hp.MergeRarePlaces(3), hp.Microaggregate(3), hp.RoundTo(5),
        hp.SuppressBelow(2), hp.LimitContribution(total=9.0), hp.ReleaseShares(), hp.Coarsen(mapping),
        hp.Pseudonymise(),
    ]  # fmt: skip
    periods = [
        hp.AllOtherTime(("2012-04-09", "2012-04-15")), hp.BusiestWeeks(), hp.ConsecutiveWeeks("2012-04-09"),
        hp.DateRanges(("2012-04-09", "2012-04-10"), ("2012-04-16", "2012-04-17")), hp.HalvesOfActiveWeeks(),
        hp.HalvesOfRows(), hp.KnownInHalves(hp.HalvesOfRows()), hp.OnDays("monday", "friday", of=hp.HalvesOfRows()),
    ]  # fmt: skip
    probabilities = training.probabilities(matching, released, known)
    measured = [hp.Measured(n, hp.Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60))]
    forecast = hp.forecast(measured, 1_000, target=0.05)
    prediction = hp.predict(released, known, n_draws=2)
    risks = hp.measure_risks(released, hp.microaggregate(released, k=3), known)
    named: dict[str, object] = {
        "audit": found,
        "read back": hp.Audit.from_json(found.to_json()),
        "advice": found.advice,
        "risks": risks,
        "reconstruction": risks.reconstruction,
        "attribution": risks.attribution,
        "sensitive": hp.SensitiveClaims(2, 1, 3, None),
        "singling out": hp.measure_singling_out(released),
        "following": hp.follow(hp.datasets.calls_twin(30).events, every=[3]),
        "accountability": hp.Accountability(controller=HOSTILE[0]),
        "explanation": found.explain(released.users[0]),
        "comparison": hp.compare([found, other], names=[HOSTILE[0], "other"]),
        "events": events,
        "events check": hp.check_events(events),
        "finding": hp.Finding("repeated-rows", "note", 1, 900),
        "shared": hp.find_shared(events),
        "split": hp.split(events, hp.ConsecutiveWeeks("2012-04-09")),
        "histograms": released,
        "matching": matching,
        "likelihood": hp.log_likelihood(matching, released, known),
        "one by one": hp.match(released, known, method="one-by-one"),
        "path": hp.matching_path(released, known),
        "evaluation": hp.evaluate(matching, released, known),
        "likely": hp.LikelyPairs.of(matching, probabilities, above=0.1),
        "training": training,
        "trained attack": training.best,
        "trained": training.trained,
        "calibration": training.calibration,
        "release": release,
        "coarsened": hp.Coarsen(mapping)(released),
        "published": release.published(),
        "step": release.steps[0],
        "transformed": release.transformed(known)[-1],
        "check": hp.check_guarantees(release)[0],
        "losses": hp.measure_losses(released, release),
        "owner": hp.OwnerRecord(
            *("internal", "habitprint-owner/3", "safer.csv", "0" * 64, (), True, ()),
            hp.measure_losses(released, release),
            release.steps,  # type: ignore[arg-type]
        ),
        "input": hp.InputFile("x.csv", "0" * 64, 5),
        "exposure": hp.totals_exposure(released),
        "guaranteed": hp.guaranteed_risk(released),
        "preparation": hp.Preparation(),
        "mapping": mapping,
        "box": hp.Box(39, 116, 40, 117),
        "grid": hp.Grid(1000, hp.Box(39, 116, 40, 117)),
        "rate": found.strongest.rate,
        "difference": hp.compare([found, other]).others[0].difference,
        "forecast": forecast,
        "needed": forecast.needed,
        "measured": measured[0],
        "prediction": prediction,
        "lengths": hp.forecast_length([Point(n, "", each.rate, 100) for n, each in enumerate(measured[::-1], 3)], 28),
        "effective share": prediction.effective,
        "impostors": hp.count_impostors(released, known),
        "weight": training.trained.weight,
        "term": training.trained.weight.terms[0],
        "curve": found.curves[0],
        "people": found.people,
        "protections": found.protections,
        "trial": found.protections.trials[1],
        "data": found.data,
        "options": found.options,
        "run": found.run,
        "spec": hp.EventSpec(user="caller"),
        "matching options": hp.MatchOptions(size=3),
        "verdict": found.verdict,
        "internal": found.internal,
    }
    for kind in (guarantees, mechanisms, periods):
        named |= {f"{type(value).__name__} {at}": value for at, value in enumerate(kind)}
    return named


@cache
def pages() -> dict[str, str]:
    """Return the HTML of every value that has some."""
    return {name: value._repr_html_() for name, value in values().items() if isinstance(value, Shown)}


def public_kinds() -> Iterator[type]:
    """Yield the public classes of which there are values."""
    for name in sorted(set(dir(hp)) - {"Spark"}):
        kind = getattr(hp, name)
        if isinstance(kind, type) and not issubclass(kind, (Exception, Warning)) and not inspect.isabstract(kind):
            yield kind


@pytest.mark.parametrize("kind", list(public_kinds()), ids=lambda kind: kind.__name__)
def test_every_public_kind_of_value_is_looked_at_here(kind: type) -> None:
    assert any(isinstance(value, kind) for value in values().values())


def test_the_repr_of_every_value_is_short() -> None:
    for name, value in values().items():
        text = repr(value)
        assert text.count("\n") < MOST_LINES, name
        assert len(text) < MOST_LETTERS, name


@pytest.mark.slow
def test_the_html_of_every_value_is_well_formed_and_holds_no_markup_but_ours() -> None:
    for name, page in pages().items():
        for element in ET.fromstring(page).iter():  # noqa: S314  (our own text)
            assert element.tag in TAGS, name
            assert set(element.attrib) <= ATTRIBUTES, name
            assert element.get("src", "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,"), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["histograms", "matching", "release", "audit", "split"])
def test_hostile_ids_are_shown_as_the_text_that_they_are(name: str) -> None:
    root = ET.fromstring(pages()[name])  # noqa: S314  (our own text)
    assert HOSTILE[0] in " ".join(root.itertext())


def test_letters_that_no_page_may_hold_are_marked() -> None:
    html = hp.Histograms.from_strings({"a\x00\x1bb": "x"})._repr_html_()
    assert r"a\x00\x1bb" in html


@pytest.mark.slow
def test_a_card_tells_what_matters() -> None:
    shown = pages()
    assert "of people can be re-identified. Target: " in shown["audit"]
    assert "data:image/svg+xml" in shown["audit"]
    assert all(word in shown["matching"] for word in ("Total weight", "optimal", "person 0", "24"))
    assert all(word in shown["split"] for word in ("Counted", "Outside both periods", "All rows"))
    assert all(word in shown["release"] for word in ("3-anonymity", "holds", "Information loss", "Row pointed at"))


def test_a_release_that_is_published_tells_no_losses() -> None:
    published = values()["published"]
    assert isinstance(published, hp.Release)
    assert published.original is None
    assert "Information loss" not in published._repr_html_()


def test_the_accounting_of_a_split_adds_up_to_all_rows() -> None:
    split = values()["split"]
    assert isinstance(split, hp.Split)
    assert split.to_frame()["n_rows"].sum() == split.n_rows


def test_what_is_a_table_has_a_frame_of_the_same_rows() -> None:
    for name in ("histograms", "matching", "path", "likely"):
        value = values()[name]
        assert isinstance(value, (hp.Histograms, hp.Matching, hp.MatchingPath, hp.LikelyPairs))
        assert value.to_frame().equals(value.to_table()), name


def test_frames_of_an_audit_hold_what_it_holds() -> None:
    found = values()["audit"]
    assert isinstance(found, hp.Audit)
    assert found.to_frame().height == len(found.attacks)
    assert found.to_frame()["high"].max() == found.strongest.rate.high
    assert found.to_frame("protections").height == len(found.protections.trials)
    assert found.to_frame("curves").height == sum(len(curve.points) for curve in found.curves)
    assert found.to_frame("claims").height == len(found.people.claims)
    assert found.to_frame("people").equals(found.users)
    with pytest.raises(hp.InputError, match="rows"):
        found.to_frame("nonsense")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["path", "curve", "people", "protections", "comparison"])
def test_what_has_a_picture_draws_it_with_colours_of_its_own(name: str) -> None:
    value = values()[name]
    assert isinstance(value, Drawn)
    chart = value.plot()
    assert isinstance(chart, alt.TopLevelMixin)
    assert "var(--" not in chart.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["answer", "attacks", "curves", "protections", "claims"])
def test_every_picture_of_a_report_is_a_chart(picture: str) -> None:
    found = values()["audit"]
    assert isinstance(found, hp.Audit)
    chart = found.plot(picture)  # type: ignore[arg-type]
    assert "var(--" not in chart.to_json()


def test_a_picture_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    found = values()["audit"]
    assert isinstance(found, hp.Audit)
    with pytest.raises(hp.InputError, match="no picture 'map'") as error:
        found.plot("map")
    assert "attacks" in error.value.fix


def test_a_long_collection_is_told_by_its_first_items() -> None:
    assert abbreviated(hp.OnlyPlaces(tuple(range(5)))) == "OnlyPlaces(places=(0, 1, 2, …))"
    assert len(cut("x" * 99, 10)) == 10
