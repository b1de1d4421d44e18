"""Cases of a law that wait: for `make test`, or for the night."""

from typing import Any

import pytest


def by_night(*values: Any) -> list[Any]:
    """Return cases that `make nightly` tests beside those that `make test` does.

    Examples
    --------
    >>> by_night(7)[0].values
    (7,)
    """
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


def in_full(*values: Any) -> list[Any]:
    """Return cases that `make test` tests beside those that `make check` does.

    Examples
    --------
    >>> in_full(7)[0].values
    (7,)
    """
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
