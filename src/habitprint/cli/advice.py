"""Which commands do what an audit advises."""

import shlex
from pathlib import Path
from typing import Any

from habitprint.audit import Audit
from habitprint.audit.candidates import COARSEN, MAPPING_FILE

PSEUDONYMS = "--pseudonyms key.csv"  # a release has no names


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
    mapped = f"--coarsen {shlex.quote(str(out / MAPPING_FILE))}"
    options = found.protections.trials[found.protections.chosen].command.replace(COARSEN, mapped)
    if len(files) > 1:
        return [f"habitprint protect {shlex.quote(files[0])} {options} {PSEUDONYMS} --out safer.parquet"]
    words = [name if value is True else f"{name} {shlex.quote(str(value))}" for name, value in given.items() if value]
    words += [found.data.periods_command or "", "--released released.parquet --known known.parquet"]
    split = " ".join(["habitprint split", shlex.quote(files[0]), *filter(None, words)])
    return [split, f"habitprint protect released.parquet {options} {PSEUDONYMS} --out safer.parquet"]
