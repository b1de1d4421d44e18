"""Matching: the best pairs of released and known users, with a proof."""

from habitprint.matching.likelihood import Likelihood as Likelihood
from habitprint.matching.likelihood import log_likelihood as log_likelihood
from habitprint.matching.margins import pair_margins as pair_margins
from habitprint.matching.match import MatchingPath as MatchingPath
from habitprint.matching.match import MatchOptions as MatchOptions
from habitprint.matching.match import match as match
from habitprint.matching.match import matching_path as matching_path
from habitprint.matching.matching import Direction as Direction
from habitprint.matching.matching import Matching as Matching
from habitprint.matching.matching import Method as Method
