"""Write anew what tests and examples read: the stored audit of a small town, and one golden page of each renderer."""

import sys
from pathlib import Path

import habitprint as hp

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from golden_pages import GOLDEN, pages


def main() -> None:
    """Audit the town, store the facts, and render the pages."""
    found = hp.audit(hp.datasets.town(12, 5), noise=False)
    hp.datasets.AUDIT_OF_TOWN.write_text(found.to_text() + "\n", encoding="utf-8")
    for name, text in pages().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
