"""Settings of all tests, files that several of them begin with, and a browser to read pages in."""

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import habitprint as hp
from audits import only_groups, read_canonical
from habitprint.io.tables import write_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No test depends on how fast the machine is, or on the day; `make fuzz` asks the same laws about examples of its own.
settings.register_profile("habitprint", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("nightly", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("fuzz", deadline=None, max_examples=500, print_blob=True)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)  # of `make check`
settings.load_profile("habitprint")

OF_AUDITS = ("auditing", "report")
# Java translates its code to run for days; tests take minutes, and half the time without.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs Spark, and examples in docstrings that make a whole audit first."""
    for item in items:
        is_example = isinstance(item, pytest.DoctestItem)
        if item.path.parent.name == "spark" or (is_example and item.path.parent.name in OF_AUDITS):
            item.add_marker(pytest.mark.slow)


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Give all that needs Spark to one worker, files that begin with an audit as a whole, all else to whoever is free.

    The mark `xdist_group` would say the same, but its groups are lost with pytest 9.2 (pytest-xdist 3.8, issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", maxsplit=1)[0]
        folder = PurePosixPath(file).parent.name
        if folder == "spark":
            return folder
        return file if folder in OF_AUDITS else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneSpark | None:
    """Choose who runs what where the Makefile asks for groups."""
    return OneSpark(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep nothing in the cache folder of whoever runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def folder_of_audits(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder that all workers share, for the audits that are made once a run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "audits"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def found(folder_of_audits: Path) -> hp.Audit:
    """Return the facts of an audit of two tables, which misses its target and has advice."""
    return read_canonical("town", folder_of_audits)


@pytest.fixture
def few_protections() -> Iterator[None]:
    """Let audits of a test try plain groups only."""
    with only_groups():
        yield


@pytest.fixture
def town(tmp_path: Path) -> tuple[str, str]:
    """Return the names of two tables of histograms, released and known."""
    files = tmp_path / "released.csv", tmp_path / "known.parquet"
    for file, side in zip(files, hp.datasets.town(50, 15, seed=1), strict=True):
        write_table(side.to_table(), file)
    return str(files[0]), str(files[1])


@pytest.fixture(autouse=True)
def _one_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody start another Spark where one is needed; commands, which are processes of their own, start quickly."""
    if request.path.parent.name == "spark":
        monkeypatch.setenv("SPARK_SUBMIT_OPTS", QUICK_START)
        request.getfixturevalue("spark")


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Hold one Spark application, on two threads of this machine, for all tests that need one."""
    from habitprint.backends.spark.session import connected, require_java  # noqa: PLC0415 - few tests need it

    try:
        require_java()
    except hp.InputError as error:
        pytest.skip(f"{error.what}: run scripts/install-java as root")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",  # small plans gain nothing from being made anew
        "spark.sql.codegen.wholeStage": "false",  # plans are compiled for long work, and tests have little
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK_START,
    }
    with connected("local[2]", settings=settings) as session:
        yield session


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed: run scripts/install-browser as root")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield started
        started.close()
