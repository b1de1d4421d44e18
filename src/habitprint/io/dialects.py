"""The format of text tables: separator, decimal mark and encoding, given by the caller or detected, and checked."""

import codecs
import csv
import gzip
import io
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, AnyStr, Literal, TypedDict, get_args

from habitprint.errors import InputError, first_few, require_option
from habitprint.flags import Record, flag

Decimal = Literal[".", ","]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
DECIMALS: dict[Decimal, str] = {".": "decimal point", ",": "decimal comma"}
OTHER_SIGN: dict[Decimal, Decimal] = {".": ",", ",": "."}
UTF_8, CP1252 = "utf-8", "cp1252"
MARKS = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
BIG_ENDIAN = {"utf-16": codecs.BOM_UTF16_BE, "utf-32": codecs.BOM_UTF32_BE}
WIDEST = 4  # bytes of a unit of text: pieces begin at a multiple of it
HEAD = 2 << 20  # bytes at the beginning of a file that are looked at,
N_PIECES, PIECE = 32, 128 << 10  # for a longer file: the number of pieces, spread over the whole file
MOST_COLUMNS = 10_000  # a header with more is none, and takes minutes to look at
LINES_OF_HEAD = 1000  # lines that show the separator, and in which both decimal marks are looked for
FEW_SIGNS = 0.01  # of the numbers with a sign, if they have the other one, are bad rows
MANY_ZEROS = 0.3  # of the bytes in one half of UTF-16 text
COPIED = 1 << 20  # letters at a time
LONGEST_FIELD = 1 << 24
SEP_LINE = re.compile(r'"?sep=(.)"?\s*')  # the line before the header that Excel writes and reads
NUMBER_WITH: dict[Decimal, re.Pattern[str]] = {".": re.compile(r"[-+]?\d*\.\d+"), ",": re.compile(r"[-+]?\d*,\d+")}
# One sign and three digits after it: a fraction, or thousands.
LIKE_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")


class Format(Record, frozen=True, kw_only=True):
    """The format of a file, as far as the caller gives it; a field that is None is detected from the file.

    Parameters
    ----------
    separator
        Separator of the columns of a text file; default: detected.
    decimal
        Decimal mark in a text file; default: detected.
    encoding
        Encoding of a text file, such as utf-8, cp1252 or utf-16; default: detected.
    sheet
        Sheet of an Excel file; default: the only one.
    sql
        Query that returns the table, for a DuckDB or SQLite file or a database address; default: the only table.

    Examples
    --------
    >>> Format(separator="semicolon").mark
    ';'
    >>> Format(encoding="ansi-ish")
    Traceback (most recent call last):
    habitprint.errors.InputError: the encoding 'ansi-ish' is unknown
      why: without a known encoding, habitprint would read wrong letters
      fix: write --encoding utf-8, cp1252 (Windows, western Europe) or utf-16
    """

    separator: Annotated[str | None, flag(metavar="comma|semicolon|tab|pipe")] = None
    decimal: Annotated[Decimal | None, flag()] = None
    encoding: Annotated[str | None, flag()] = None
    sheet: Annotated[str | None, flag()] = None
    sql: Annotated[str | None, flag(metavar="QUERY")] = None

    def __post_init__(self) -> None:
        if self.separator is not None:
            require_option("separator", self.mark, [*SEPARATORS, *SEPARATORS.values()])
        if self.decimal is not None:
            require_option("decimal", self.decimal, get_args(Decimal))
        if self.encoding is not None:
            try:
                b"a".decode(self.encoding, "ignore")
            except (LookupError, ValueError, TypeError) as error:
                raise InputError(
                    f"the encoding {self.encoding!r} is unknown",
                    why="without a known encoding, habitprint would read wrong letters",
                    fix="write --encoding utf-8, cp1252 (Windows, western Europe) or utf-16",
                ) from error

    @property
    def mark(self) -> str | None:
        """Return the sign that separates columns, from any of its names."""
        named = {name: mark for mark, name in SEPARATORS.items()} | {"\\t": "\t"}
        return None if self.separator is None else named.get(self.separator, self.separator)

    @property
    def codec(self) -> str | None:
        """Return the encoding; UTF-8 always has the same name."""
        is_utf8 = self.encoding is not None and codecs.lookup(self.encoding).name == UTF_8
        return UTF_8 if is_utf8 else self.encoding


AS_FOUND = Format()


class FormatKeywords(TypedDict, total=False):
    """The keywords of functions that read files: fields of a `Format`."""

    separator: str | None
    decimal: Decimal | None
    encoding: str | None
    sheet: str | None
    sql: str | None


