"""Say numbers in words that a person can read."""


def percent(rate: float) -> str:
    """Return a rate as a percentage with enough digits to be told from zero and from all.

    Examples
    --------
    >>> percent(0.211), percent(0.00002), percent(0.0), percent(1.0), percent(0.99912)
    ('21.1%', '0.002%', '0%', '100%', '99.91%')
    """
    value = 100 * rate
    if abs(value - round(value)) < 1e-9:  # noqa: PLR2004  (rounding)
        return f"{round(value)}%"
    if value >= 1 and value <= 99.9:  # noqa: PLR2004  (one digit is enough)
        return f"{value:.1f}%"
    shown = float(f"{value:.2g}") if value < 1 else 100 - float(f"{100 - value:.1g}")
    return f"{shown:f}".rstrip("0").rstrip(".") + "%"


def counted(n: int, thing: str, things: str | None = None) -> str:
    """Return how many things there are, in words that fit one as well as many.

    Examples
    --------
    >>> counted(1, "user"), counted(1200, "user"), counted(2, "person", "people")
    ('1 user', '1,200 users', '2 people')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"
