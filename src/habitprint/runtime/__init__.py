"""The machine: compiled kernels, threads, and the versions of libraries."""

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("habitprint", "numpy", "scipy", "numba", "polars", "altair", "opendp")


def versions() -> dict[str, str]:
    """Return the version of Python and of each package that results may depend on.

    Examples
    --------
    >>> import numpy as np
    >>> versions()["numpy"] == np.__version__
    True
    """
    return {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions_in_words() -> str:
    """Return the versions in one line.

    Examples
    --------
    >>> versions_in_words().startswith("python 3")
    True
    """
    return ", ".join(f"{name} {number}" for name, number in versions().items())
