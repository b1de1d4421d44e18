"""Whether Spark can be imported at all: it is an extra."""

import importlib.util

from habitprint.errors import InputError

NEEDED = ("pyspark", "pyarrow", "pandas")  # pandas by Spark itself, wherever Python works on batches of rows


def require_pyspark() -> None:
    """Raise `InputError` unless Spark for Python, and what it needs for batches of rows, is installed.

    Examples
    --------
    >>> require_pyspark()
    """
    missing = [name for name in NEEDED if not _is_there(name)]
    if missing:
        raise InputError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            why="Spark is an extra: whoever counts and matches on one machine needs none of it",
            fix="pip install 'habitprint[spark]'",
        )


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # somebody said that it is not to be imported
        return False
