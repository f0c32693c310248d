from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest

from contextecho.engine import Tally, open_progress
from contextecho.engine.progress import Bar, Lines, Quiet, summary
from contextecho.models import Usage


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands at a minute."""
    monkeypatch.setattr("contextecho.engine.progress.time", SimpleNamespace(monotonic=lambda: 60.0))


def tally() -> Tally:
    return Tally(total=600, done=100, reused=30, failed=20, began=0.0)


def test_the_line_says_what_is_done_reused_failed_spent_and_left():
    counted = tally()
    counted.add(Usage(input=8_000, cached=6_000, output=150), 0.25)
    counted.add(Usage(input=2_000, cached=None, output=50), 0.50)
    assert summary(counted) == (
        "asking 150/600, 3 min 45 s left, 20 failed, $0.75, 30 from the store,"
        " 10.0k tokens in (60% cached), 200 out"  # 120 requests took 60 s, 450 are left
    )


def test_dollars_are_not_shown_once_a_price_was_missing():
    counted = tally()
    counted.add(Usage(input=10, output=1), 0.25)
    counted.add(Usage(input=10, output=1), None)
    counted.add(Usage(input=10, output=1), 0.25)
    assert counted.dollars is None
    assert "$" not in summary(counted)


def test_nothing_is_predicted_before_the_first_reply():
    assert Tally(total=5, reused=3).seconds_left is None
    waiting = "the first prefix is being read"
    assert summary(Tally(total=5)) == f"asking 0/5, {waiting}"
    assert summary(Tally(total=5, doing="judging", ended=True)) == "judging 0/5"


def test_a_call_without_usage_adds_no_tokens():
    counted = tally()
    counted.add(None, 0.0)
    assert (counted.calls, counted.input) == (1, 0)
    assert "(0" not in summary(counted)


def test_lines_are_plain_and_end_with_the_last_state():
    stream = io.StringIO()
    lines = Lines(stream)
    lines.show(Tally(total=2, calls=1))
    lines.say("openai/one stopped: \x1b[31mno\nkey")
    lines.close(Tally(total=2, done=2))
    assert stream.getvalue().splitlines() == [
        "asking 0/2, 0 tokens in, 0 out",
        "openai/one stopped: ⟨U+001B⟩[31mno key",
        "asking 2/2",
    ]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]):
    quiet = Quiet()
    quiet.show(tally())
    quiet.say("stopped")
    quiet.close(tally())
    assert capsys.readouterr() == ("", "")


def test_what_is_shown_suits_the_stream(monkeypatch: pytest.MonkeyPatch):
    assert type(open_progress()) is Lines
    assert type(open_progress(quiet=True)) is Quiet
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert type(open_progress()) is Bar


@pytest.mark.parametrize(
    ("columns", "end"),
    [
        (60, "3 min 45 s left"),
        (80, "3 min 45 s left, 20 failed, $0.75"),
        (100, "3 min 45 s left, 20 failed, $0.75, 30 from the store"),
        (140, ", 30 from the store, 10.0k tokens in (60% cached), 200 out"),
    ],
)
def test_a_narrow_terminal_loses_the_least_important_words_and_only_whole_ones(
    columns: int, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = tally()
    shown.add(Usage(input=10_000, cached=6_000, output=200), 0.75)
    Bar().close(shown)
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", drawn) if line.strip()]
    assert lines[-1].startswith("asking ")
    assert lines[-1].endswith(end)
    assert len(lines[-1]) <= columns


def test_the_bar_draws_on_stderr_and_takes_messages_literally(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    bar = Bar()
    bar.show(tally())
    bar.say("[bold]not markup[/bold]")
    bar.close(tally())
    out, err = capsys.readouterr()
    assert out == ""
    assert "[bold]not markup[/bold]" in err
    assert "150/600" in err
    assert "asking" in err
    bar.close(Tally(total=20, done=20, doing="judging"))
    again = capsys.readouterr().err
    assert "judging" in again
    assert "20/20" in again
