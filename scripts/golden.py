"""Write anew what tests and examples read: the stored audit of a small town."""

import habitprint as hp


def main() -> None:
    """Audit the town, and store the facts."""
    found = hp.audit(hp.datasets.town(12, 5), noise=False)
    hp.datasets.AUDIT_OF_TOWN.write_text(found.to_text() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
