"""Words that the vocabulary replaces, for pages and documentation."""

import re

# One word per idea (docs/design.md#words): these are words that it replaces.
REPLACED = re.compile(
    r"adversar\w*|\b(?:he|him|his|himself|whoever|somebody|anybody)\b|all at once|found again|told apart|proven share"
    r"|\balike\b|rehears\w*|\blessons?\b|\blearned\b|surest|sureness|\bsurely\b|(?<!soon )\bas it is\b|\bstrengths?\b"
    r"|in every way|first attacks|\bpurposes?\b|\bcheap\w*|\bdear\w*|\bdoubts?\b|\bremed\w+|elsewhere|made.up"
    r"|the end of it|what became of|(?<!synthetic )\btwins?\b",
    re.IGNORECASE,
)
