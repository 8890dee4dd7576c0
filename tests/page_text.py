"""What a page says, as plain text: one line per paragraph, heading, caption or table row."""

from __future__ import annotations

from html.parser import HTMLParser

LINES = {"p", "h1", "h2", "h3", "h4", "li", "tr", "caption", "summary", "figcaption", "dt", "dd"}
LINES |= {"div", "section", "header", "footer", "pre", "title", "br"}
CELLS = {"td", "th"}
UNREAD = {"script", "style", "svg"}


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words, self._unread = list[str](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._between(tag)
        described = dict(attrs).get("aria-label")
        if described and not self._unread:
            self.words.append(f"[{described}]\n")
        self._unread += tag in UNREAD

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD
        self._between(tag)

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.words.append(data.replace("\n", " "))

    def _between(self, tag: str) -> None:
        self.words.append("\n" if tag in LINES else " | " if tag in CELLS else "")


def text_of(page: str) -> str:
    """The text of an HTML page; of figures what those hear who cannot see them."""
    parser = _Text()
    parser.feed(page)
    lines = (" ".join(line.split()) for line in "".join(parser.words).splitlines())
    kept = (line.replace("| |", "|").strip("| ") for line in lines)
    return "\n".join(line for line in kept if line) + "\n"
