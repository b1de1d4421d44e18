"""The versions of what computes results."""

import platform
from importlib.metadata import version

PACKAGES = ("habitprint", "numpy", "scipy", "numba", "polars", "altair")


def versions() -> dict[str, str]:
    """Return the version of each package, and of Python.

    Examples
    --------
    >>> "numpy" in versions()
    True
    """
    return {**{name: version(name) for name in PACKAGES}, "python": platform.python_version()}


def versions_in_words() -> str:
    """Return the versions in one line.

    Examples
    --------
    >>> versions_in_words().startswith("habitprint")
    True
    """
    return ", ".join(f"{name} {number}" for name, number in versions().items())
