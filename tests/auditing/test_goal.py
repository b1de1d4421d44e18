"""A preset is about the highest risk of any person, and only a guarantee meets it."""

from typing import Any

import pytest

import habitprint as hp
from habitprint.auditing.goal import PASS, RiskEvidence, TargetPreset, judge


@pytest.mark.parametrize(
    ("preset", "n"), [("cell-5", 5), ("cell-10", 10), ("cell-11", 11), ("cell-20", 20), ("ema", 11)]
)
@pytest.mark.parametrize("is_protected", [False, True])
def test_only_the_guaranteed_highest_risk_of_any_person_meets_a_preset(
    preset: TargetPreset, n: int, *, is_protected: bool
) -> None:
    goal = hp.AuditOptions(target_preset=preset).goal.of_original(is_protected=is_protected)
    for average, smallest, passes in [
        (1 / n, n, True),
        (1 / n, n - 1, False),
        (0.5 / n, n - 1, False),
        (1.0, 1, False),
    ]:
        evidence = RiskEvidence(hp.GuaranteedRisk(average, 1 / smallest), 0.0)
        assert [judge(goal, evidence, by) is PASS for by in (None, "guaranteed", "measured")] == [passes] * 3


@pytest.mark.parametrize("options", [{"target": 0.05}, {"person_target": 0.05}, {"decide": "measured"}])
def test_a_preset_allows_no_other_target(options: dict[str, Any]) -> None:
    with pytest.raises(hp.InputError, match="--target-preset does not go with"):
        hp.AuditOptions(target_preset="cell-11", **options)
