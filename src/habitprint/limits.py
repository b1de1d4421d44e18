"""What the system allows this process, as far as it matters before long work."""

import sys

from habitprint.errors import InputError

if sys.platform != "win32":
    import resource

FOR_CHARTS = 80e9  # bytes of addresses: what draws charts reserves over 64 GB of them at once, and uses few


def address_space() -> float:
    """Return how many bytes of addresses this process may have; infinity if nobody set a limit.

    Examples
    --------
    >>> address_space() > 0
    True
    """
    if sys.platform == "win32":
        return float("inf")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def require_charts() -> None:
    """Raise `InputError` if what draws charts could not even start: it ends the process, after all work is done.

    Examples
    --------
    >>> require_charts()
    """
    if address_space() < FOR_CHARTS:
        raise InputError(
            f"charts cannot be drawn within {address_space() / 1e9:.3g} GB of addresses",
            why="the limit (ulimit -v) counts addresses, of which the renderer reserves over 64 GB, and uses few",
            fix="take it away (ulimit -v unlimited); limit memory itself if you must, as containers do",
        )
