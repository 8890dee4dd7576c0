"""The findings of `check` as comments of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.records import Finding
from kneebench.screen.tables import readiness
from kneebench.visible import visible


def plan_comments(found: Sequence[Finding]) -> str:
    """How ready the plan is, then each finding that is more than "ok", with what to do about it.

    >>> print(plan_comments([Finding(level="warning", subject="disk", seen="full", do="empty it")]))
    # kneebench check: Ready: 0 errors, 1 warning. About 0 s; writes nothing to storage.
    #   warning: disk: full
    #     -> empty it
    <BLANKLINE>
    """
    return "\n".join(f"# {visible(line)}".rstrip() for line in _lines(found)) + "\n"


def _lines(found: Sequence[Finding]) -> Iterator[str]:
    yield f"kneebench check: {readiness(found).plain}"
    for one in found:
        if one.level != "ok":
            yield from f"  {one.level}: {one.subject}: {one.seen}".splitlines()
            yield from (f"    -> {line}" for line in one.do.splitlines())
