"""Measure how well the margin separates right claims from wrong ones, now and in other months; for docs/notes.md.

``python benchmarks/margins.py`` prints, for households of the Complete Journey, how well the margin of a released
user's pair (May against June) orders those whom that very matching identifies from the others, and how well it orders
those whom a matching of other months identifies (July against August, and September against October): the area under
the curve, AUC, which is 1/2 where there is no order. The probability that is trained on the truth about others is
beside it.
"""

import numpy as np

import habitprint as hp
from habitprint.evaluation import pair_chances
from habitprint.training import Reliability, cross_fit
from habitprint.truth import common_users

NOW = hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30"))
OTHERS = (
    hp.DateRanges(("2017-07-01", "2017-07-31"), ("2017-08-01", "2017-08-31")),
    hp.DateRanges(("2017-09-01", "2017-09-30"), ("2017-10-01", "2017-10-31")),
)
PLACES = ("product", "category", "department")


def auc(orders: np.ndarray, found: np.ndarray) -> float:
    """Return how well numbers order who is found from who is not."""
    return Reliability.of(orders, found, 0.5).auc


def chances_of(events: hp.Events, period: hp.DateRanges) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Return for each released user how likely its claim is right, its margin, and its probability."""
    released, known = hp.split(events, period)
    released, known = released.in_order(), known.in_order()
    common = common_users("same-id", released.users, known.users)
    matching = hp.match(released, known)
    margins = hp.pair_margins(matching, released, known)
    columns = (
        pair_chances(matching, released, known, common),
        margins,
        cross_fit(matching, released, known, common, margins=margins),
    )
    right, margin, probability = (
        dict(zip(matching.released.to_list(), column.tolist(), strict=True)) for column in columns
    )
    return right, margin, probability


def main() -> None:
    """Print the table."""
    print("| places | margin: the same months | margin: July, August | margin: September, October | "
          "probability: the same months | probability: July, August | probability: September, October |")  # fmt: skip
    print("|---" * 7 + "|")
    for place in PLACES:
        events = hp.datasets.complete_journey(place)  # type: ignore[arg-type]
        right, *orders = chances_of(events, NOW)
        later = [chances_of(events, period)[0] for period in OTHERS]
        cells = []
        for order in orders:
            for found in (right, *later):
                people = sorted(set(order) & set(found))
                cells.append(auc(np.array([order[who] for who in people]), np.array([found[who] for who in people])))
        print(f"| {place} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
