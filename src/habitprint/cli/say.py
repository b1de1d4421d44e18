"""Say what was found in words and tables for people."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from habitprint.evaluation import Evaluation
from habitprint.histograms import Histograms, caveats, n_shared_places
from habitprint.matching import Matching
from habitprint.matching.proof import gap_and_share
from habitprint.words import counted, number

FIRST = 10  # pairs shown


def printable(value: object) -> str:
    r"""Return an id as text that cannot move the cursor or break a line.

    Examples
    --------
    >>> printable("a\nb"), printable(7)
    ('a\\nb', '7')
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value))


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
    matching: Matching, released: Histograms, known: Histograms, result: Evaluation | None = None
) -> RenderableType:
    """Return what was matched, how, what is proven about it, and how many users it identifies.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> describe_matching(hp.match(released, known), released, known).row_count
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
            ("released", f"{_extent(released)}, {n_shared_places(released, known):,} of them known"),
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
    rates = {
        "accuracy": result.accuracy_rate,
        "precision": result.precision_rate,
        "cluster accuracy": result.cluster_rate,
    }
    return [
        ("identified", f"{number(result.expected_correct)} of {counted(result.n_common, 'common user')}"),
        *((name, "not defined" if rate is None else rate.words) for name, rate in rates.items()),
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


def print_copied(notes: Console, copied: Sequence[str] | None) -> None:
    """Say what was done to the known side, if anything was.

    Examples
    --------
    >>> print_copied(Console(width=200), ["rounded counts to 5"])
    note: the known side was changed by what anyone can copy of the release: rounded counts to 5 (--as-is: not)
    """
    if copied:
        words = f"the known side was changed by what anyone can copy of the release: {'; '.join(copied)} (--as-is: not)"
        _note(notes, words)


def print_chosen(notes: Console, words: str | None) -> None:
    """Say how the weight was chosen, if it was.

    Examples
    --------
    >>> print_chosen(Console(width=200), "Rehearsed on 80 people.")
    note: Rehearsed on 80 people.
    """
    if words is not None:
        _note(notes, words)


def print_caveats(notes: Console, released: Histograms, known: Histograms, result: Evaluation | None = None) -> None:
    """Print what a person should know before believing the numbers.

    Examples
    --------
    >>> print_caveats(Console(), Histograms.from_strings({1: "ab"}), Histograms.from_strings({1: "cd"}))
    note: The two sides have no place in common, so every pair is a guess. Are places named alike?
    """
    for caveat in caveats(released, known):
        _note(notes, caveat.words)
    if result is not None and result.n_ignored:
        _note(
            notes, f"ignored: {counted(result.n_ignored, 'row')} of the truth, about users who are not in both tables."
        )


def _note(notes: Console, words: str) -> None:
    notes.print(f"[yellow]note:[/yellow] {escape(words)}", soft_wrap=True)
