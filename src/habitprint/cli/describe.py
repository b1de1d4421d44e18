"""Say what was found in words and tables for people."""

from decimal import ROUND_CEILING, Context

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from habitprint.evaluation import Evaluation
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.matching import Matching
from habitprint.words import counted, percent

FIRST = 10  # pairs shown


def gap_and_share(gap: float) -> tuple[str, str]:
    """Return a gap rounded up, and the share of the best gain that is surely reached, rounded down.

    A proof must not promise more than was proven: 99.97% is not 100.0%.

    Examples
    --------
    >>> gap_and_share(0.0034559), gap_and_share(0.0003), gap_and_share(0.0)
    (('0.0035', '99.65%'), ('0.0003', '99.97%'), ('0', '100%'))
    """
    rounded = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(gap)
    share = f"{100 - 100 * rounded:f}"
    return f"{float(rounded):.2g}", (share.rstrip("0").rstrip(".") if "." in share else share) + "%"


def rate_with_interval(rate: float | None, interval: tuple[float, float] | None, by_chance: float | None) -> str:
    """Return a rate as text, never without its interval and baseline.

    Examples
    --------
    >>> rate_with_interval(0.5, (0.25, 0.75), 0.01)
    '50%  (95% interval 25% to 75%; by chance 1%)'
    >>> rate_with_interval(None, None, None)
    'not defined'
    """
    if rate is None or interval is None or by_chance is None:
        return "not defined"
    low, high = map(percent, interval)
    return f"{percent(rate)}  (95% interval {low} to {high}; by chance {percent(by_chance)})"


def printable(value: object) -> str:
    r"""Return an id as text that cannot move the cursor or break a line.

    Examples
    --------
    >>> printable("a\nb"), printable(7)
    ('a\\nb', '7')
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value))


def number(value: float) -> str:
    """Return a number of users with a decimal only where it is not whole.

    Examples
    --------
    >>> number(12.0), number(9927.25)
    ('12', '9,927.2')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def facts(rows: list[tuple[str, str]]) -> Table:
    """Return names and values side by side.

    Examples
    --------
    >>> facts([("pairs", "4")]).row_count
    1
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column()
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def describe_matching(
    matching: Matching, released: Histograms, known: Histograms, n_shared: int, result: Evaluation | None = None
) -> RenderableType:
    """Return what was matched, how, what is proven about it, and how many users it identifies.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> describe_matching(hp.match(released, known), released, known, 3).row_count
    5
    """
    guesses = f", {matching.n_guesses:,} of them without a shared place: guesses" if matching.n_guesses else ""
    if matching.gap is None:
        how = f"{matching.method}, {matching.direction}"
        proof = "none: one by one optimises no total"
    else:
        how = matching.method
        gap, share = gap_and_share(matching.gap)
        proof = "optimal" if matching.is_exact else f"at least {share} of the best gain"
        proof = f"{proof}: no {counted(matching.size, 'pair')} can gain more than {matching.bound:.10g} (gap {gap})"
    return facts(
        [
            ("released", f"{_extent(released)}, {n_shared:,} of them known"),
            ("known", _extent(known)),
            ("pairs", f"{matching.size:,}{guesses}"),
            ("total weight", f"{matching.total_weight:.10g}  ({matching.weight_name}, {how}, seed {matching.seed})"),
            ("proof", proof),
            *([] if result is None else _evaluation_facts(result)),
        ]
    )


def _extent(side: Histograms) -> str:
    return f"{counted(side.n_users, 'user')}, {counted(side.n_places, 'place')}"


def _evaluation_facts(result: Evaluation) -> list[tuple[str, str]]:
    accuracy = rate_with_interval(result.accuracy, result.accuracy_interval, result.accuracy_random)
    precision = rate_with_interval(result.precision, result.precision_interval, result.precision_random)
    cluster = rate_with_interval(
        result.cluster_accuracy, result.cluster_accuracy_interval, result.cluster_accuracy_random
    )
    return [
        ("identified", f"{number(result.expected_correct)} of {counted(result.n_common, 'common user')}"),
        ("accuracy", accuracy),
        ("precision", precision),
        ("cluster accuracy", cluster),
    ]


def describe_pairs(matching: Matching) -> RenderableType:
    """Return the pairs with the smallest weights as a table, and say how many there are in all.

    Examples
    --------
    >>> import habitprint as hp
    >>> describe_pairs(hp.match(*hp.datasets.illustration())).renderables[0].row_count
    4
    """
    pairs = matching.to_table().sort("weight", "released", maintain_order=True)
    table = Table(title="The smallest weights", title_justify="left", title_style="bold")
    table.add_column("released")
    table.add_column("known")
    table.add_column("weight", justify="right")
    for released, known, weight, _, is_guess in pairs.head(FIRST).iter_rows():
        table.add_row(Text(printable(released)), Text(printable(known)), "guess" if is_guess else f"{weight:.4f}")
    more = matching.size - FIRST
    return Group(table, Text(f"… and {more:,} more; --out pairs.csv writes them all" if more > 0 else ""))


def n_shared_places(released: Histograms, known: Histograms) -> int:
    """Return how many places are on both sides.

    Examples
    --------
    >>> n_shared_places(Histograms.from_strings({1: "ab"}), Histograms.from_strings({1: "bc"}))
    1
    """
    return int((positions(released.places, known.places) >= 0).sum())


def print_caveats(
    notes: Console, released: Histograms, known: Histograms, n_shared: int, result: Evaluation | None = None
) -> None:
    """Print what a person should know before believing the numbers.

    Examples
    --------
    >>> import habitprint as hp
    >>> print_caveats(Console(), *hp.datasets.illustration(), 3)
    """
    for caveat in _caveats(released, known, n_shared, result):
        notes.print(f"[yellow]note:[/yellow] {caveat}", soft_wrap=True)


def _caveats(released: Histograms, known: Histograms, n_shared: int, result: Evaluation | None) -> list[str]:
    notes = []
    fewer = min(released.n_places, known.n_places)
    if n_shared == 0:
        notes.append(
            "the two tables have no place in common, so every pair is a guess. "
            "Check that both name their places in the same way."
        )
    elif n_shared < fewer / 2:
        notes.append(
            f"only {n_shared:,} of {fewer:,} places are in both tables. "
            "Check that both name their places in the same way (case, spaces, leading zeros)."
        )
    if released.to_table().equals(known.to_table()):
        notes.append("both tables are the same. An attack knows another period; this says nothing about it.")
    if result is not None and result.n_ignored:
        notes.append(
            f"ignored: {counted(result.n_ignored, 'row')} of the truth, about users who are not in both tables."
        )
    return notes
