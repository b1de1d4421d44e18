"""Run the notebooks of ``examples/`` and store what they show: ``python scripts/notebooks.py [--check] [NAME …]``.

With ``--check`` nothing is stored: it ends with 1 where a notebook shows something else than it holds. What is stored
does not depend on who ran them where: no paths, no times, no numbers of processes.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

EXAMPLES = Path(__file__).parents[1] / "examples"
LONGEST = 300  # seconds for a cell
KERNEL = "python3"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
    "language_info": {"name": "python"},
}


def run(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with what its cells show; an error in a cell is one here."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:  # what is shown passes through no network, and not to another notebook
        local = Config({"KernelManager": {"transport": "ipc", "ip": str(Path(folder) / "kernel")}})
        NotebookClient(notebook, kernel_name=KERNEL, timeout=LONGEST, config=local).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
    return notebook


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the plain text that the cells of a notebook show."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]


def main() -> None:
    """Run all notebooks, or those that are named."""
    named = [word for word in sys.argv[1:] if word != "--check"]
    is_check = "--check" in sys.argv
    for name in named or sorted(path.stem for path in EXAMPLES.glob("*.ipynb")):
        path = EXAMPLES / f"{name}.ipynb"
        done = run(path)
        if not is_check:
            path.write_text(nbformat.writes(done) + "\n", encoding="utf-8")
        elif shown(done) != shown(nbformat.read(path, as_version=4)):
            sys.exit(f"{path.name} shows something else than it holds: run python scripts/notebooks.py {name}")
        print(f"ran {path.name}")


if __name__ == "__main__":
    main()
