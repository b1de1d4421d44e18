"""The paper's tables and figures, and experiments of your own: specs as data, and one runner that does them all."""

from habitprint.experiments.jobs import DataTask, Job, Setting, TimeTask, attacks
from habitprint.experiments.pages import Report, Reproduction
from habitprint.experiments.paper import NAMES, PAPER
from habitprint.experiments.run import Store, make_output, reproduce, run_jobs
from habitprint.experiments.sources import Data, DataSource, Folders, find_sources
from habitprint.experiments.spec import Experiment, Finding, Part

__all__ = [
    "NAMES",
    "PAPER",
    "Data",
    "DataSource",
    "DataTask",
    "Experiment",
    "Finding",
    "Folders",
    "Job",
    "Part",
    "Report",
    "Reproduction",
    "Setting",
    "Store",
    "TimeTask",
    "attacks",
    "find_sources",
    "make_output",
    "reproduce",
    "run_jobs",
]
