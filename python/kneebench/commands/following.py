"""A page on which a campaign is followed: `kneebench live`, and the process of it that `run --live`
starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.options import CampaignName, Root
from kneebench.commands.output import print_line
from kneebench.commands.resuming import Resumable
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from types import TracebackType

    from kneebench.plan.duration import Expected
    from kneebench.plan.study import Study
    from kneebench.records import Event, Watch

NICE = 19
"""The page has hardly any of a core that is wanted by what is measured."""
LAST_LOOK_S = 1.5
"""So long the page of a finished run is still there, for browsers to see the end."""

Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="ADDRESS",
        help="Where the page is served, [HOST:]PORT. Another host than loopback needs the token"
        " that is printed. Port 0: any that is free.",
    ),
]
ADDRESS = "127.0.0.1:8650"


def live(
    campaign: CampaignName = "latest", root: Root = CAMPAIGNS, listen: Listen = ADDRESS
) -> None:
    """Follow a campaign on a page: how far it is, its seconds, its curve, how near it is to a stop.

    The page reads the campaign's folder alone: it may be measured by another process, be finished,
    or be a copy. The page reconnects by itself. /metrics has the same figures for Prometheus.
    Ctrl-C ends the page; the campaign continues.

    \b
    Examples:
      kneebench live                       the newest campaign here
      kneebench live ./copied/campaign --listen 8651
      kneebench run plan.toml --live       the run and its page at once
    """
    from kneebench.extras import require_extra

    require_extra("live", "the live page")
    from kneebench.live.address import parse_address
    from kneebench.live.campaign_state import CampaignState
    from kneebench.live.page_server import serve
    from kneebench.results.campaign_names import find_campaign

    address = parse_address(listen)
    state = CampaignState(find_campaign(campaign, root))
    os.nice(NICE)
    with suppress(KeyboardInterrupt):  # how a page is ended
        serve(state, address, lambda url: print_line(f"live page: {url}", err=True))


def page_address(prometheus: str | None, *, live: bool) -> str | None:
    """Where the page of a run is served, which is printed; None where it is not wanted. Raises
    PlanError for an address that is none, or is taken.
    """
    if not live and prometheus is None:
        return None
    from kneebench.errors import PlanError
    from kneebench.extras import require_extra
    from kneebench.live.address import TOKEN, free_address, parse_address, token_for

    require_extra("live", "the live page")
    try:
        found = free_address(parse_address(prometheus or ADDRESS))
    except PlanError as error:
        option, do = "--prometheus" if prometheus else "--live", "use --prometheus [HOST:]PORT"
        raise PlanError(option, seen=error.seen, do=do) from error
    token = token_for(found)
    if token:
        os.environ[TOKEN] = token  # for the page's own process
    print_line(f"live page: {found.url(token)}", err=True)
    return found.text


@contextmanager
def followed(
    resumable: Resumable,
    study: Study,
    expecting: Expected,
    page: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> Iterator[Watch]:
    """The watcher of a run that may be resumed: in the terminal, and on a page where an address for
    one is given.
    """
    from kneebench.screen.watching import watching

    shown = watching(study, expecting, as_json=as_json, quiet=quiet)
    with LivePage(page) as live_page, shown as seen:
        yield resumable.watcher(live_page.watcher(seen))


class LivePage:
    """The page of a run, in a process of its own, from when the campaign's folder is known; none
    without an address.
    """

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LivePage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._process and self._process.poll() is None:
            if error is None or isinstance(error, typer.Exit):
                time.sleep(LAST_LOOK_S)
            self._process.terminate()
            self._process.wait()

    def watcher(self, watch: Watch) -> Watch:
        """`watch`; the page is started when the campaign's folder is there."""

        def receive(event: Event) -> None:
            watch(event)
            if "folder" in event.data and self._address and self._process is None:
                self._process = _serve(str(event.data["folder"]), self._address)

        return receive


def _serve(folder: str, address: str) -> subprocess.Popen[bytes]:
    """The page's process, which ends with this one, however that ends. It imports nothing from the
    directory it is started in.
    """
    from kneebench.lab.programs import ending_with_us

    command = [sys.executable, "-P", "-m", "kneebench", "live", folder, "--listen", address]
    silent = subprocess.DEVNULL  # the terminal is the run's
    return subprocess.Popen(ending_with_us(command), stdin=silent, stdout=silent, stderr=silent)
