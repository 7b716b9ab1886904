"""A headless Chromium, spoken to through pipes in its own protocol: nothing has to be installed but itself.

See https://chromedevtools.github.io/devtools-protocol/ and `--remote-debugging-pipe`.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 90
"""Seconds after which a browser that says nothing is given up."""


def binary() -> str | None:
    """The browser that CHROMIUM names, or one that is installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """A browser that is started when made, and ended by `close`."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        here, there = os.pipe(), os.pipe()
        reads, writes = _high(here[0]), _high(there[1])
        self._in, self._out = here[1], there[0]
        path = binary()
        assert path is not None
        flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--no-first-run",
            "--disable-gpu",
        ]
        flags += ["--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions"]
        flags += ["--hide-scrollbars", "--force-device-scale-factor=1", f"--user-data-dir={self.profile}"]
        silent = os.open(os.devnull, os.O_WRONLY)
        self.pid = os.posix_spawn(
            path,
            [path, *flags, "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, silent, 1),
                (os.POSIX_SPAWN_DUP2, silent, 2),
                (os.POSIX_SPAWN_DUP2, reads, 3),
                (os.POSIX_SPAWN_DUP2, writes, 4),
            ],
            setpgroup=0,
        )
        for one in (*here[:1], *there[1:], reads, writes, silent):
            os.close(one)
        self._number, self._buffer = 0, b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What a method gives; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._in, data) :]
        number = self._number
        while True:
            got = self._receive()
            if got.get("id") == number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                result: dict[str, Any] = got["result"]
                return result
            self.events.append(got)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._out], [], [], PATIENCE)[0]:
                raise RuntimeError(f"Chromium has said nothing for {PATIENCE} s")
            data = os.read(self._out, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """End the browser, with all processes that it has started."""
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)


def _high(number: int) -> int:
    """The same pipe under a number that is not among those that the browser wants."""
    return fcntl.fcntl(number, fcntl.F_DUPFD, 10)


class Tab:
    """A page in a browser."""

    def __init__(self, browser: Chromium, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.setCacheDisabled", cacheDisabled=True)
        self.size(width, height)
        self.dark(dark)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def dark(self, dark: bool) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path) -> None:
        """Load a file, and wait until it has been drawn."""
        self.browser.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        ready = "document.readyState === 'complete' ? done() : addEventListener('load', done)"
        self.eval(f"new Promise(done => {ready})")
        self.drawn()

    def drawn(self) -> None:
        """Wait for two frames."""
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def eval(self, code: str) -> Any:
        """What JavaScript gives, as plain data."""
        got = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return got["result"].get("value")

    def faults(self) -> list[str]:
        """What the console has said, uncaught exceptions, and requests other than that of the page itself."""
        self.drawn()
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            values = event["params"]
            match event["method"]:
                case "Runtime.exceptionThrown":
                    found.append(str(values["exceptionDetails"]))
                case "Runtime.consoleAPICalled":
                    found.append(f"console: {[one.get('value') for one in values['args']]}")
                case "Log.entryAdded":
                    found.append(f"log: {values['entry']['text']}")
                case "Network.requestWillBeSent" if not _own(values):
                    found.append(f"request: {values['request']['url']}")
        return found

    # What readers do.

    def point(self, x: float, y: float, kind: str = "mouseMoved", **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.drawn()

    def click(self, x: float, y: float) -> None:
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.point(x, y, kind, button="left", clickCount=1)

    def drag(self, x: float, y: float, by: float, down: float = 0) -> None:
        self.point(x, y)
        self.point(x, y, "mousePressed", button="left", clickCount=1)
        for step in range(1, 5):
            self.point(x + by * step / 4, y + down * step / 4, button="left", buttons=1)
        self.point(x + by, y + down, "mouseReleased", button="left", clickCount=1)

    def wheel(self, x: float, y: float, by: float) -> None:
        self.point(x, y, "mouseWheel", deltaX=0, deltaY=by)
        self.drawn()

    def key(self, name: str) -> None:
        text = {"text": name} if len(name) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **(text if kind == "keyDown" else {}))
        self.drawn()

    def box(self, selector: str, number: int = 0) -> dict[str, float]:
        """Where an element is, brought into sight: x, y, width and height."""
        self.eval(
            f"document.querySelectorAll({json.dumps(selector)})[{number}].scrollIntoView({{block: 'center'}})"
        )
        self.drawn()
        box: dict[str, float] = self.eval(
            f"document.querySelectorAll({json.dumps(selector)})[{number}].getBoundingClientRect().toJSON()"
        )
        return box

    def text(self, selector: str) -> str:
        text: str = self.eval(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return text

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """A picture of the page, or of what is in sight."""
        self.drawn()
        got = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(got["data"]))

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)


def _own(values: dict[str, Any]) -> bool:
    """Whether a request is that of the page itself, or needs no network."""
    url = values["request"]["url"]
    return values.get("type") == "Document" or url.startswith(("data:", "blob:"))
