"""The words and the elements of a page."""

from html.parser import HTMLParser

import habitprint as hp


class Outline(HTMLParser):
    """Collect the elements of a page, and its text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.words: list[str] = []
        self.inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag in ("script", "style") else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def text_of(found: hp.Audit) -> str:
    return Outline(hp.render_report(found)).text
