"""What is known of the risk of a protected table, in three parts: row pointed at, row reconstructed, places attributed.

The first is guaranteed by the number of identical rows. The other two are measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from habitprint.arguments import AnyTable, as_histograms
from habitprint.attacks import Scenario
from habitprint.auditing.attribution import Attribution, attribute
from habitprint.auditing.unmixing import Reconstruction, Scene, point, reconstruct, second_look
from habitprint.display import abbreviated
from habitprint.histograms import Histograms
from habitprint.mechanisms import GuaranteedRisk, Release
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.release import as_release
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, Truth


@dataclass(frozen=True)
class Risks:
    """What is known of the risk of a protected table.

    Parameters
    ----------
    guaranteed
        How often anybody points at the right row at most; None where something else tells identical rows apart.
    is_grouped
        Whether rows are published for groups.
    reconstruction, attribution
        What was measured of groups; None where it was not, or there are none.
    n_draws
        How many draws of the units were measured, of which this is the worst.

    Examples
    --------
    >>> Risks(GuaranteedRisk(0.05, 0.05), is_grouped=True).reconstruction is None
    True
    """

    guaranteed: GuaranteedRisk | None
    is_grouped: bool
    reconstruction: Reconstruction | None = None
    attribution: Attribution | None = None
    n_draws: int = 1

    def __repr__(self) -> str:
        return abbreviated(self)


def measure_risks(
    original: Histograms | AnyTable,
    release: Release | Histograms | AnyTable,
    known: Histograms | AnyTable,
    truth: Truth = SAME_ID,
    *,
    others: Sequence[Release] = (),
    progress: Progress = silent,
) -> Risks:
    """Measure the three lines about a release: row pointed at, row reconstructed, places attributed.

    Parameters
    ----------
    original
        The table before any protection, with the user ids of the known table, or with those of the release.
    release
        What is published.
    known, truth
        What the attacker knows, and who really is whom, as for `habitprint.evaluate`.
    others
        Further releases of the same people that the attacker has too, with the same user ids.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> risks = hp.measure_risks(released, hp.microaggregate(released, k=5), known)
    >>> risks.guaranteed.average, risks.reconstruction.rate.n
    (0.2, 60)
    """
    table, theirs = as_histograms(original, "original"), as_histograms(known, "known")
    release = as_release(release)
    tables = Scenario(release.histograms.in_order(), theirs.in_order(), truth, release.steps)
    guaranteed = GuaranteedRisk.of(tables.anonymity_sets)
    scene = Scene.of(table, replace(release, histograms=tables.released), tables, point(tables, progress))
    if scene is None:
        return Risks(guaranteed, is_grouped=is_grouped(release))
    return Risks(
        guaranteed,
        is_grouped=True,
        reconstruction=reconstruct(
            scene, seconds=[second_look(scene, other, tables, progress) for other in others], progress=progress
        ),
        attribution=attribute(scene),
    )
