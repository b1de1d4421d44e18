"""The paper's tables and figures, and experiments of your own: specs as data, and one runner that does them all."""

from habitprint.experiments.claims import Finding
from habitprint.experiments.output import Report
from habitprint.experiments.paper import NAMES, PAPER
from habitprint.experiments.reproduce import Reproduction, reproduce
from habitprint.experiments.runner import run_cells
from habitprint.experiments.sources import Data, Folders, Source, find_sources
from habitprint.experiments.spec import Cell, Experiment, Part, Setting
from habitprint.experiments.store import Store, make_output

__all__ = [
    "NAMES",
    "PAPER",
    "Cell",
    "Data",
    "Experiment",
    "Finding",
    "Folders",
    "Part",
    "Report",
    "Reproduction",
    "Setting",
    "Source",
    "Store",
    "find_sources",
    "make_output",
    "reproduce",
    "run_cells",
]
