"""The paper's tables and figures, and the numbers that it prints: `paper.toml`, as values."""

import tomllib
from pathlib import Path

import msgspec

from habitprint.experiments.jobs import DataName
from habitprint.experiments.spec import Experiment


class _Paper(msgspec.Struct, forbid_unknown_fields=True):
    n_users: dict[DataName, int]
    n_places: dict[DataName, int]
    experiments: tuple[Experiment, ...]


_READ = msgspec.convert(tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8")), _Paper)
PAPER_N_USERS, PAPER_N_PLACES, PAPER = _READ.n_users, _READ.n_places, _READ.experiments
NAMES = tuple(experiment.name for experiment in PAPER)
