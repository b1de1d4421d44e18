"""Which commands do what an audit advises."""

import shlex
from pathlib import Path
from typing import Any

from habitprint.audit.audit import MAPPING, Audit


def commands_to_protect(found: Audit, files: list[str], out: Path, given: dict[str, Any]) -> list[str]:
    """Return the commands that protect the release as the audit advises; from events, it is counted first.

    Parameters
    ----------
    found
        What the audit found.
    files
        What was audited: one table of events, or two of histograms.
    out
        The folder of the audit, which holds the mapping to coarser places.
    given
        The options for events, by name, as they were given.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(200, 30), target=0.1, noise=False)
    >>> len(commands_to_protect(found, ["week1.csv", "week2.csv"], Path("audit"), {}))
    1
    """
    if found.verdict.protection is None or found.protections.chosen is None:
        return []
    # Named after the audit, so that two of them in one folder are not mistaken for each other.
    released, known, key, safer = (
        shlex.quote(f"{out.resolve().name}-{name}")
        for name in ("released.parquet", "known.parquet", "key.csv", "safer.parquet")
    )
    options = found.protections.trials[found.protections.chosen].command_with(shlex.quote(str(out / MAPPING)))
    protect = f"{options} --pseudonyms {key} --out {safer}"  # a release has no names
    if len(files) > 1:
        return [f"habitprint protect {shlex.quote(files[0])} {protect}"]
    words = [name if value is True else f"{name} {_quoted(value)}" for name, value in given.items() if value]
    words += [(found.data.events and found.data.events.periods_command) or "", f"--released {released} --known {known}"]
    split = " ".join(["habitprint split", shlex.quote(files[0]), *filter(None, words)])
    return [split, f"habitprint protect {released} {protect}"]


def _quoted(value: object) -> str:
    return shlex.quote(f"{value:g}" if isinstance(value, float) else str(value))
