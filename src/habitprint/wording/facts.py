"""The text of ``report.json``: the facts of an audit, and beside them the sentences that people read."""

import msgspec

from habitprint.auditing.audit import Audit
from habitprint.formatting import printable_json
from habitprint.wording.attacks import about_training, among_more, on_all_people
from habitprint.wording.curves import about_alternative, about_curve, about_linkage
from habitprint.wording.data import about_scope, how_chosen
from habitprint.wording.findings import words_of
from habitprint.wording.page import sentences
from habitprint.wording.protections import about_protections
from habitprint.wording.verdict import details, first_screen, headline


def report_json(audit: Audit) -> str:
    """Return the facts of an audit as JSON, with sentences under ``text``, which nobody reads back.

    Examples
    --------
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> told = msgspec.json.decode(report_json(audit))
    >>> told["text"]["headline"] == headline(audit).text, hp.Audit.from_json(told).to_json() == audit.to_json()
    (True, True)
    """
    text = {
        "headline": headline(audit).text,
        "first_screen": list(sentences(first_screen(audit))),
        "details": details(audit),
        "scope": about_scope(audit.data.scope),
        "periods": how_chosen(audit.data),
        "findings": [words_of(found) for found in audit.data.findings],
        "training": about_training(audit.training),
        "on_all": on_all_people(audit),
        "forecast": among_more(audit),
        "curves": {curve.dimension: about_curve(curve) for curve in audit.curves},
        "linkage": about_linkage(audit.linkage),
        "protections": about_protections(audit),
        "alternatives": {alternative.kind: about_alternative(alternative, audit) for alternative in audit.alternatives},
    }
    facts = msgspec.json.decode(audit.to_text(), type=dict[str, object])
    return printable_json(msgspec.json.format(msgspec.json.encode(facts | {"text": text}), indent=1).decode())
