"""What the store tells the processes that share a run: what is open, and who is at work."""

from __future__ import annotations

from contextecho.models import Answer, Failed, FailureKind
from contextecho.store import open_store
from store.plans import make_plan


def test_a_lock_is_seen_by_others_as_long_as_it_is_held(place: str) -> None:
    with open_store(place) as store, open_store(place) as other:
        for _ in range(2):
            assert not other.is_locked("run-1")
            with store.lock("run-1"):
                assert other.is_locked("run-1")
                assert not other.is_locked("run-2")
        assert not other.is_locked("run-1")


def test_what_is_open_and_what_was_found_invalid(place: str) -> None:
    plan = make_plan(probes=3)  # 12 cells, each its own request
    requests = [plan.request(cell) for cell in plan.cells]
    again = Failed(kind=FailureKind.SERVER, message="gone", status=500)
    never = Failed(kind=FailureKind.BAD_REQUEST, message="too long", status=400)
    with open_store(place) as store:
        run = store.begin_run(plan, "s", {})
        assert store.missing_keys(run.id) == {bytes.fromhex(r.key) for r in requests}
        for request, reply in zip(requests, (Answer(text="Fine."), again, never), strict=False):
            store.settle(store.open_attempt(run.id, request), reply)
        store.open_attempt(run.id, requests[3])  # and lost
        assert store.missing_keys(run.id) == {
            bytes.fromhex(r.key) for r in (requests[1], *requests[3:])
        }
        assert store.count_failed(run.id) == 1
