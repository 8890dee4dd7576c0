"""The page's server: the page, its events, and the same figures for Prometheus.

It answers on loopback alone unless told otherwise, and then only to those who know its token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from importlib.resources import files

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)
from starlette.types import Receive, Scope, Send

from kneebench.errors import KneebenchError, PlanError
from kneebench.live.address import Address, token_for
from kneebench.live.campaign_state import CampaignState
from kneebench.stopping_signals import stop_by

EVERY_S = 0.5
"""Between two looks at the folder."""
KEPT_S = 0.25
"""For which a state is sent as it was made, if nothing changes, to all who ask for it."""
RETRY_MS = 1000
"""After which a page that lost its connection tries again."""
MOST_STREAMS = 64
"""Pages that listen at once: each second is sent to every one of them."""
HERE = ("127.0.0.1", "localhost", "::1")
"""Names by which a page on loopback may be asked for, besides its own: another name that leads here
(DNS rebinding) is refused.
"""
GET = ["GET", "HEAD"]
"""What is answered for all but the events, which never end."""
NO_SCRIPTS_FROM_ELSEWHERE = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'"
POLICY = f"{NO_SCRIPTS_FROM_ELSEWHERE}; connect-src 'self'; img-src data:; frame-ancestors 'none'"


class Stream(StreamingResponse):
    """The events for one page, which is counted until it leaves."""

    def __init__(self, follower: Follower) -> None:
        super().__init__(follower.events(), media_type="text/event-stream")
        self._follower = follower
        follower.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._follower.streams -= 1


class Follower:
    """Looks at the folder again and again, and tells all who listen what has changed."""

    def __init__(self, state: CampaignState) -> None:
        self.state = state
        self.streams = 0
        """How many pages listen now."""
        self._changed = asyncio.Condition()
        self._number, self._whole = 0, 0
        self._status: tuple[bool, bool] | None = None
        self._made, self._made_at_s = "", 0.0

    async def follow(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Look once, and tell what has changed."""
        heard_s, before = self.state.heard_s, self._status
        self._status = (self.state.finished, self.state.running)
        try:
            more = self.state.refresh()
        except (KneebenchError, OSError) as error:  # the folder was moved, or is damaged
            self.state.messages.append(str(error))
            more = False
        if more or self._status != before:
            await asyncio.to_thread(self.state.analyse)
            await self._tell(whole=True)
        elif self.state.heard_s != heard_s:
            await self._tell(whole=False)

    async def _tell(self, *, whole: bool) -> None:
        async with self._changed:
            self._number += 1
            self._whole = self._number if whole else self._whole
            self._made = ""
            self._changed.notify_all()

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events: all of the state, then each second alone until more has changed."""
        seen, name = self._number, "state"
        yield f"retry: {RETRY_MS}\n\n"
        while True:
            said = self.whole() if name == "state" else json.dumps(self.state.now())
            yield f"event: {name}\ndata: {said}\n\n"
            number = await self._after(seen)
            name, seen = "state" if self._whole > seen else "second", number

    def whole(self) -> str:
        """All of the state, as JSON. One is made for all who ask at once."""
        now_s = time.monotonic()
        if not self._made or now_s - self._made_at_s > KEPT_S:
            self._made, self._made_at_s = json.dumps(self.state.whole()), now_s
        return self._made

    async def _after(self, number: int) -> int:
        """Wait for the next change; its number."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._number > number)
            return self._number


