"""A PostgreSQL server of the project's own, for tests and demonstrations.

    python tools/postgres.py install            Debian's package, if initdb is not there (needs root)
    python tools/postgres.py run -- COMMAND     a fresh server on loopback while COMMAND runs; its address is
                                                in the environment variable COTERIE_POSTGRES

A server lives in a temporary folder, listens on 127.0.0.1 with a random password, keeps its promises
(fsync is on), and is gone afterwards. Where the caller is root it runs as the user postgres.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

USER = "postgres"


def binaries() -> Path | None:
    """Return the folder with initdb and pg_ctl, the newest one there is, or None."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in folders), key=lambda path: int(path.parent.name), default=None)


def install() -> Path:
    """Install Debian's PostgreSQL if it is not there; return the folder of its programs."""
    with (Path(tempfile.gettempdir()) / "coterie-install-postgres").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process installs, the others wait
        if (found := binaries()) is not None:
            return found
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise SystemExit("PostgreSQL is not installed: install Debian's package postgresql, or its like")
        _apt("update")
        _apt("install", "postgresql-common")
        settings = Path("/etc/postgresql-common/createcluster.conf")  # no server besides ours
        text = settings.read_text() if settings.exists() else ""
        text = re.sub(r"(?m)^#?\s*create_main_cluster\b.*$", "", text)
        settings.write_text(text.rstrip() + "\ncreate_main_cluster = false\n")
        _apt("install", "postgresql")
        if (found := binaries()) is None:
            raise SystemExit("Debian's package postgresql brought no initdb")
        return found


def _apt(*words: str) -> None:
    subprocess.run(  # noqa: S603
        ["apt-get", "--quiet", "--yes", "--no-install-recommends", *words],  # noqa: S607
        check=True,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=sys.stderr,
    )


class Server:
    """A server in a folder; `running` makes one."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs
        self.password = secrets.token_hex(16)
        self.port = _free_port()

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database, password included."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
        """Make the files of an empty server."""
        (self.folder / "password").write_text(self.password)
        (self.folder / "password").chmod(0o644)  # in a folder that only the server's user can enter
        self._call(
            *("initdb", "--no-sync", "--username", USER, "--pwfile", str(self.folder / "password")),
            *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "-D", str(self.data)),
        )
        (self.folder / "password").unlink()
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                "shared_buffers = 128MB\nmax_connections = 50\nlog_timezone = 'UTC'\nfsync = on\n"
            )

    @property
    def data(self) -> Path:
        """Folder of the database files."""
        return self.folder / "data"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._call(
            "pg_ctl", "start", "-w", "-t", "60", "-D", str(self.data), "-l", str(self.data / "server.log")
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is a crash: it recovers from its log when it is started again."""
        self._call("pg_ctl", "stop", "-w", "-t", "60", "-m", mode, "-D", str(self.data))

    def _call(self, program: str, *words: str) -> None:
        command = [str(self.programs / program), *words]
        if os.geteuid() == 0:
            command = ["runuser", "-u", USER, "--", *command]
        done = subprocess.run(  # noqa: S603
            command,
            cwd=self.folder,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{program} {words[0]} failed: {done.stderr[-2000:]}")


@contextlib.contextmanager
def running(parent: Path | None = None) -> Iterator[Server]:
    """Run a fresh server while the block lasts, its files in a temporary folder in `parent`."""
    programs = install()
    folder = Path(tempfile.mkdtemp(prefix="coterie-postgres-", dir=parent))
    server = Server(folder, programs)
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(words: list[str]) -> int:
    """Do what the command line says."""
    if words == ["install"]:
        print(install())
        return 0
    if words[:2] == ["run", "--"] and words[2:]:
        with running() as server:
            environment = {**os.environ, "COTERIE_POSTGRES": server.url()}
            return subprocess.run(words[2:], check=False, env=environment).returncode  # noqa: S603
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
