"""How pictures look: names of styles whose colours are those of the page."""

from typing import Any

FONT = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif'
SIZE = 13  # of letters
# Names of styles, not colours: `var(…)` is resolved by the browser, in light, in dark and on paper.
STYLES = {
    "main": {"color": "var(--accent)"},
    "other": {"color": "var(--quiet)"},
    "main-line": {"color": "var(--accent)", "strokeWidth": 2},
    "other-line": {"color": "var(--quiet)", "strokeWidth": 1.5, "strokeDash": [5, 3]},
    "band": {"color": "var(--accent)", "fillOpacity": 0.16},
    "target": {"color": "var(--ink)", "strokeDash": [6, 4], "strokeWidth": 1.5},
    "chance": {"color": "var(--quiet)", "strokeDash": [1, 3], "strokeWidth": 1.5},
    "words": {"color": "var(--ink)", "font": FONT, "fontSize": SIZE},
    # Behind words that may stand on a line: the same words, as wide as a brush, in the colour of the paper.
    "paper-words": {"color": "var(--paper)", "stroke": "var(--paper)", "strokeWidth": 5, "strokeJoin": "round"}
    | {"font": FONT, "fontSize": SIZE},
}
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "mark": {"aria": False},  # a picture has one description, and a table with its numbers: dots need not be read out
    "style": STYLES,
    "axis": {
        "labelColor": "var(--quiet)",
        "titleColor": "var(--quiet)",
        "titleFontWeight": "normal",
        "titleFontSize": SIZE,
        "labelFontSize": SIZE,
        "gridColor": "var(--rule)",
        "tickColor": "var(--rule)",
        "domainColor": "var(--quiet)",
        "tickSize": 4,
        "labelFlush": False,
        "titlePadding": 8,
        "titleLimit": 220,
    },
    # The title of the vertical axis stands above it, to be read without turning one's head.
    "axisY": {
        "domain": False,
        "ticks": False,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "start",
        "titleBaseline": "bottom",
        "titleX": 0,
        "titleY": -8,
        "tickCount": 5,
    },
    "axisX": {"grid": False},
}
