"""The paper's tables and figures, and experiments of your own: experiments as data, and one runner for them all."""

from habitprint.experiments.claims import Finding
from habitprint.experiments.jobs import Job, Part, Setting
from habitprint.experiments.run import Report, Reproduction, Store, make_output, reproduce, run_jobs
from habitprint.experiments.sources import Data, DataSource, Folders, find_sources
from habitprint.experiments.spec import NAMES, PAPER, Experiment
