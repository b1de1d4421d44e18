"""Every text of texts.md is said by the code, with exactly the values that it names."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import habitprint as hp
from habitprint.wording.blocks import TEXTS

SOURCE = Path(hp.__file__).parent
CALLS = [
    node
    for file in sorted(SOURCE.rglob("*.py"))
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"fixed_text", "fixed_texts"}
]
BY_NAME = [call for call in CALLS if isinstance(call.args[0], ast.Constant)]
HEADINGS = {ast.literal_eval(call.args[0]) for call in BY_NAME}
# A heading that ends in the value of a field: the part that the code writes.
FAMILIES = {str(ast.literal_eval(name.values[0])) for call in CALLS if isinstance(name := call.args[0], ast.JoinedStr)}


def fields_of(heading: str) -> set[str]:
    """Return the names in the braces of a text, without their attributes."""
    names = (name for text in TEXTS[heading] for _, name, _, _ in Formatter().parse(text) if name is not None)
    return {name.split(".")[0].split("[")[0] for name in names}


@pytest.mark.parametrize("call", BY_NAME, ids=lambda call: str(ast.literal_eval(call.args[0])))
def test_a_text_gets_the_values_that_it_names(call: ast.Call) -> None:
    given = {keyword.arg for keyword in call.keywords if keyword.arg is not None}
    is_open = any(keyword.arg is None for keyword in call.keywords)
    named = fields_of(ast.literal_eval(call.args[0]))
    assert given <= named if is_open else given == named


@pytest.mark.parametrize("heading", sorted(TEXTS))
def test_every_text_is_said(heading: str) -> None:
    in_code = "".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    assert heading in HEADINGS or heading.startswith(tuple(FAMILIES)) or f'"{heading}"' in in_code