@dataclass(frozen=True)
class Dialect:
    """The format of a text table: separator, decimal mark, encoding.

    Parameters
    ----------
    separator, decimal, encoding
        See `Format`.
    n_before
        Lines before the header: one if the file begins with Excel's ``sep=`` line.

    Examples
    --------
    >>> Dialect(";", ",", "cp1252").words
    'semicolon, decimal comma, cp1252'
    """

    separator: str = ","
    decimal: Decimal = "."
    encoding: str = UTF_8
    n_before: int = 0

    @property
    def words(self) -> str:
        """Return the format in words; a decimal point is the default and is not mentioned."""
        decimal = () if self.decimal == "." else (DECIMALS[self.decimal],)
        return ", ".join((SEPARATORS[self.separator], *decimal, self.encoding_name))

    @property
    def encoding_name(self) -> str:
        """Return the encoding as people write it."""
        return "UTF-8" if self.encoding == UTF_8 else self.encoding


@dataclass(frozen=True)
class Expected:
    """Expectations about a text table before its first line is read.

    Parameters
    ----------
    usual
        The separator to assume unless the file shows another one.
    columns
        The names of the columns that the caller needs: a separator that yields them is the right one.
    names
        All columns of a file without a header; None where there is one.
    numbers
        Those of the columns that hold numbers.
    degrees
        Those of the numbers that are never thousands.
    index
        The only one of the expected columns that a wide table has: then all others hold numbers.

    Examples
    --------
    >>> Expected(columns=("user", "lat"), numbers=("lat",), degrees=("lat",)).usual
    ','
    """

    usual: str = ","
    columns: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    numbers: tuple[str, ...] = ()
    degrees: tuple[str, ...] = ()
    index: str | None = None


def find_dialect(path: Path, asked: Format = AS_FOUND, expected: Expected | None = None) -> Dialect:
    r"""Return the format of a text table, from a sample of its bytes and from the caller's options.

    The separator is the one that makes most of the expected columns, or else lines of equally many fields. The decimal
    sign is the one that the numbers have; if it could also separate thousands, an error asks for the option. Bytes that
    are not UTF-8 are read as cp1252 if they outnumber the letters that are UTF-8. Later rows are checked while the file
    is read: a number with the other decimal mark, or an invalid letter, makes an invalid row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "points.csv"
    ...     _ = file.write_bytes("user;lat\nJosé;39,98\n".encode("cp1252"))
    ...     find_dialect(file, expected=Expected(columns=("user", "lat"), numbers=("lat",)))
    Dialect(separator=';', decimal=',', encoding='cp1252', n_before=0)
    """
    expected = expected or Expected()
    pieces = _pieces(path)
    is_longer = len(pieces[0]) == HEAD
    encoding = asked.codec or _encoding(_whole_lines(pieces, b"\n", is_longer=is_longer))
    # Cut as text: the bytes of a line's end are those of other letters too, where letters have several bytes.
    texts = [piece.decode(_within(encoding, pieces[0]), "replace") for piece in pieces]
    head, *others = _whole_lines(texts, "\n", is_longer=is_longer)
    head = head.removeprefix("\ufeff")
    first, _, rest = head.partition("\n")
    told = SEP_LINE.fullmatch(first.rstrip("\r"))
    n_before = int(told is not None and told[1] in SEPARATORS)
    body = rest if n_before else head
    separator = asked.mark or (told[1] if told and n_before else _separator(body, expected))
    refuse_wide(body.lstrip().partition("\n")[0].count(separator) + 1, path)
    decimal = asked.decimal
    if decimal is None and expected.numbers:
        decimal = _decimal(body, others, separator, expected, path)
    return Dialect(separator, decimal or ".", encoding, n_before)


def refuse_wide(n_columns: int, path: Path) -> None:
    """Raise `InputError` if a text file has more columns than any real table.

    Examples
    --------
    >>> refuse_wide(3, Path("week1.csv"))
    """
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"cannot read {path}: its first line has {n_columns:,} columns or more",
            why=f"a header has at most {MOST_COLUMNS:,} columns",
            fix="check its first line; a table of counts has one row for each user and place",
        )


