"""A PostgreSQL server of the project's own, for tests and demonstrations.

    python -m tools.postgres COMMAND …     a fresh server on loopback while COMMAND runs; its address is in
                                           the environment variable COTERIE_POSTGRES

A server lives in a temporary folder, listens on 127.0.0.1 with a random password, keeps its promises (fsync
is on), and is gone afterwards. Where the caller is root, as in most containers, it runs as the user postgres:
that, and a crash from which it comes back, is why this is not pytest-postgresql (decision 0050).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.programs import found

USER = "postgres"
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 128MB
max_connections = 50
log_timezone = 'UTC'
fsync = on
"""


class Server:
    """A server in a folder; `running` makes one."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs
        self.data = folder / "data"
        self.password = secrets.token_hex(16)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database, password included."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
        """Make the files of an empty server."""
        password = self.folder / "password"
        password.write_text(self.password)
        password.chmod(0o644)  # in a folder that only the server's user can enter
        self._call(
            *("initdb", "--no-sync", "--username", USER, "--pwfile", str(password)),
            *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "-D", str(self.data)),
        )
        password.unlink()
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {self.port}{_SETTINGS}")

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._call("pg_ctl", "start", "-w", "-D", str(self.data), "-l", str(self.data / "server.log"))

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is a crash: it recovers from its log when it is started again."""
        self._call("pg_ctl", "stop", "-w", "-m", mode, "-D", str(self.data))

    def _call(self, program: str, *words: str) -> None:
        command = [str(self.programs / program), *words]
        if os.geteuid() == 0:
            command = ["runuser", "-u", USER, "--", *command]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        done = subprocess.run(command, cwd=self.folder, check=False, stderr=subprocess.PIPE, **quiet)  # noqa: S603
        if done.returncode:
            raise RuntimeError(f"{program} {words[0]} failed: {done.stderr.decode()[-2000:]}")


@contextlib.contextmanager
def running(parent: Path | None = None) -> Iterator[Server]:
    """Run a fresh server while the block lasts, its files in a temporary folder in `parent`."""
    if (initdb := found("initdb")) is None:
        raise RuntimeError("PostgreSQL is not installed: python tools/programs.py initdb")
    folder = Path(tempfile.mkdtemp(prefix="coterie-postgres-", dir=parent))
    server = Server(folder, initdb.parent)
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


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    with running() as own:
        environment = {**os.environ, "COTERIE_POSTGRES": own.url()}
        sys.exit(subprocess.run(sys.argv[1:], check=False, env=environment).returncode)  # noqa: S603
