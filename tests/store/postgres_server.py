"""A PostgreSQL server of the tests' own: it listens on a socket in a temporary folder and nowhere else.

PostgreSQL refuses root, so that as root it is run by another user.
"""

import itertools
import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path


def unprivileged_user() -> str | None:
    """Who runs what root may not, or must not, run; None when we are not root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@dataclass(frozen=True)
class PostgresServer:
    """A running server: its programs, its folder (data and socket) and who runs it."""

    programs: Path
    folder: Path
    user: str | None

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(
            command, user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()

    def start(self) -> None:
        settings = f"-c listen_addresses='' -c fsync=off -k {self.folder}"
        self.run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-w", "-o", settings, "start"
        )

    def stop(self, *, mode: str) -> None:
        self.control("-m", mode, "stop")

    def control(self, *arguments: str) -> None:
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", *arguments)

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"store_{next(_numbers)}"
        self.run("createdb", "-h", str(self.folder), "-U", "ragauge", name)
        return f"postgresql://ragauge@/{name}?host={self.folder}"


_numbers = itertools.count()


def find_programs() -> Path | None:
    """The folder with initdb and its like: on PATH, or where Debian keeps them."""
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if all((place / name).exists() for name in ("initdb", "createdb"))), None)
