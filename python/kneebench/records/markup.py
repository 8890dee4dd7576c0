"""Tables in HTML, as a notebook shows what is in a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", below: Iterable[str] = ()
) -> str:
    """A table with its caption, and a paragraph for each text below it.

    >>> html_table(["users", "NOPM"], [["8", "<none>"]], "disk", ["A note."])[-70:]
    '<tr><td>8</td><td>&lt;none&gt;</td></tr></tbody></table><p>A note.</p>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = f"<thead><tr>{_cells('th', head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table>{title}{top}<tbody>{body}</tbody></table>{paragraphs(below)}"


def labelled(label: str, text: str) -> str:
    """A text behind the label of what must be known first, such as "Simulated", if there is one.

    >>> labelled("Simulated", "disk"), labelled("", "disk")
    ('SIMULATED: disk', 'disk')
    """
    return f"{label.upper()}: {text}" if label else text


def paragraphs(texts: Iterable[str]) -> str:
    """A paragraph for each text that is not empty.

    >>> paragraphs(["1 < 2", ""])
    '<p>1 &lt; 2</p>'
    """
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def _cells(kind: str, texts: Sequence[str]) -> str:
    return "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts)
