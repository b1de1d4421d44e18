"""The runner of experiments: it computes missing results in parallel, and writes tables and pictures."""

import json
import os
import time
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import msgspec

from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.events.events import in_words
from habitprint.experiments.claims import CHANCE, Basis, Comparison, Finding, groups, tenths
from habitprint.experiments.jobs import DataName, Done, Job, LeftOut, Run
from habitprint.experiments.measure import SharedData, measure
from habitprint.experiments.sources import DataKind, DataSource
from habitprint.experiments.spec import BASES, INDEX, SIGNS, Experiment
from habitprint.formatting import printable_json
from habitprint.io.files import Output, check_folder, read_text, telling_of, text_output, write_all, write_text
from habitprint.io.tables import table_output
from habitprint.progress import Progress, silent
from habitprint.runtime import run_parallel, versions, versions_in_words
from habitprint.wording.blocks import fixed_text

FOLDER = ".habitprint"
NOTE = "what-this-is.txt"
WORDS = "Results of single computations of habitprint reproduce. Without this folder they are computed anew.\n"
SCHEMA = 7  # to be raised when the same job on the same data would have another result, or another form of it
MEMORY = 4e9  # bytes, of all matchings that run at the same time
LEAST_MEMORY = 1e9  # bytes, of each of them: with less, fewer run at the same time


MADE_BY = "habitprint reproduce"
MOST_SHOWN = 4  # comparisons of one claim; of more, only those that are not clear
LEAST_P = 0.001  # below this, more draws say little more


