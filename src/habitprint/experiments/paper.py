"""The paper's tables and figures, as data."""

from habitprint.experiments.claims import Beats, Leads, Moves
from habitprint.experiments.more_claims import (
    Drops,
    Extremes,
    FallsWhileFlat,
    FirstStepSmallest,
    PeaksInside,
    Reaches,
)
from habitprint.experiments.spec import (
    ALL,
    ALL_WEIGHTS,
    COMMON,
    FROM_KNOWN,
    JOINT,
    MARKOV,
    ONE_BY_ONE,
    Experiment,
    Part,
    Setting,
)
from habitprint.periods.dates import DAYS

SQUARES = Setting(side=1000)
TOP_SITES = Setting(seen_top=5)
QUICK_USERS = 4000  # customers of the calls, when time matters more than size

PAPER = (
    Experiment(
        name="table-metrics",
        title="Accuracy by data set and weight",
        about="All users of both periods are matched jointly (A1), with each of the four weights.",
        layout="metrics",
        parts=(
            Part(data="calls", weights=ALL_WEIGHTS),
            Part(data="web", weights=ALL_WEIGHTS),
            Part(data="geolife", setting=SQUARES, weights=ALL_WEIGHTS),
        ),
        claims=(Leads(),),
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
                weights=ALL_WEIGHTS,
                repeats=10,
                quick={"values": (100, 200, 500, 1000, 2000, ALL)},
            ),
        ),
        claims=(Moves("accuracy falls with the number of users", grows=False), Leads()),
    ),
    Experiment(
        name="figure-subset",
        title="Accuracy against the size of the release",
        about="All users are known; the released ones are drawn at random among them. A release of a single user is "
        "the one-by-one attack: the leftmost point.",
        layout="subset",
        x="released users",
        parts=(
            Part(data="calls", setting=Setting(n_released=1), methods=(ONE_BY_ONE,)),
            Part(data="calls", label="not drawn", methods=(FROM_KNOWN,)),
            Part(
                data="calls",
                varies="n_released",
                values=(1000, 5000, 10_000, 20_000, 30_000, 40_000, ALL),
                repeats=5,
                quick={"values": (500, 1000, 2000, 3000, ALL)},
            ),
        ),
        claims=(Moves("accuracy grows with the size of the release, from one-by-one on", grows=True),),
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
                methods=(COMMON, JOINT),
                repeats=10,
                quick={"setting": Setting(n_users=2000, n_common=1500)},
            ),
        ),
        claims=(Beats("A2's precision is above A1's", "method", COMMON, JOINT, "precision"),),
    ),
    Experiment(
        name="figure-duration",
        title="Accuracy against the days observed",
        about="Users who called on both Mondays, matched on Mondays alone, on Mondays and Tuesdays, and so on.",
        layout="lines",
        x="days of both weeks",
        parts=(Part(data="calls", varies="last_day", values=DAYS, weights=ALL_WEIGHTS),),
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
    ),
    Experiment(
        name="figure-popularity",
        title="Visits per site",
        about="Sites in the order of their visits by all users in both weeks.",
        layout="popularity",
        parts=(Part(data="web", task="popularity"),),
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
                setting=TOP_SITES,
                varies="n_top",
                values=(5, 10, 20, 40, 60, 100, 200, 500, 1000, 5000),
                weights=ALL_WEIGHTS,
            ),
        ),
        claims=(
            Moves("accuracy grows with the number of sites", grows=True),
            Reaches("more than half are identified by 60 sites", 60, 0.5),
            Leads(),
        ),
    ),
    Experiment(
        name="figure-map",
        title="Where people were",
        about="Antennas of the country, coloured by sub-prefecture, and visited squares of 100 m in Beijing.",
        layout="map",
        parts=(
            Part(data="calls", task="antennas"),
            Part(data="geolife", setting=Setting(side=100), task="squares"),
        ),
    ),
    Experiment(
        name="figure-active-weeks",
        title="Active weeks of each user",
        about="A week is active if the user has a position in it, within the area.",
        layout="active-weeks",
        parts=(Part(data="geolife", task="active-weeks"),),
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
                weights=ALL_WEIGHTS,
                quick={"values": (20, 100, 300, 1000, 5000)},
            ),
        ),
        claims=(PeaksInside("accuracy is best for moderate sides"), Leads(above=100)),
    ),
    Experiment(
        name="table-markov",
        title="Histograms against mobility Markov chains",
        about="The same users and halves of their active weeks. Chains (Gambs et al. 2014) are compared one by one.",
        layout="markov",
        parts=(
            Part(
                data="geolife",
                label="histograms",
                varies="side",
                values=(300, 500, 1000),
                methods=(JOINT, ONE_BY_ONE),
            ),
            Part(data="geolife", label="Markov chains", setting=SQUARES, methods=MARKOV),
        ),
        claims=(
            Beats("joint matching beats one-by-one", "method", JOINT, ONE_BY_ONE),
            *(Beats(f"one-by-one histograms beat {kind}", "method", ONE_BY_ONE, kind) for kind in MARKOV),
        ),
    ),
    Experiment(
        name="table-runtime",
        title="Seconds for weights and matching",
        about="With the proposed weight, from histograms in memory; nothing else runs meanwhile.",
        layout="runtime",
        parts=(
            Part(data="calls", task="time"),
            Part(data="web", task="time"),
            Part(data="geolife", setting=SQUARES, task="time"),
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
                quick={"values": (1, 2, 3, 5, 10, 20, 50, 200, ALL)},
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
