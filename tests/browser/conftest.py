"""Real parts: Node runs the client that was built, Chromium runs the bundle that the package carries."""

import contextlib
import functools
import http.server
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from coterie.protocols.codeword.encode import CodewordEncoder

ROOT = Path(__file__).parents[2]
WEB = ROOT / "clients" / "web"
BUNDLE = ROOT / "src" / "coterie" / "service" / "pages" / "static" / "coterie.js"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

AXE_RUN = """async () => (await axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}))
  .violations.flatMap(({id, nodes}) => nodes.map((node) => `${id}: ${node.html.slice(0, 80)}`))"""

MOST_SECONDS_TO_START = 60


@pytest.fixture(scope="session")
def node(needs):
    """Run the client as a command: lines in, lines out."""
    program = shutil.which("node")
    needs("Node and the built client", program is not None and (WEB / "build" / "internal.js").is_file())

    def run(*arguments, lines):
        command = [program, str(WEB / "test" / "client.mjs"), *map(str, arguments)]
        done = subprocess.run(command, input="\n".join(lines), text=True, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


class GivenCoins:
    """Coins that were drawn elsewhere."""

    def __init__(self, draws):
        self._draws = np.array(draws, dtype=np.int64)

    def below_many(self, bound, size):
        assert size == len(self._draws)
        assert (self._draws < bound).all()
        return self._draws


@pytest.fixture(scope="session")
def python():
    """Encode with Python, given ids and draws; reports in hex."""

    def encode(plan, points, ids, draws):
        identities = np.array([list(one) for one in ids], dtype=np.uint8)
        reports, _ = CodewordEncoder(plan).encode_counting(np.array(points), identities, GivenCoins(draws))
        return [bytes(report).hex() for report in reports]

    return encode


@pytest.fixture(scope="session")
def program(needs):
    """Find Debian's Chromium."""
    found = shutil.which("chromium")
    needs("Chromium", found is not None)
    return found


@pytest.fixture(scope="session")
def driver(program):
    """Start what steers browsers."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium(driver, program):
    """Start one headless Chromium for all tests but one."""
    browser = driver.chromium.launch(executable_path=program, args=FLAGS)
    yield browser
    browser.close()


class Killable:
    """A Chromium of its own, with a profile that outlives it."""

    def __init__(self, driver, program, profile):
        port = profile / "DevToolsActivePort"
        port.unlink(missing_ok=True)
        where = ["--remote-debugging-port=0", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [program, "--headless", *FLAGS, *where, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + MOST_SECONDS_TO_START
        while not (port.is_file() and "\n" in port.read_text(encoding="utf-8")):
            assert time.monotonic() < until, "Chromium did not start"
            time.sleep(0.05)
        address = port.read_text(encoding="utf-8").splitlines()[0]
        self.context = driver.chromium.connect_over_cdp(f"http://127.0.0.1:{address}").contexts[0]

    def kill(self):
        os.killpg(self._process.pid, signal.SIGKILL)  # all of its processes, at once
        self._process.wait()


@pytest.fixture
def killable(driver, program, tmp_path):
    """Start browsers with one profile, one after the other, that may be killed."""
    started = []

    def start():
        started.append(Killable(driver, program, tmp_path))
        return started[-1]

    yield start
    for browser in started:
        with contextlib.suppress(ProcessLookupError):
            browser.kill()


@pytest.fixture(scope="session")
def origin(tmp_path_factory):
    """Serve the bundle and an empty page that has it as `coterie`; localhost is a secure context."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(BUNDLE, folder / "coterie.js")
    page = (
        '<!doctype html><script type="module">import * as c from "./coterie.js"; window.coterie = c;</script>'
    )
    (folder / "index.html").write_text(page, encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Say nothing."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def context(chromium):
    """Open a person's browser: its own storage, and no other page's."""
    with chromium.new_context() as opened:
        yield opened


@pytest.fixture
def opened(context, origin):
    """Open tabs of one person on one page."""

    def tab(context=context):
        page = context.new_page()
        page.goto(origin)
        page.wait_for_function("() => window.coterie")
        return page

    return tab


@pytest.fixture
def visit(context):
    """Open an address; whatever the page says to the console or throws is a failure, as is a cookie."""
    wrong = []

    def go(address, *, ready="#flow section", before=None):
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        if before:
            page.add_init_script(f"({before})()")
        page.goto(address)
        if ready:
            page.wait_for_selector(ready)
        return page

    yield go
    assert wrong == []
    assert context.cookies() == []


@pytest.fixture(scope="session")
def axe(needs):
    """Return what axe-core finds wrong with a page by WCAG 2.2, levels A and AA."""
    source = WEB / "node_modules" / "axe-core" / "axe.min.js"
    needs("axe-core", source.is_file())

    def run(page):
        page.evaluate(source.read_text(encoding="utf-8"))
        return page.evaluate(AXE_RUN)

    return run
