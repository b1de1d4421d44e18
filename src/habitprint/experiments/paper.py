"""The paper's tables and figures, and the numbers that it prints, as data.

What its source has commented out, it does not say: nothing of that is here.
"""

from collections.abc import Mapping

from habitprint.experiments.claims import (
    PRECISION,
    Beats,
    Drops,
    Extremes,
    FallsWhileFlat,
    FirstStepSmallest,
    Leads,
    Moves,
    PeaksInside,
    Reaches,
)
from habitprint.experiments.jobs import (
    ALL,
    COMMON,
    MARKOV,
    ONE_BY_ONE,
    DataName,
    Picture,
    Setting,
    Timing,
    attacks,
    method_of,
)
from habitprint.experiments.spec import Experiment, Part, Published
from habitprint.periods.dates import DAYS
from habitprint.weighing import PAPER_WEIGHTS, WeightName

PAPER_N_USERS: Mapping[DataName, int] = {"calls": 46_986, "sub-prefectures": 46_986, "web": 121, "geolife": 154}
PAPER_N_PLACES: Mapping[DataName, int] = {"calls": 1211, "sub-prefectures": 237, "web": 83_219, "geolife": 1024}
METRICS: Mapping[str, Mapping[WeightName, float]] = {
    "calls": {"jensen-shannon": 0.211, "l1": 0.186, "cosine": 0.164, "dot": 0.133},
    "web": {"jensen-shannon": 0.900, "l1": 0.811, "cosine": 0.727, "dot": 0.644},
    "geolife": {"jensen-shannon": 0.584, "l1": 0.513, "cosine": 0.520, "dot": 0.468},
}
EVERY_WEIGHT = attacks(*PAPER_WEIGHTS)
SQUARES = Setting(side=1000)
SIDES = (300, 500, 1000)


def _metrics(part: str) -> tuple[Published, ...]:
    return tuple(Published(part, number, attacks(weight)[0]) for weight, number in METRICS[part].items())