class Store:
    """The results of jobs in a folder, one small JSON file each.

    The name of a file is a hash of everything that decides its result: job, data, seed, version of habitprint, and
    schema.

    Parameters
    ----------
    out
        The folder of the output; the results are in a folder within it.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.experiments.jobs import LeftOut
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     store.put("key", Done(LeftOut("too few users"), seconds=0.5))
    ...     store.get("key"), store.get("other")
    (Done(result=LeftOut(why='too few users'), seconds=0.5), None)
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / FOLDER / f"{version('habitprint')}-{SCHEMA}"

    def make(self) -> None:
        """Make the folder, if it is not there: not before there is something to be written, so that none is left."""
        if not self.folder.is_dir():
            with telling_of(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.out / FOLDER / NOTE).write_text(WORDS, encoding="utf-8")

    def get(self, key: str) -> Done | None:
        """Return the result that is kept under a key; None if there is none, or it was damaged."""
        try:
            return Done.from_text(read_text(self.folder / f"{key}.json", why="it is a result"))
        except (ValueError, KeyError, TypeError, RecursionError, zlib.error, msgspec.MsgspecError):
            return None

    def put(self, key: str, done: Done) -> None:
        """Keep a result."""
        self.make()
        write_text(self.folder / f"{key}.json", done.to_text(), overwrite=True)


def make_output(out: Path, *, force: bool = False) -> Store:
    """Make the folder of the output, or go on in one that is ours; refuse any other.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = make_output(Path(folder) / "paper")
    ...     make_output(Path(folder) / "paper").folder == store.folder
    True
    """
    check_folder(out, overwrite=True)
    if out.is_dir() and not (out / FOLDER / NOTE).is_file() and not force and any(out.iterdir()):
        raise InputError(
            f"{out} holds files that habitprint reproduce did not write",
            why="tables and figures of the same names would be overwritten",
            fix="give a new or an empty folder, or add --force",
        )
    return Store(out)


def run_jobs(
    jobs: Sequence[Job],
    shared: SharedData,
    store: Store,
    *,
    seed: int = 0,
    n_workers: int | None = None,
    max_memory: float = MEMORY,
    progress: Progress = silent,
) -> dict[Job, tuple[Done, bool]]:
    """Return for each job its result, and whether it was computed now.

    A result that is kept already is not computed again. Jobs that measure time run alone. A stop
    (``KeyboardInterrupt``, or an error of any job) loses nothing that is complete.

    Parameters
    ----------
    jobs
        The jobs to run; repeated jobs run once.
    shared
        The data.
    store
        The store of results.
    n_workers
        Threads; None for as many as there are cores and there is memory for. Results do not depend on it.
    max_memory
        Bytes, of all matchings that run at the same time.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> from habitprint.experiments.jobs import Setting
    >>> jobs = [Job(data="web", setting=Setting(n_users=20), weight=weight) for weight in ("l1", "dot")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shared, store = SharedData(find_sources(Folders())), Store(Path(folder))
    ...     first = [is_new for _, is_new in run_jobs(jobs, shared, store).values()]
    ...     again = [is_new for _, is_new in run_jobs(jobs, shared, store).values()]
    >>> first, again
    ([True, True], [False, False])
    """
    keys = {job: job.key(shared.sources[job.data].fingerprint, seed) for job in jobs}
    found = {job: (kept, False) for job, key in keys.items() if (kept := store.get(key)) is not None}
    missing, n_kept = [job for job in keys if job not in found], len(found)

    def work(job: Job, at_once: int, watch: Progress) -> None:
        done = measure(job, shared, seed, max_memory=max_memory / at_once, progress=watch)
        store.put(keys[job], done)  # here, so that a stop loses nothing that is complete
        found[job] = done, True

    def tick(*_: object, **__: object) -> None:
        progress("computing", len(found) - n_kept, len(missing))

    n_at_once = n_workers or max(1, min(os.cpu_count() or 1, int(max_memory // LEAST_MEMORY)))
    for is_alone, at_once in ((False, n_at_once), (True, 1)):
        group = [job for job in missing if (job.task == "timing") == is_alone]
        run_parallel([partial(work, job, at_once) for job in group], tick, n_threads=at_once)
        tick()  # jobs that end between two updates report no progress themselves
    return {job: found[job] for job in keys}


@dataclass(frozen=True)
class UsedData:
    """Where data of a report comes from, and how many of its rows were not used, by reason."""

    data: DataName
    kind: DataKind
    words: str
    unused: dict[str, int]


@dataclass(frozen=True)
class Report:
    """The results of one experiment, for the index.

    Parameters
    ----------
    name, title
        The name and the title of the experiment.
    files
        The written files, by name within the folder.
    sources
        The sources of the data.
    findings
        The claims of the paper, or yours, with their verdicts.
    skipped
        Why parts of it are missing.
    n_results, n_computed
        Results that went into it, and how many of them were computed now.
    seconds
        Seconds of work for all its results, whenever they were computed.
    repeats, seed
        The largest number of draws of users, and the seed.
    notes
        What is to be noted about its data: choices, differences, fewer users than the paper's.
    """

    name: str
    title: str
    files: tuple[str, ...]
    sources: tuple[UsedData, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]
    n_results: int
    n_computed: int
    seconds: float
    repeats: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def is_from_twin(self) -> bool:
        """Return whether some of its data is synthetic."""
        return any(source.kind == "twin" for source in self.sources)

    @property
    def is_own(self) -> bool:
        """Return whether it is about your events, and so not about the paper."""
        return all(source.kind == "yours" for source in self.sources)

    def verdict_words(self, finding: Finding) -> str:
        """Return a verdict for people."""
        if finding.verdict == "leans":
            whose = "the claimed" if self.is_own else "the paper's"
            return f"in {whose} direction, within the noise"
        return "within the noise" if finding.verdict == "undecided" else finding.verdict


def mark(finding: Finding) -> str:
    """Return the sign of a verdict; in brackets if it is of a synthetic twin.

    Examples
    --------
    >>> [mark(Finding("it leads", "holds", (), basis)) for basis in ("real", "twin", "fitted")]
    ['✓', '(✓)', '(✓, fitted)']
    """
    return BASES[finding.basis][0].format(SIGNS[finding.verdict])


def judge(experiment: Experiment, runs: Sequence[Run], sources: Mapping[DataName, DataSource]) -> list[Finding]:
    """Return a verdict on each claim for each kind of data: real, synthetic, and synthetic fitted to this figure."""

    def basis(run: Run) -> Basis:
        kind = sources[run.job.data].kind
        if kind == "twin":
            return "fitted" if run.job.data in experiment.fitted else "twin"
        return "yours" if kind == "yours" else "real"

    of_basis = groups(runs, basis)
    return [
        msgspec.structs.replace(claim.judge(some), basis=kind)
        for claim in experiment.claims
        for kind, some in of_basis.items()
    ]


def finding_words(finding: Finding) -> str:
    """Return the comparisons of a finding as text: all if they are few, else those that are not clear.

    Examples
    --------
    >>> finding_words(Finding("it leads", "leans", (Comparison("web", 0.147, 0.146, 0.001, 0.4, 0.6),)))
    'web: 14.7% against 14.6% (too close to tell, p = 0.4)'
    """
    every = finding.comparisons
    if len(every) <= MOST_SHOWN:
        return "; ".join(map(_comparison_words, every)) or "nothing to compare"
    unclear = [one for one in every if one.p_more > CHANCE]
    n_clear = f"clear in {len(every) - len(unclear)} of {len(every)} comparisons"
    return "; ".join([n_clear, *map(_comparison_words, unclear)])


def _comparison_words(one: Comparison) -> str:
    p = min(one.p_more, one.p_less)
    sign, shown = ("<", LEAST_P) if p < LEAST_P else ("≤" if p == CHANCE else "=", p)  # of an interval, only a bound
    tested = "" if p in (0, 1) else f"p {sign} {shown:.2g}"
    clear = "" if one.p_more <= CHANCE else "the other way" if one.p_less <= CHANCE else "too close to tell"
    about = ", ".join(filter(None, (clear, tested)))
    where = f"{one.where}: " if one.where else ""
    return f"{where}{tenths(one.first)} against {tenths(one.second)}" + (f" ({about})" if about else "")


@dataclass(frozen=True)
class Reproduction:
    """The results of a run: a report for each experiment, and how many seconds it took."""

    reports: tuple[Report, ...]
    seconds: float

    def to_json(self) -> dict[str, object]:
        """Return it as index.json has it."""
        facts = {"made_by": MADE_BY, "seconds": round(self.seconds, 2), "versions": versions()}
        return {**facts, "experiments": msgspec.to_builtins(self.reports)}


def write_experiment(
    experiment: Experiment,
    done: Mapping[Job, Done],
    sources: Mapping[DataName, DataSource],
    out: Path,
    *,
    seed: int,
    n_computed: int,
) -> Report:
    """Write the table, the picture and the page of an experiment, from the results of its jobs."""
    # Slow to import, because they draw.
    from habitprint.experiments.layouts import LAYOUTS, Evidence  # noqa: PLC0415
    from habitprint.plots import chart_output  # noqa: PLC0415

    name, own = experiment.name, {job: done[job] for job in experiment.jobs() if job in done}
    evidence = Evidence(experiment, own, sources)
    outputs: list[Output] = []
    page = [f"# {experiment.title}", "", experiment.about, ""]
    if any(not isinstance(one.result, LeftOut) for one in own.values()):
        rendered = LAYOUTS[experiment.layout](evidence)
        outputs = [table_output(rendered.table, out / f"{name}.csv")]
        if rendered.chart is not None:
            outputs += [chart_output(rendered.chart, out / f"{name}{ending}") for ending in (".svg", ".png")]
            page += [f"![{experiment.title}]({name}.svg)", ""]
        page += [*rendered.markdown, ""]
    # Attacks, if there are any, list the rows that were not used.
    unused = {run.job.data: run.result.unused for run in reversed(evidence.runs)}
    report = Report(
        name=name,
        title=experiment.title,
        files=(*(output.path.name for output in outputs), f"{name}.md"),
        sources=tuple(
            UsedData(data, sources[data].kind, sources[data].words, unused.get(data, {})) for data in evidence.data
        ),
        findings=tuple(judge(experiment, evidence.runs, sources)),
        skipped=tuple(evidence.skipped),
        n_results=len(own),
        n_computed=n_computed,
        seconds=sum(one.seconds for one in own.values()),
        repeats=max((run.job.repeat for run in evidence.runs), default=0) + 1,
        seed=seed,
        notes=tuple(evidence.notes),
    )
    page += _notes(report)
    outputs.append(text_output(out / f"{name}.md", "\n".join(page) + "\n"))
    write_all(outputs, overwrite=True)
    return report


def _notes(report: Report) -> list[str]:
    notes = []
    if report.findings:
        notes += [f"## What {'was to be checked' if report.is_own else 'the paper says, checked on this result'}", ""]
        notes += [
            f"- {mark(one)} {one.claim}: **{report.verdict_words(one)}**{BASES[one.basis][1]}. {finding_words(one)}"
            for one in report.findings
        ]
        notes += ["", fixed_text("rule of verdicts"), ""]
    notes += ["## Where this comes from", ""]
    if report.is_from_twin:
        notes.append(f"- {fixed_text('reproduced from a synthetic twin')}")
    notes += [f"- {note}" for note in report.notes]
    for source in report.sources:
        unused = f"; rows not used: {in_words(source.unused)}" if source.unused else ""
        notes.append(f"- {source.data} ({source.kind}): {source.words}{unused}")
    notes += [f"- skipped: {sentence}" for sentence in report.skipped]
    draws = f", up to {report.repeats} draws of users" if report.repeats > 1 else ""
    notes.append(f"- seed {report.seed}{draws}; {report.n_results:,} results, {report.seconds:,.1f} s of work")
    notes.append(f"- {versions_in_words()}")
    return notes


def write_index(made: Reproduction, out: Path) -> None:
    """Write index.md and index.json; outputs of earlier runs in the same folder stay listed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_index(Reproduction((), seconds=1.0), Path(folder))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['index.json', 'index.md']
    """
    new = {report.name for report in made.reports}
    earlier = (report for report in read_index(out) if report.name not in new)
    every = Reproduction((*made.reports, *earlier), made.seconds)
    facts = printable_json(json.dumps(every.to_json(), ensure_ascii=False, indent=2)) + "\n"
    page = "\n".join(_index_page(every.reports, made))
    write_all([text_output(out / f"{INDEX}.json", facts), text_output(out / f"{INDEX}.md", page)], overwrite=True)


def read_index(out: Path) -> list[Report]:
    """Return the entries of index.json; nothing if it is missing or unreadable.

    Examples
    --------
    >>> read_index(Path("nowhere"))
    []
    """
    try:
        return msgspec.json.decode(read_text(out / f"{INDEX}.json", why="it lists results"), type=_Index).experiments
    except (InputError, RecursionError, msgspec.MsgspecError):
        return []


class _Index(msgspec.Struct):
    experiments: list[Report]


def _index_page(every: Sequence[Report], made: Reproduction) -> list[str]:
    page = ["# Tables and figures", ""]
    if any(report.is_from_twin for report in every):
        page += [fixed_text("reproduced from a synthetic twin"), ""]
    page += ["| result | data | what is said to hold | draws, seed |", "|---|---|---|---|"]
    for report in every:
        kinds = ", ".join(f"{source.data} ({source.kind})" for source in report.sources) or "none: left out"
        said = "<br>".join(f"{mark(one)} {one.claim}: {report.verdict_words(one)}" for one in report.findings)
        how = f"{report.repeats}, {report.seed}"
        page.append(f"| [{report.title}]({report.name}.md) | {kinds} | {said} | {how} |")
    skipped = dict.fromkeys(sentence for report in every for sentence in report.skipped)
    page += ["", *(f"Left out: {sentence}" for sentence in skipped), ""]
    page.append(
        f"The last run took {made.seconds:,.0f} s for {len(made.reports)} of these, with "
        f"{sum(report.n_results for report in made.reports):,} results; "
        f"{sum(report.n_computed for report in made.reports):,} of them were computed in it."
    )
    return [*page, "", f"{versions_in_words()}.", ""]


def reproduce(
    experiments: Sequence[Experiment],
    sources: Mapping[DataName, DataSource],
    store: Store,
    out: Path,
    *,
    seed: int = 0,
    n_workers: int | None = None,
    max_memory: float = MEMORY,
    progress: Progress = silent,
) -> Reproduction:
    """Compute experiments and write their files into a folder, each as soon as its results are complete.

    Parameters
    ----------
    experiments
        The experiments to run: those of `PAPER`, or your own.
    sources
        The data, by name: see `find_sources`.
    store, out
        The store of results, and the folder of files: see `make_output`.
    seed
        Draws users, and decides among equally good matchings.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.experiments import PAPER, Folders, find_sources, make_output
    >>> table = next(one for one in PAPER if one.name == "figure-popularity")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder) / "paper"
    ...     made = reproduce([table], find_sources(Folders()), make_output(out), out)
    ...     made.reports[0].files
    ('figure-popularity.csv', 'figure-popularity.svg', 'figure-popularity.png', 'figure-popularity.md')
    """
    start = time.perf_counter()
    shared, reports = SharedData(sources), []
    for experiment in experiments:
        jobs = [job for job in experiment.jobs() if sources[job.data].kind != "none"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSharedPlaceWarning)  # some figures keep so few places on purpose
            found = run_jobs(
                jobs, shared, store, seed=seed, n_workers=n_workers, max_memory=max_memory, progress=progress
            )
        store.make()
        done, n_computed = {job: one for job, (one, _) in found.items()}, sum(is_new for _, is_new in found.values())
        reports.append(write_experiment(experiment, done, sources, out, seed=seed, n_computed=n_computed))
    made = Reproduction(tuple(reports), time.perf_counter() - start)
    store.make()
    write_index(made, out)
    return made
