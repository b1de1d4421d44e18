"""The numbers that the paper prints, to stand beside ours."""

from dataclasses import dataclass

PAPER_N_USERS = {"calls": 46_986, "sub-prefectures": 46_986, "web": 121, "geolife": 154}
PAPER_N_PLACES = {"calls": 1211, "sub-prefectures": 237, "web": 83_219, "geolife": 1024}
PAPER_N_DRAWN = {"table-overlap": 5000, "figure-top-sites": 102}  # where the paper takes some of the users
METRICS = {
    "calls": {"jensen-shannon": 0.211, "l1": 0.186, "cosine": 0.164, "dot": 0.133},
    "web": {"jensen-shannon": 0.900, "l1": 0.811, "cosine": 0.727, "dot": 0.644},
    "geolife": {"jensen-shannon": 0.584, "l1": 0.513, "cosine": 0.520, "dot": 0.468},
}


@dataclass(frozen=True)
class Published:
    """Hold one number of the paper: a rate, or seconds, and what it belongs to.

    Parameters
    ----------
    experiment, part, method, weight
        The table or figure, and the row.
    value
        Of what varies; None for all users, or where nothing varies.
    number
        What the paper prints.
    measure
        Of which column of ours it is the counterpart.
    note
        What to know about it.
    """

    experiment: str
    part: str
    number: float
    weight: str = "jensen-shannon"
    method: str = "joint"
    value: float | None = None
    measure: str = "accuracy"
    note: str = ""


PUBLISHED = (
    *(
        Published("table-metrics", part, number, weight)
        for part, numbers in METRICS.items()
        for weight, number in numbers.items()
    ),
    *(Published("figure-users", "calls", number, weight) for weight, number in METRICS["calls"].items()),
    Published("figure-users", "calls", 0.78, value=1000, note="at 1,000 users"),
    Published("figure-subset", "calls", 0.211),
    Published(
        "figure-subset",
        "not drawn",
        0.095,
        method="one-by-one-from-known",
        note="in a comment of the paper's source",
    ),
    Published("table-overlap", "calls", 0.36, method="joint-common", measure="precision", note="1,340 of 3,750"),
    Published("table-overlap", "calls", 0.33, method="joint", measure="precision", note="1,672 of 5,000"),
    Published("table-aggregation", "antennas", 0.211, note="9,927 of 46,986"),
    Published("table-aggregation", "sub-prefectures", 0.044, note="2,070 of 46,986, of another sample"),
    Published("figure-top-sites", "web", 0.5, value=60, note="more than"),
    *(
        Published("table-markov", "histograms", 0.60, value=side, note="up to, 300 m to 1,000 m")
        for side in (300, 500, 1000)
    ),
    *(Published("table-markov", "histograms", 0.50, method="one-by-one", value=side) for side in (300, 500, 1000)),
    *(
        Published(
            "table-markov", "Markov chains", 0.45, method=f"markov-{kind}", note="up to, of 77 users (Gambs et al.)"
        )
        for kind in ("stationary", "proximity", "stat-prox")
    ),
    Published("table-runtime", "calls", 41 * 60, measure="seconds_weights"),
    Published("table-runtime", "calls", 432 * 60, measure="seconds_matching"),
    Published("table-runtime", "web", 6, measure="seconds_weights"),
    Published("table-runtime", "web", 0.1, measure="seconds_matching"),
    Published("table-runtime", "geolife", 0.9, measure="seconds_weights"),
    Published("table-runtime", "geolife", 0.2, measure="seconds_matching"),
)


def find_published(
    experiment: str,
    part: str,
    *,
    weight: str,
    method: str,
    value: float | None,
    measure: str = "accuracy",
) -> Published | None:
    """Return the paper's number for a row of ours, if it prints one.

    Examples
    --------
    >>> find_published("table-metrics", "web", weight="l1", method="joint", value=None).number
    0.811
    >>> find_published("figure-users", "calls", weight="l1", method="joint", value=2000.0) is None
    True
    """
    wanted = (experiment, part, weight, method, value, measure)
    for one in PUBLISHED:
        if (one.experiment, one.part, one.weight, one.method, one.value, one.measure) == wanted:
            return one
    return None