PAPER = (
    Experiment(
        name="table-metrics",
        title="Accuracy by data set and weight",
        about="All users of both periods are matched jointly (A1), with each of the four weights.",
        layout="metrics",
        parts=(
            Part(data="calls", tasks=EVERY_WEIGHT),
            Part(data="web", tasks=EVERY_WEIGHT),
            Part(data="geolife", setting=SQUARES, tasks=EVERY_WEIGHT),
        ),
        claims=(Leads(),),
        published=tuple(number for part in METRICS for number in _metrics(part)),
    ),
    Experiment(
        name="figure-users",
        title="Accuracy against the number of users",
        about="Users are drawn at random, the same for both periods, and matched jointly (A1).",
        layout="lines",
        x="users on each side (N)",
        is_log=True,
        parts=(
            Part(
                data="calls",
                varies="n_users",
                values=(1000, 2000, 5000, 10_000, 20_000, 30_000, ALL),
                tasks=EVERY_WEIGHT,
                repeats=10,
                quick_values=(100, 200, 500, 1000, 2000, ALL),
            ),
        ),
        claims=(Moves("accuracy falls with the number of users", grows=False), Leads()),
        published=(*_metrics("calls"), Published("calls", 0.78, value=1000)),
    ),
    Experiment(
        name="figure-subset",
        title="Accuracy against the size of the release",
        about="All users are known; the released ones are drawn at random among them. A release of a single user is "
        "the one-by-one attack: the leftmost point.",
        layout="subset",
        x="released users",
        parts=(
            Part(data="calls", varies="n_released", values=(1,), tasks=(ONE_BY_ONE,)),
            Part(
                data="calls",
                varies="n_released",
                values=(1000, 5000, 10_000, 20_000, 30_000, 40_000, ALL),
                repeats=5,
                quick_values=(500, 1000, 2000, 3000, ALL),
            ),
        ),
        claims=(Moves("accuracy grows with the size of the release, from one-by-one on", grows=True),),
        published=(Published("calls", 0.211),),
    ),
    Experiment(
        name="table-overlap",
        title="A partial overlap: as many pairs as there are common users, against all",
        about="Two sides with as many users, three quarters of them on both. (A2) gives out as many pairs as there are "
        "common users, (A1) matches everybody.",
        layout="overlap",
        parts=(
            Part(
                data="calls",
                setting=Setting(n_users=5000, n_common=3750),
                tasks=attacks(methods=("joint-common", "joint")),
                repeats=10,
                quick_setting=Setting(n_users=2000, n_common=1500),
            ),
        ),
        claims=(Beats("A2's precision is above A1's", "joint-common", "joint", PRECISION),),
        published=(
            Published("calls", 0.36, COMMON, measure="precision", note="1,340 of 3,750"),
            Published("calls", 0.33, measure="precision", note="1,672 of 5,000"),
        ),
        n_published=5000,
    ),
    Experiment(
        name="figure-duration",
        title="Accuracy against the days observed",
        about="Users who called on both Mondays, matched on Mondays alone, on Mondays and Tuesdays, and so on.",
        layout="lines",
        x="days of both weeks",
        parts=(Part(data="calls", varies="last_day", values=DAYS, tasks=EVERY_WEIGHT),),
        claims=(
            Moves("accuracy grows with the days observed", grows=True),
            FirstStepSmallest("the step from Monday to Monday–Tuesday is the smallest (a holiday, then few calls)"),
            Leads(),
        ),
    ),
    Experiment(
        name="table-aggregation",
        title="Antennas against sub-prefectures",
        about="The same number of users, observed at antennas and at sub-prefectures.",
        layout="aggregation",
        parts=(Part(data="calls", label="antennas"), Part(data="sub-prefectures")),
        claims=(Drops("accuracy is far lower with sub-prefectures", "sub-prefectures", "antennas", 2.0),),
        published=(
            Published("antennas", 0.211, note="9,927 of 46,986"),
            Published("sub-prefectures", 0.044, note="2,070 of 46,986, of another sample"),
        ),
    ),
    Experiment(
        name="figure-popularity",
        title="Visits per site",
        about="Sites in the order of their visits by all users in both weeks.",
        layout="popularity",
        parts=(Part(data="web", tasks=(Picture.POPULARITY,)),),
    ),
    Experiment(
        name="figure-top-sites",
        title="Accuracy with the most popular sites only",
        about="Users who visited one of the top 5 sites; all but the most popular sites are left out.",
        layout="lines",
        x="most popular sites kept",
        is_log=True,
        parts=(
            Part(
                data="web",
                setting=Setting(seen_top=5),
                varies="n_top",
                values=(5, 10, 20, 40, 60, 100, 200, 500, 1000, 5000),
                tasks=EVERY_WEIGHT,
            ),
        ),
        claims=(
            Moves("accuracy grows with the number of sites", grows=True),
            Reaches("more than half are identified by 60 sites", 60, 0.5),
            Leads(),
        ),
        published=(Published("web", 0.5, value=60, bound="more than"),),
        n_published=102,
    ),
    Experiment(
        name="figure-map",
        title="Where people were",
        about="Antennas of the country, coloured by sub-prefecture, and visited squares of 100 m in Beijing.",
        layout="map",
        parts=(
            Part(data="calls", tasks=(Picture.ANTENNAS,)),
            Part(data="geolife", setting=Setting(side=100), tasks=(Picture.SQUARES,)),
        ),
    ),
    Experiment(
        name="figure-active-weeks",
        title="Active weeks of each user",
        about="A week is active if the user has a position in it, within the area.",
        layout="active-weeks",
        parts=(Part(data="geolife", tasks=(Picture.ACTIVE_WEEKS,)),),
    ),
    Experiment(
        name="figure-side",
        title="Accuracy against the side of the squares",
        about="Positions become squares of one side; halves of each user's active weeks are matched jointly.",
        layout="lines",
        x="side of the squares (m)",
        is_log=True,
        parts=(
            Part(
                data="geolife",
                varies="side",
                values=(10, 20, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10_000),
                tasks=EVERY_WEIGHT,
                quick_values=(20, 100, 300, 1000, 5000),
            ),
        ),
        claims=(PeaksInside("accuracy is best for moderate sides"),),
    ),
    Experiment(
        name="table-markov",
        title="Histograms against mobility Markov chains",
        about="The same users and halves of their active weeks. Chains (Gambs et al. 2014) are compared one by one.",
        parts=(
            Part(
                data="geolife",
                label="histograms",
                varies="side",
                values=SIDES,
                tasks=attacks(methods=("joint", "one-by-one")),
            ),
            Part(data="geolife", label="Markov chains", setting=SQUARES, tasks=MARKOV),
        ),
        claims=(
            Beats("joint matching beats one-by-one", "joint", "one-by-one"),
            *(Beats(f"one-by-one histograms beat {name}", "one-by-one", name) for name in map(method_of, MARKOV)),
        ),
        published=(
            *(Published("histograms", 0.60, value=side, bound="up to", note="300 m to 1,000 m") for side in SIDES),
            *(Published("histograms", 0.50, ONE_BY_ONE, value=side) for side in SIDES),
            *(
                Published("Markov chains", 0.45, chains, bound="up to", note="of 77 users, Gambs et al.")
                for chains in MARKOV
            ),
        ),
    ),
    Experiment(
        name="table-runtime",
        title="Seconds for weights and matching",
        about="With the proposed weight, from histograms in memory; nothing else runs meanwhile.",
        layout="runtime",
        parts=(
            Part(data="calls", tasks=(Timing(),)),
            Part(data="web", tasks=(Timing(),)),
            Part(data="geolife", setting=SQUARES, tasks=(Timing(),)),
        ),
        published=(
            Published("calls", 41 * 60, measure="seconds_weights"),
            Published("calls", 432 * 60, measure="seconds_matching"),
            Published("web", 6, measure="seconds_weights"),
            Published("web", 0.1, measure="seconds_matching"),
            Published("geolife", 0.9, measure="seconds_weights"),
            Published("geolife", 0.2, measure="seconds_matching"),
        ),
    ),
    Experiment(
        name="figure-microaggregation",
        title="Micro-aggregation: accuracy and loss against k",
        about="The release is micro-aggregated (successive group selection, l1) and matched with the proposed weight.",
        layout="protection",
        x="k, the least number of users in a group",
        is_log=True,
        parts=(
            Part(
                data="calls",
                setting=Setting(n_users=1000),
                varies="k",
                values=(1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, ALL),
                quick_values=(1, 2, 3, 5, 10, 20, 50, 200, ALL),
            ),
            Part(
                data="web",
                setting=Setting(seen_top=5, n_top=100),
                varies="k",
                values=(1, 2, 3, 5, 7, 10, 15, 20, 30, 50, ALL),
            ),
            Part(data="geolife", setting=SQUARES, varies="k", values=(1, 2, 3, 5, 7, 10, 15, 20, 30, 50, ALL)),
        ),
        claims=(FallsWhileFlat(), Extremes()),
    ),
)
NAMES = tuple(experiment.name for experiment in PAPER)
