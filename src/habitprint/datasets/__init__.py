"""Built-in data to try things on."""

from habitprint.datasets.illustration import illustration
from habitprint.datasets.town import town

__all__ = ["illustration", "town"]
