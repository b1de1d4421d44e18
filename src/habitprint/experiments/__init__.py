"""The paper's tables and figures, and experiments of your own: experiments as data, and one runner for them all."""

from habitprint.experiments.jobs import Finding, Job, Picture, Setting, Timing, attacks
from habitprint.experiments.pages import Report, Reproduction
from habitprint.experiments.paper import NAMES, PAPER
from habitprint.experiments.run import Store, make_output, reproduce, run_jobs
from habitprint.experiments.sources import Data, DataSource, Folders, find_sources
from habitprint.experiments.spec import Experiment, Part

__all__ = [
    "NAMES",
    "PAPER",
    "Data",
    "DataSource",
    "Experiment",
    "Finding",
    "Folders",
    "Job",
    "Part",
    "Picture",
    "Report",
    "Reproduction",
    "Setting",
    "Store",
    "Timing",
    "attacks",
    "find_sources",
    "make_output",
    "reproduce",
    "run_jobs",
]
