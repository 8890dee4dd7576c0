"""A restore: the image's files put in place on a storage. They are ours and out of the account's reach until all of them are there."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from kneebench.databases.postgres.account import Account
from kneebench.databases.postgres.cluster import configure, move_log
from kneebench.databases.postgres.copying import drop_caches, duplicate
from kneebench.databases.postgres.image import Image
from kneebench.databases.postgres.ownership import admit, hand_over
from kneebench.lab.removal import ours
from kneebench.records import Watch


def restore(
    image: Image,
    data: Path,
    log: Path | None,
    how: Literal["copy", "clone"],
    settings: Mapping[str, str],
    account: Account | None,
    watch: Watch,
    doing: str,
) -> Path:
    """The data directory, made cold in the directory `data` of ours, its log in `log` where that is given; the account's at the end."""
    with contextlib.ExitStack() as opened:
        places = [opened.enter_context(ours(place)) for place in (data, log) if place]
        source, target = image.opened(opened), opened.enter_context(places[0].make("data"))
        duplicate(source, target, how, watch, doing)
        parts = [target, *(opened.enter_context(move_log(target, place)) for place in places[1:])]
        configure(target, settings, account)
        for part in parts:
            hand_over(part, account)
        drop_caches([source, *parts])
        for place in places:
            admit(place, account)
        for part in parts:
            if account:
                account.owns(part.handle)
        return target.path
