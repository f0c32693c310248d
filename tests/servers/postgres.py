"""A PostgreSQL server of the tests' own: a new cluster in a temporary folder, no network.

The one thing to know: Debian's `postgresql` brings the programs; nothing of the
machine's own server is used. The server refuses to run as root, so that root runs it
as `nobody`.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

_HBA = "local all guarded scram-sha-256\nlocal all all trust\n"
_SETTINGS = (
    "listen_addresses = ''\n"
    "fsync = off\n"  # a killed server loses nothing by it, a killed machine may
    "max_connections = 30\n"
    "lc_messages = 'C'\n"
)


def programs() -> Path | None:
    """The newest server's folder of programs, 15 or later; None where there is none."""
    homes = sorted(
        (home for home in Path("/usr/lib/postgresql").glob("*/bin/postgres")),
        key=lambda program: int(program.parts[-3]),
    )
    if homes and int(homes[-1].parts[-3]) >= 15:
        return homes[-1].parent
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found else None


class PostgresServer:
    """A cluster with a superuser `ce` and a database `ce`; every `url` is a schema of its own."""

    def __init__(self, bin: Path) -> None:
        """Make the cluster and start the server."""
        self._bin = bin
        self._who = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        self.folder = Path(tempfile.mkdtemp(prefix="ce-pg-"))
        self.folder.chmod(0o755)
        if self._who:
            os.chown(self.folder, 65534, 65534)
        self._data = self.folder / "data"
        self._numbers = itertools.count(1)
        self._call("initdb", "-D", str(self._data), "-U", "ce", "-A", "trust", "-E", "UTF8", "-N")
        (self._data / "pg_hba.conf").write_text(_HBA)
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(f"{_SETTINGS}unix_socket_directories = '{self.folder}'\n")
        self.start()
        self.run("CREATE DATABASE ce")

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        log = self.folder / "log"
        self._call("pg_ctl", "start", "-w", "-D", str(self._data), "-l", str(log))

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` in order, `immediate` as a crash does."""
        self._call("pg_ctl", "stop", "-w", "-m", mode, "-D", str(self._data))

    def close(self) -> None:
        """Stop it for good and take its folder away."""
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, *, user: str = "ce", database: str = "ce", schema: str | None = None) -> str:
        """Where a store can be: in a new schema, or in the one that is named."""
        if schema is None:
            schema = f"s{next(self._numbers)}"
            self.run(f"CREATE SCHEMA {schema}", database="ce")
        words = f"host={quote(str(self.folder), safe='')}&options=-csearch_path%3D{schema}"
        return f"postgresql://{user}@/{database}?{words}"

    def run(self, sql: str, *, database: str = "postgres") -> None:
        """Run a statement as the superuser."""
        import psycopg

        where = {"host": str(self.folder), "user": "ce", "dbname": database}
        with psycopg.connect(**where, autocommit=True) as connection:
            connection.execute(sql)

    def _call(self, program: str, *words: str) -> None:
        subprocess.run(
            [self._bin / program, *words],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            **self._who,  # type: ignore[call-overload]
        )
