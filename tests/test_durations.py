"""The share identified from longer periods: the line that it follows, its interval, and the data that it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

import habitprint as hp
from command_line import run
from habitprint.auditing.curves import Point
from habitprint.rates import IntervalMethod

LENGTHS = (1, 2, 3, 5, 7)


def curve(slope: float, n: int = 1000, at_last: float = 0.4, lengths: tuple[int, ...] = LENGTHS) -> list[Point]:
    """Return rates whose logits are a straight line in the logarithm of the length."""
    shares = expit(logit(at_last) + slope * np.log(np.array(lengths) / lengths[-1]))
    rates = (hp.Rate.of(n * share, n, 1 / n, method=IntervalMethod.JOINT) for share in shares.tolist())
    return [Point(float(days), f"{days} days", rate, n) for days, rate in zip(lengths, rates, strict=True)]


@pytest.mark.parametrize("slope", [0.2, 0.6, 1.3])
def test_a_straight_line_of_logits_is_followed(slope: float) -> None:
    found = hp.forecast_length(curve(slope, 10**7), 28)
    expected = float(expit(logit(0.4) + slope * np.log(4)))
    assert found.slope == pytest.approx(slope, rel=1e-4)
    assert found.share == pytest.approx(expected, abs=1e-4)
    assert found.low < expected < found.high


def test_the_interval_begins_as_the_measured_one_and_is_wider_later_and_with_fewer_people() -> None:
    points = curve(0.6)
    found = hp.forecast_length(points, 365)
    first = found.fan[0]
    assert (first.low, first.high) == pytest.approx((points[-1].rate.low, points[-1].rate.high), abs=1e-3)
    widths = [logit(point.high) - logit(point.low) for point in found.fan]
    assert widths == sorted(widths)
    few = hp.forecast_length(curve(0.6, 50), 14)
    assert few.high - few.low > found.fan[6].high - found.fan[6].low
    assert found.to_frame().columns == ["days", "share", "low", "high"]


def test_only_lengths_from_a_quarter_of_the_longest_on_count_and_their_order_never_matters() -> None:
    points = curve(0.6)
    odd = Point(1.0, "1 day", hp.Rate.of(900, 1000, 0.001), 1000)
    assert hp.forecast_length([odd, *points[1:]], 28).share == hp.forecast_length(points[::-1], 28).share


def test_two_periods_of_unequal_lengths_are_no_point_of_the_line() -> None:
    points = curve(0.6)
    unequal = replace(points[-1], rate=hp.Rate.of(900, 1000, 0.001), is_unequal=True)
    assert hp.forecast_length([*points[:-1], unequal], 28) == hp.forecast_length(points[:-1], 28)


def test_a_share_that_does_not_rise_is_not_foretold_to_fall() -> None:
    found = hp.forecast_length(curve(-0.5), 28)
    assert found.slope == 0.0
    assert found.share == pytest.approx(0.4, abs=1e-3)


def test_too_few_lengths_and_shorter_periods_are_refused() -> None:
    for few in (curve(0.6, lengths=(1, 7)), curve(0.6, lengths=(7, 7))):
        with pytest.raises(hp.InputError, match="no forecast from 1 measured length "):
            hp.forecast_length(few, 28)
    with pytest.raises(hp.InputError, match="up to 7 days were measured"):
        hp.forecast_length(curve(0.6), 5)


def test_an_audit_of_tables_has_no_days_to_continue(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for files in ((hp.datasets.AUDIT_OF_TOWN,), ("one.csv", "other.csv")):
        assert run(monkeypatch, "forecast", *files, "--days", 28) == 2
        assert "tables of counts have no days" in capsys.readouterr().err
    assert run(monkeypatch, "forecast", hp.datasets.AUDIT_OF_TOWN) == 2
    assert "no --population and --days" in capsys.readouterr().err
    assert run(monkeypatch, "forecast", hp.datasets.AUDIT_OF_TOWN, "--days", 28, "--population", 1_000) == 2
    assert "both --population and --days" in capsys.readouterr().err


@pytest.mark.slow
def test_the_curve_of_an_audit_is_continued_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events = hp.events_from_frame(hp.datasets.calls_twin(60).events)
    audit = hp.audit(events, noise=False)
    hp.write_audit(audit, tmp_path / "audit")
    plot = tmp_path / "lengths.svg"
    assert run(monkeypatch, "forecast", tmp_path / "audit", "--days", 28, "--plot", plot, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    points = next(each for each in audit.curves if each.dimension == "duration").points
    assert facts["share"] == hp.forecast_length(points, 28).share
    assert plot.read_text().startswith("<svg")