def application(state: CampaignState, *, token: str = "", names: Sequence[str] = HERE) -> FastAPI:
    """The page's server; with a token only for those who know it, else under these names alone."""
    follower = Follower(state)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await follower.look()
        following = asyncio.create_task(follower.follow())
        yield
        following.cancel()

    app = FastAPI(title="Kneebench live", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.middleware("http")(partial(_guarded, token, names))
    _add_answers(app, state, follower)
    return app


async def _guarded(
    token: str,
    names: Sequence[str],
    request: Request,
    answer: Callable[[Request], Awaitable[Response]],
) -> Response:
    """Ask for the token, if there is one, once: a cookie keeps it; else for a name of this
    machine.
    """
    if not token and request.url.hostname not in names:
        return PlainTextResponse("unknown host", status_code=400)
    given = request.query_params.get("token") or request.cookies.get("token") or ""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    bearer = bearer.strip() if scheme.lower() == "bearer" else ""
    if token and not any(
        secrets.compare_digest(one.encode(), token.encode()) for one in (given, bearer)
    ):
        return PlainTextResponse("add ?token=... as kneebench printed it", status_code=401)
    response = await answer(request)
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["Cache-Control"] = "no-store"
    if token and given:
        response.set_cookie("token", token, httponly=True, samesite="strict")
    return response


def _add_answers(app: FastAPI, state: CampaignState, follower: Follower) -> None:
    """What is answered, by path."""

    @app.api_route("/", methods=GET)
    def page() -> HTMLResponse:
        return HTMLResponse(_asset("live.html").replace("/*style*/", _asset("live.css")))

    @app.api_route("/live.js", methods=GET)
    def script() -> Response:
        return Response(_asset("live.js"), media_type="text/javascript")

    @app.api_route("/state", methods=GET)
    async def whole() -> Response:
        return Response(follower.whole(), media_type="application/json")

    @app.get("/events")
    async def events() -> Response:
        if follower.streams >= MOST_STREAMS:
            words = f"{MOST_STREAMS} pages are open already: close one"
            return PlainTextResponse(words, status_code=503)
        return Stream(follower)

    @app.api_route("/metrics", methods=GET)
    async def metrics() -> PlainTextResponse:
        text, media_type = exposition(state)
        return PlainTextResponse(text, media_type=media_type)


def serve(state: CampaignState, at: Address, report: Callable[[str], None]) -> None:
    """Serve the page until a stopping signal; `report` gets its URL once it answers. Raises
    PlanError where the address is taken.
    """
    token = token_for(at)
    app = application(state, token=token, names=(at.host, *HERE))
    config = uvicorn.Config(
        app, host=at.host, port=at.port, log_level="critical", timeout_graceful_shutdown=1
    )
    try:
        listening = config.bind_socket()
    except SystemExit as error:
        raise PlanError(
            "--listen", seen=f"{at.text} cannot be listened on", do="use another host or port"
        ) from error
    listening.listen()
    server, port = uvicorn.Server(config), listening.getsockname()[1]
    stop_by(server.handle_exit)
    report(at._replace(port=port).url(token))
    server.run(sockets=[listening])


def _asset(name: str) -> str:
    return (files("kneebench.live") / name).read_text(encoding="utf-8")


SECOND = {
    "nopm": ("kneebench_nopm", "New-Orders per minute"),
    "users": ("kneebench_users", "Virtual users of the rung"),
    "mean_s": ("kneebench_latency_mean_seconds", "Mean latency of all transactions"),
    "p999_s": ("kneebench_latency_p999_seconds", "P99.9 latency of all transactions"),
    "late_s": ("kneebench_clock_delay_seconds", "Longest delay of the load generator's clock"),
    "log_write_s": ("kneebench_log_write_seconds", "Mean log write"),
    "read_await_s": ("kneebench_device_read_seconds", "Mean device read"),
    "write_await_s": ("kneebench_device_write_seconds", "Mean device write"),
    "read_bytes_per_s": ("kneebench_device_read_bytes_per_second", "Read from the devices"),
    "write_bytes_per_s": ("kneebench_device_write_bytes_per_second", "Written to the devices"),
}
"""By field of a second: the metric's name, and what it is."""

LEFT = {
    "left_s": "Expected until the end of the campaign",
    "left_low_s": "The least that is expected until its end",
    "left_high_s": "The most that is expected until its end",
}
"""The same of the time left."""

disable_created_metrics()  # type: ignore[no-untyped-call]


def exposition(state: CampaignState) -> tuple[str, str]:
    """The metrics as text, and its media type. Between rungs there are none of a second; those of
    the last one stay when the campaign has ended.
    """
    registry, now, campaign = CollectorRegistry(), state.now(), state.campaign_id
    made = dict[str, Counter | Gauge]()

    def put(name: str, about: str, value: float, **labels: str) -> None:
        kind = Counter if name.endswith("_total") else Gauge
        if name not in made:
            made[name] = kind(name, about, ["campaign", *labels], registry=registry)
        made[name].labels(campaign, *labels.values()).inc(value)

    put("kneebench_running", "1 while the campaign is measured", float(now["running"]))
    put("kneebench_elapsed_seconds", "Since the campaign was started", now["elapsed_s"])
    for name, about in LEFT.items():
        put(f"kneebench_{name}econds", about, now.get(name, 0.0))
    for id, rungs in state.rungs.items():
        put("kneebench_rungs_total", "Rungs measured", rungs, **state.labels(id))
        failed = state.failed[id]
        put("kneebench_failed_transactions_total", "Failed", failed, **state.labels(id))
    if not state.seconds or (now["running"] and not now["second"]):
        return generate_latest(registry).decode(), CONTENT_TYPE_LATEST
    last = state.seconds[-1]
    labels = {**state.labels(last["configuration"]), "phase": last["phase"]}
    for field, (name, about) in SECOND.items():
        if field in last:
            put(name, f"{about}, in the latest second", last[field], **labels)
    for core, share in last["cores"].items():
        put("kneebench_core_busy_ratio", "Busy share of a database's core", share, core=core)
    return generate_latest(registry).decode(), CONTENT_TYPE_LATEST
