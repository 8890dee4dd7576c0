"""The browser that pages are looked at with."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    "",
)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

INHERIT = ("bash", "-c", 'exec "${@:3}" --remote-debugging-pipe 3<&"$1" 4>&"$2"', "bash")
"""Gives the browser its pipe where it looks for it."""


def _moved(end: int) -> int:
    """The same end of a pipe by a number that is not one of the browser's own (3 and 4)."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD, 20)
    os.close(end)
    return moved


class Tab:
    """A page that stays open in a browser, by the browser's own debugging protocol over a pipe:
    what `--dump-dom` cannot look at, because the page never stops loading.
    """

    def __init__(self, profile: Path, width: int, height: int) -> None:
        there, self._commands = os.pipe()
        self._answers, back = os.pipe()
        there, back = _moved(there), _moved(back)
        flags = [f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(
            [*INHERIT, str(there), str(back), BROWSER, "--headless", *QUIET, *flags],
            pass_fds=(there, back),
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._number, self._read = 0, b""
        self.console: list[str] = []
        self.requested: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self._call(f"{domain}.enable", session=True)

    def open(self, url: str) -> None:
        """Go to a page."""
        self._call("Page.navigate", session=True, url=url)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        said = self._call(
            "Runtime.evaluate", session=True, expression=expression, returnByValue=True
        )
        return said["result"].get("value")

    def wait_until(self, expression: str, limit_s: float = 15.0) -> None:
        """Wait until an expression is true in the page."""
        until_s = time.monotonic() + limit_s
        while not self.evaluate(expression):
            assert time.monotonic() < until_s, f"never true: {expression}"
            time.sleep(0.1)

    def resize(self, width: int, height: int) -> None:
        """Give the page a window of so many pixels."""
        sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", session=True, **sizes)

    def printed(self) -> bytes:
        """The page on paper, as PDF."""
        return base64.b64decode(self._call("Page.printToPDF", session=True)["data"])

    def picture(self, file: Path) -> None:
        """What is seen now, as PNG."""
        shot = self._call("Page.captureScreenshot", session=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End the browser."""
        os.close(self._commands)
        self._process.terminate()
        self._process.wait()
        os.close(self._answers)

    def _call(self, method: str, session: bool = False, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        call: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            call["sessionId"] = self._session
        os.write(self._commands, json.dumps(call).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                self.console.append(json.dumps(said["params"])[:500])
            if said.get("method") == "Network.requestWillBeSent":
                self.requested.append(said["params"]["request"]["url"])
            if said.get("id") == self._number:
                assert "error" not in said, said
                found: dict[str, Any] = said["result"]
                return found

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            piece = os.read(self._answers, 1 << 16)
            assert piece, "the browser has ended"
            self._read += piece
        one, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(one)
        return found
