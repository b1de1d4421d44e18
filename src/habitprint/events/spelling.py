"""Which ids look like one that was written in several ways: with blanks around it, in capitals, with leading zeros."""

from dataclasses import dataclass

import polars as pl

from habitprint.events.events import Events, require_events
from habitprint.tables import collect

N_EXAMPLES = 3
LEADING_ZEROS = r"^([-+]?)0+(\w)"


@dataclass(frozen=True)
class Spellings:
    """Hold how many ids of one kind look like another one that is written differently.

    Parameters
    ----------
    kind
        ``"user"`` or ``"place"``.
    n_ids
        Ids that look like another.
    n_meant
        What they would be if all that look the same were the same.
    by_blanks, by_case, by_zeros
        How many of `n_ids` would be the same as another without the blanks around them; in small letters; without the
        zeros before them.
    examples
        Some of them.

    Examples
    --------
    >>> import habitprint as hp
    >>> users = ["Jo", "jo ", "007", "7", "Ann"]
    >>> events = hp.events_from_frame({"user": users, "time": ["2012-04-09"] * 5, "place": [1] * 5})
    >>> found = find_spellings(events, "user")
    >>> found.n_ids, found.n_meant, found.by_zeros
    (4, 2, 2)
    """

    kind: str
    n_ids: int
    n_meant: int
    by_blanks: int
    by_case: int
    by_zeros: int
    examples: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> str:
        """Return it in a sentence; nothing where every id is written in one way."""
        if not self.n_ids:
            return ""
        ways = {"blanks around them": self.by_blanks, "capitals": self.by_case, "leading zeros": self.by_zeros}
        how = ", ".join(f"{n:,} but for {way}" for way, n in ways.items() if n) or "several of these at once"
        shown = "; ".join(" and ".join(map(repr, group)) for group in self.examples)
        return (
            f"{self.n_ids:,} ids of {self.kind}s look like {self.n_meant:,} that are written in several ways "
            f"({how}), such as {shown}. They are taken for different {self.kind}s."
        )


def find_spellings(events: Events, kind: str) -> Spellings:
    """Count ids of users or of places that look like another: the same but for blanks around, capitals, leading zeros.

    Nothing is changed: `007` and `7` may well be two people.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": ["a"]})
    >>> find_spellings(events, "user").words
    ''
    """
    require_events(events)
    schema = events.frame.collect_schema()
    if schema.get(kind) != pl.String:  # an integer is written in one way
        return Spellings(kind, 0, 0, 0, 0, 0, ())
    (ids,) = collect([events.usable.select(id=kind).unique()], events.source)
    raw = pl.col("id")
    trimmed, small = raw.str.strip_chars(), raw.str.to_lowercase()
    plain = trimmed.str.to_lowercase().str.replace(LEADING_ZEROS, "${1}${2}")
    ways = ids.with_columns(
        plain=plain, blanks=trimmed, case=small, zeros=raw.str.replace(LEADING_ZEROS, "${1}${2}")
    ).filter(pl.len().over("plain") > 1)
    n = ways.select(
        ids=pl.len(),
        meant=pl.col("plain").n_unique(),
        blanks=pl.col("blanks").is_duplicated().sum(),
        case=pl.col("case").is_duplicated().sum(),
        zeros=pl.col("zeros").is_duplicated().sum(),
    ).row(0, named=True)
    groups = ways.sort("id").group_by("plain").agg(pl.col("id").head(N_EXAMPLES)).sort("plain").head(N_EXAMPLES)
    return Spellings(
        kind,
        n["ids"],
        n["meant"],
        n["blanks"],
        n["case"],
        n["zeros"],
        tuple(tuple(group) for group in groups["id"].to_list()),
    )
