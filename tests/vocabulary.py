"""Words that the vocabulary replaces, for pages and documentation."""

import re

# One word per idea (docs/design.md#words): words that it replaces. The law and ISO/IEC 27559 have two of them.
REPLACED = re.compile(
    r"adversar(?!ial testing)\w*|\b(?:he|him|his|himself|whoever|somebody|anybody)\b|all at once|found again|told apart"
    r"|proven share|\balike\b|rehears\w*|\blessons?\b|\blearned\b|surest|sureness|\bsurely\b|(?<!soon )\bas it is\b"
    r"|\bstrengths?\b|in every way|first attacks|\bpurposes?\b(?! of the release)|\bcheap\w*|\bdear\w*|\bdoubts?\b"
    r"|\bremed\w+|elsewhere|made.up|the end of it|what became of|(?<!synthetic )\btwins?\b",
    re.IGNORECASE,
)