def require_same(dialects: Sequence[Dialect], files: Sequence[Path]) -> None:
    """Raise `InputError` unless several files have the same format; their encodings may differ.

    Examples
    --------
    >>> require_same([Dialect(";"), Dialect(",")], [Path("a.csv"), Path("b.csv")])
    Traceback (most recent call last):
    habitprint.errors.InputError: the files have different formats: a.csv (semicolon, UTF-8), but ...
      why: habitprint reads the columns of all files in the same way
      fix: read them one by one, or give the format of all: --separator, --decimal (separator=…, decimal=… in Python)
    """
    for file, dialect in zip(files, dialects, strict=True):
        if (dialect.separator, dialect.n_before) != (dialects[0].separator, dialects[0].n_before):
            raise InputError(
                f"the files have different formats: {files[0]} ({dialects[0].words}), but {file} ({dialect.words})",
                why="habitprint reads the columns of all files in the same way",
                fix="read them one by one, or give the format of all: --separator, --decimal "
                "(separator=…, decimal=… in Python)",
            )


def as_utf8(path: Path, encoding: str, *, errors: Literal["strict", "replace"] = "replace") -> IO[bytes]:
    r"""Return the content of a text file as UTF-8: an unnamed temporary copy that vanishes when it is closed.

    Bytes that cannot be decoded become U+FFFD, or raise an error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write("José\n".encode("cp1252"))
    ...     file.flush()
    ...     with as_utf8(Path(file.name), "cp1252") as copy:
    ...         copy.read().decode()
    'José\n'
    """
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with io.TextIOWrapper(_opened(path), encoding, errors, newline="") as content:
            while chunk := content.read(COPIED):
                # Half of a letter, alone, is no UTF-8, and must not become something that looks like a letter.
                copy.write(chunk.encode(UTF_8, "surrogatepass"))
        copy.seek(0)
    except BaseException:
        copy.close()
        raise
    return copy


def find_mark(path: Path) -> str | None:
    """Return the encoding by the byte-order mark of a text file; None without a mark.

    Examples
    --------
    >>> find_mark(Path(__file__)) is None
    True
    """
    with _opened(path) as content:
        return _marked(content.read(max(map(len, MARKS))))


def _marked(begin: bytes) -> str | None:
    return next((encoding for mark, encoding in MARKS.items() if begin.startswith(mark)), None)


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _pieces(path: Path) -> list[bytes]:
    """Return the beginning of a file, and of a longer one pieces from all over it, cut anywhere between whole units."""
    with _opened(path) as content:
        pieces = [content.read(HEAD)]
        size = 0 if path.suffix.lower() == ".gz" else path.stat().st_size
        # A compressed file would have to be read to the end for them.
        for number in range(1, N_PIECES + 1) if size > HEAD + N_PIECES * PIECE else ():
            at = HEAD + (size - HEAD - PIECE) * number // N_PIECES
            content.seek(at - at % WIDEST)
            pieces.append(content.read(PIECE))
        if HEAD < size <= HEAD + N_PIECES * PIECE:
            pieces.append(content.read())
    return pieces


def _whole_lines(pieces: Sequence[AnyStr], end: AnyStr, *, is_longer: bool) -> list[AnyStr]:
    r"""Return pieces without the parts of lines at their edges; the first one begins with a line.

    Examples
    --------
    >>> _whole_lines(["user\nJo\nA", "n\nBo\nC"], "\n", is_longer=True)
    ['user\nJo\n', 'Bo\n']
    """
    head = pieces[0]
    whole = (head[: head.rfind(end) + 1] or head) if is_longer else head
    return [whole] + [piece[piece.find(end) + 1 : piece.rfind(end) + 1] for piece in pieces[1:]]


def _within(encoding: str, head: bytes) -> str:
    """Return the encoding for any piece of a file, because the byte-order mark is only at its beginning.

    Examples
    --------
    >>> _within("utf-16", codecs.BOM_UTF16_BE), _within("utf-16", codecs.BOM_UTF16_LE), _within("cp1252", b"")
    ('utf-16-be', 'utf-16-le', 'cp1252')
    """
    name = codecs.lookup(encoding).name
    big = BIG_ENDIAN.get(name)
    if big is None:
        return encoding
    return f"{name}-be" if head.startswith(big) else f"{name}-le"


def _encoding(pieces: Sequence[bytes]) -> str:
    r"""Return the encoding of text.

    Examples
    --------
    >>> [_encoding([text]) for text in (b"a", "é".encode(), "é".encode("cp1252"), "user".encode("utf-16-le"))]
    ['utf-8', 'utf-8', 'cp1252', 'utf-16-le']
    """
    head = pieces[0]
    marked = _marked(head)
    if marked is not None:
        return marked
    begin = head[:1000]
    half = len(begin) // 2
    zeros = [begin[first::2].count(0) for first in (0, 1)]
    if half and max(zeros) > MANY_ZEROS * half > 10 * min(zeros):
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    n_letters = n_broken = 0
    for piece in pieces:
        if not piece.isascii():
            text = piece.decode(UTF_8, "replace")
            broken = text.count("\ufffd")
            n_broken += broken - piece.count("\ufffd".encode())
            n_letters += len(text) - len(text.encode("ascii", "ignore")) - broken
    if n_broken <= n_letters:
        return UTF_8
    try:
        for piece in pieces:
            piece.decode(CP1252)
    except UnicodeDecodeError:  # neither: then each value that cannot be read makes its row invalid
        return UTF_8
    return CP1252


