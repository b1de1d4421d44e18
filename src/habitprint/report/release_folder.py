"""The folder of a release: what may be published, and apart from it what stays internal."""

import os
from pathlib import Path

from habitprint.auditing.audit import Audit
from habitprint.auditing.compare import compare
from habitprint.auditing.releasing import INTERNAL, PUBLISH, ReleaseFolder, ToRelease, release_table
from habitprint.io.files import OWNERS_FOLDER, new_folder
from habitprint.progress import Progress, ProgressBar
from habitprint.report.render import write_audit, write_comparison
from habitprint.wording.compare import BEFORE_AND_AFTER
from habitprint.wording.releases import tell_release

COMPARED = "compared.html"


def release(
    audit: Audit | ToRelease,
    folder: str | os.PathLike[str],
    *,
    command: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Protect an audited table as its audit recommends, audit the written file, and write everything into one folder.

    ``publish/`` has the protected table and its JSON file: publish these two. ``internal/`` has the key, the owner's
    file, the report, the comparison with the unprotected table, and the record to sign. The folder appears when all
    files are complete. If the written table misses the target, there is no folder.

    Parameters
    ----------
    audit
        An audit that recommends a protection, made by `habitprint.audit` in this process.
    folder
        A new or empty folder. If `overwrite` is true, an earlier release there is replaced.
    command
        The command line that made the release, for the record.
    progress
        A function that is called now and then with the progress of the work. None shows a bar in a terminal or in a
        notebook.

    Returns
    -------
    Audit
        The audit of the written file. The attacker and all options are those of the first audit.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(40, 6), target=0.5, noise=False)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     final = release(found, Path(place) / "april")
    ...     sorted(os.listdir(Path(place) / "april" / "publish"))
    ['april.parquet', 'april.parquet.json']
    >>> final.verdict.passes
    True
    """
    start = audit if isinstance(audit, ToRelease) else ToRelease.of(audit)
    folder = Path(folder)
    if progress is None:
        with ProgressBar() as shown:
            return release(start, folder, command=command, overwrite=overwrite, progress=shown)
    with new_folder(folder, entries=(PUBLISH, INTERNAL), overwrite=overwrite) as made:
        files = ReleaseFolder.of(made)
        files.table.parent.mkdir()
        files.internal.mkdir(mode=OWNERS_FOLDER)
        final = release_table(start, files.table, files.key, command=command, tell=tell_release, progress=progress)
        progress("writing", 0, 1)
        write_audit(final, files.internal, overwrite=True)
        write_comparison(compare([start.audit, final], BEFORE_AND_AFTER), files.internal / COMPARED)
    return final
