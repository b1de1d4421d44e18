"""May we release this? The stages of an audit, one file each."""

from habitprint.audit.facts import (
    Alike,
    Attack,
    Claims,
    Curve,
    DataFacts,
    MarginClass,
    NotTried,
    People,
    Point,
    Protections,
    SharedFacts,
    Side,
    SureClaims,
    Trial,
    Unused,
)
from habitprint.audit.preparation import Preparation
from habitprint.audit.result import SCHEMA, Audit, Settings, Verdict
from habitprint.audit.run import audit

__all__ = [
    "SCHEMA",
    "Alike",
    "Attack",
    "Audit",
    "Claims",
    "Curve",
    "DataFacts",
    "MarginClass",
    "NotTried",
    "People",
    "Point",
    "Preparation",
    "Protections",
    "Settings",
    "SharedFacts",
    "Side",
    "SureClaims",
    "Trial",
    "Unused",
    "Verdict",
    "audit",
]