def _rows(text: str, separator: str, n: int | None = None) -> list[list[str]]:
    """Return the first rows of text, or all of them, as Python reads them."""
    rows: list[list[str]] = []
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if any(row):
                rows.append(row)
            if len(rows) == n:
                break
    except csv.Error:
        pass  # the part that was read has to suffice
    finally:
        csv.field_size_limit(before)
    return rows


def _separator(body: str, expected: Expected) -> str:
    r"""Return the separator of the columns of text.

    Examples
    --------
    >>> _separator("user;time\na;1,5\n", Expected(columns=("user", "time")))
    ';'
    """

    def merit(separator: str) -> tuple[int, float, bool, int]:
        rows = _rows(body, separator, LINES_OF_HEAD)
        header = rows[0] if rows else []
        n_columns = len(header) if expected.names is None else len(expected.names)
        found = len(set(expected.columns) & {name.strip() for name in header}) if expected.names is None else 0
        fitting = sum(len(row) == n_columns for row in rows) / max(len(rows), 1)
        # Where every line is one field, nothing was separated.
        is_apart = n_columns > 1 and len(header) > 1
        return found, fitting if is_apart else 0.0, separator == expected.usual, n_columns if is_apart else 0

    return max(SEPARATORS, key=merit)


def _decimal(body: str, others: Sequence[str], separator: str, expected: Expected, path: Path) -> Decimal:
    """Return the decimal sign of the numbers of a table; a point, if none of them has any."""
    if separator == "," and not any('"' in text for text in (body, *others)):
        return "."  # no field can have a comma in it: the usual case, and known without looking at rows
    rows = _rows(body, separator)
    header = list(expected.names) if expected.names is not None else (rows.pop(0) if rows else [])
    n_first = min(len(rows), LINES_OF_HEAD)
    rows += [row for text in others for row in _rows(text, separator)]
    is_wide = {*header} & {*expected.columns, *expected.numbers} == {expected.index}
    where = {
        name: at for at, name in enumerate(header) if (name != expected.index if is_wide else name in expected.numbers)
    }
    values = {
        name: [row[at].strip() for row in rows if at < len(row) and ("," in row[at] or "." in row[at])]
        for name, at in where.items()
    }
    with_sign: dict[Decimal, list[str]] = {
        sign: [value for each in values.values() for value in each if pattern.fullmatch(value)]
        for sign, pattern in NUMBER_WITH.items()
    }
    points, commas = with_sign["."], with_sign[","]
    few = min(with_sign.values(), key=len)
    at_first = {row[at].strip() for row in rows[:n_first] for at in where.values() if at < len(row)}
    if points and commas and len(few) <= FEW_SIGNS * (len(points) + len(commas)) and at_first.isdisjoint(few):
        few.clear()
    if points and commas:
        raise InputError(
            f"{path} has numbers with a point and numbers with a comma: {points[0]!r} and {commas[0]!r}",
            why="either mark could separate thousands",
            fix="give the decimal mark: --decimal , or --decimal . (decimal='…' in Python); numbers with the other "
            "mark make invalid rows",
        )
    sign: Decimal = "," if commas else "."
    signed = commas or points
    degrees = (value for name in where if name in expected.degrees for value in values[name])
    is_told = any(map(NUMBER_WITH[sign].fullmatch, degrees))
    # In a plain comma-separated file the decimal mark is a point.
    if signed and not is_told and (commas or separator != ",") and all(map(LIKE_THOUSANDS.fullmatch, signed)):
        value = signed[0]
        as_fraction, as_thousands = value.replace(",", "."), re.sub("[.,]", "", value)
        raise InputError(
            f"{path}: {value!r} could mean {as_fraction} or {as_thousands}",
            why=f"in {first_few(signed, 3)} the mark could be a decimal mark or separate thousands",
            fix=f"if it is a decimal mark, add --decimal {sign} (decimal={sign!r} in Python); otherwise remove it from "
            "the file",
        )
    return sign
