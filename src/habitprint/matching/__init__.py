"""Find out who is whom: the best matching of released with known users."""

from habitprint.matching.margins import pair_margins
from habitprint.matching.match import match
from habitprint.matching.matching import Direction, Matching, Method, Proof
from habitprint.matching.options import MatchOptions
from habitprint.matching.path import MatchingPath, matching_path

__all__ = [
    "Direction",
    "MatchOptions",
    "Matching",
    "MatchingPath",
    "Method",
    "Proof",
    "match",
    "matching_path",
    "pair_margins",
]
