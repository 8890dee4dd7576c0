"""A restore: the image's files put in place on a storage.

They are ours and out of the account's reach until all of them are there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from kneebench.databases.engines.postgres.cluster import configure, move_log
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.base_image import BaseImage
from kneebench.databases.managed.copying import drop_caches, duplicate, write_out
from kneebench.databases.managed.ownership import admit, hand_over
from kneebench.lab.removal import ours
from kneebench.records import Watch

LEFT_BEHIND = frozenset(["postmaster.pid", "postmaster.opts"])


def restore(
    image: BaseImage,
    data: Path,
    log: Path | None,
    how: Literal["copy", "clone"],
    settings: Mapping[str, str],
    account: Account | None,
    watch: Watch,
    doing: str,
    *,
    warm: bool = False,
) -> Path:
    """The data directory, made in the directory `data` of ours, its log in `log` if that is given;
    the account's at the end. Its files are not in the page cache, unless `warm`.
    """
    with contextlib.ExitStack() as opened:
        places = [opened.enter_context(ours(place)) for place in (data, log) if place]
        source, target = image.opened(opened), opened.enter_context(places[0].make("data"))
        duplicate(source, target, how, watch, doing, LEFT_BEHIND)
        parts = [target, *(opened.enter_context(move_log(target, place)) for place in places[1:])]
        configure(target, settings, account)
        for part in parts:
            hand_over(part, account)
        if warm:
            write_out(parts)
        else:
            drop_caches([source, *parts])
        for place in places:
            admit(place, account)
        for part in parts:
            if account:
                account.owns(part.handle)
        return target.path
