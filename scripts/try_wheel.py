"""Look into the packages of a folder, install the wheel in its own environment, and use it as a newcomer would."""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
COMMANDS = (
    ("--version",),
    ("demo",),
    ("datasets", "make", "cdr", "--users", "300", "--out", "calls.parquet"),
    ("audit", "calls.parquet", "--out", "report"),
)


def main(folder: Path) -> None:
    """Check the packages of `folder`."""
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_content(wheel, archive)
    with tempfile.TemporaryDirectory() as scratch:
        use(wheel, Path(scratch))
    print(f"{wheel.name} and {archive.name} are as they should be")


def check_content(wheel: Path, archive: Path) -> None:
    """Stop if something is missing in the packages, or in them that does not belong there."""
    with zipfile.ZipFile(wheel) as opened:
        in_wheel = set(opened.namelist())
    with tarfile.open(archive) as packed:
        in_archive = {name.partition("/")[2] for name in packed.getnames()}
    source = {
        str(path.relative_to(REPOSITORY / "src"))
        for path in (REPOSITORY / "src").rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".nbi", ".nbc"}
    }
    packaged = {name for name in in_wheel if ".dist-info/" not in name}
    if packaged != source:
        sys.exit(f"the wheel is not what is in src: {sorted(packaged ^ source)}")
    if missing := ({f"src/{name}" for name in source} | {"README.md", "LICENSE", "CHANGELOG.md"}) - in_archive:
        sys.exit(f"the source archive lacks {sorted(missing)}")


def use(wheel: Path, scratch: Path) -> None:
    """Install the wheel and run the first commands of a newcomer."""
    venv.create(scratch / "env", with_pip=True)
    binaries = scratch / "env" / ("Scripts" if os.name == "nt" else "bin")
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint"]
    subprocess.run([binaries / "python", *install, REPOSITORY / "constraints.txt", wheel], check=True)  # noqa: S603
    for command in COMMANDS:
        print("habitprint", *command, flush=True)
        subprocess.run([binaries / "habitprint", *command], check=True, cwd=scratch)  # noqa: S603
    if not (scratch / "report" / "report.html").is_file():
        sys.exit("the audit left no report")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
