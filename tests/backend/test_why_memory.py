"""Where the memory goes, and whether it leaks: of recordings of the real engine, held against its own objects and planted faults."""

from collections.abc import Iterator
from typing import Any

import pytest

from kvarium.errors import OutOfRangeError
from kvarium.why.leaks import Leaks
from kvarium.why.memory import Memory
from kvarium.why.questions import LeaksAt, MemoryAt
from kvarium.why.telling import lines
from kvarium_engine.scheduling.request import Request
from kvarium_ledger.operations import Cause
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored, tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


# -- where it goes ------------------------------------------------------------------------------------------------------


def test_blocks_by_kind_and_holder_unfilled_slots_and_what_sharing_saves(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=20, block_size=4)
    prefix = tokens(9, 8)
    engine.submit(tokens(1, 12), max_tokens=1, name="gone")
    engine.step()
    engine.submit(prefix + tokens(2, 1), max_tokens=9, name="one")
    engine.submit(prefix + tokens(3, 3), max_tokens=9, name="two")
    engine.step()
    found = ask(server, record(server, engine), MemoryAt())
    assert isinstance(found, Memory)
    # ``gone`` left 3 cached blocks; 2 blocks are shared, and each of the two has one more, with 1 and 3 of 4 slots filled.
    assert (found.active, found.shared, found.cached, found.free) == (2, 2, 3, 13)
    assert (found.slots, found.unused, found.tails, found.reserved) == (16, 4, 2, 0)
    assert (found.held, found.entries, found.saved, found.saving) == (4, 6, 2, 1 / 3)
    assert [
        (each.who.name, each.blocks, each.entries, each.alone, each.unused) for each in found.requests
    ] == [
        ("one", 3, 3, 1, 3),
        ("two", 3, 3, 1, 1),
    ]
    assert (found.duplicates, found.pinned.pins) == (0, 0)
    assert "sharing saves 2 blocks of 6 (33.3 %)" in lines(found)


def test_samples_of_one_request_share_and_hold_their_blocks_alone(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=20, block_size=4)
    engine.submit(tokens(1, 7), n=3, max_tokens=9, name="samples")
    engine.step()
    found = ask(server, record(server, engine), MemoryAt())
    # Shared by three of its sequences, and by nobody else: preempting it would set both free.
    assert (found.active, found.shared, found.entries, found.saved) == (0, 2, 6, 4)
    [only] = found.requests
    assert (only.blocks, only.entries, only.alone) == (2, 6, 2)


def test_a_content_in_two_blocks_is_memory_that_sharing_does_not_save(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=20, block_size=4)
    for name in ("first", "again"):
        engine.submit(tokens(1, 8), max_tokens=1, name=name)
        engine.run()
    found = ask(server, record(server, engine), MemoryAt())
    # A hit leaves one token to compute: the second block was computed again.
    assert (found.cached, found.duplicates, found.saving, found.requests) == (3, 1, None, [])


def test_reserved_blocks_of_a_contiguous_cache_are_wholly_unfilled(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=16, block_size=4, length=32, reserve="max")
    engine.submit(6, max_tokens=5, name="reserves")
    engine.step()
    found = ask(server, record(server, engine), MemoryAt())
    assert (found.active, found.slots, found.unused, found.tails, found.reserved) == (8, 32, 26, 7, 6)


# -- what leaks ---------------------------------------------------------------------------------------------------------


class Leaky(Mirrored):
    """An engine with a planted fault: requests whose names begin with "leak" end without giving their blocks back."""

    def __init__(self, **options: Any) -> None:
        super().__init__(audit_interval=10_000, **options)
        give_back = self.roster._free

        def free(request: Request, cause: Cause) -> None:
            if not request.name.startswith("leak"):
                give_back(request, cause)

        self.roster._free = free  # type: ignore[method-assign]


def leaky() -> Leaky:
    engine = Leaky(num_blocks=20, block_size=4)
    prefix = tokens(9, 8)
    engine.submit(prefix + tokens(1, 1), max_tokens=1, name="leaks early")
    engine.step()
    engine.submit(prefix + tokens(2, 1), max_tokens=30, name="lives")
    engine.step()
    engine.submit(prefix + tokens(3, 6), max_tokens=2, name="leaks late")
    engine.step(3)
    return engine


def test_blocks_of_requests_that_have_ended_are_told_against_a_baseline(server: RunningServer) -> None:
    engine = leaky()
    session = record(server, engine)
    found = ask(server, session, LeaksAt(baseline=1))
    assert isinstance(found, Leaks)
    # Two of the prefix and one of its own; the later one adds the two of its own, and holds the prefix as well.
    assert (found.used_before, found.used, found.leaking, found.new) == (4, 6, 5, 2)
    assert {(leak.who.name, leak.position, leak.old) for leak in found.leaks if leak.who} == {
        *(("leaks early", position, True) for position in range(3)),
        *(("leaks late", position, False) for position in range(4)),
    }
    assert lines(found)[0] == "5 blocks held for nobody, 2 of them not yet after step 1, 3 already"


def test_what_a_living_request_shares_with_others_leaks_only_where_they_have_ended(
    server: RunningServer,
) -> None:
    engine = Mirrored(num_blocks=20, block_size=4)
    prefix = tokens(9, 8)
    engine.submit(prefix + tokens(1, 1), max_tokens=2, name="ends")
    engine.submit(prefix + tokens(2, 1), max_tokens=30, name="lives")
    engine.step(9)
    found = ask(server, record(server, engine), LeaksAt())
    # More blocks are in use than at the baseline, and all of them for somebody.
    assert (found.used_before, found.used, found.leaking, found.leaks) == (4, 5, 0, [])
    assert lines(found)[0].startswith("nothing leaks: 5 of 20 blocks are in use after step 8, 4 after step 0")


def test_a_baseline_behind_the_step_is_refused(server: RunningServer) -> None:
    session = record(server, leaky())
    message = "the baseline, step 4, lies behind step 3: give an earlier one"
    with pytest.raises(OutOfRangeError, match=f"^{message}$"):
        ask(server, session, LeaksAt(baseline=4, step=3))
    done = kvarium("why", session, "leaks", "--since", "4", "--step", "3", "--db", str(server.path))
    assert (done.returncode, done.stderr.strip()) == (1, f"kvarium: {message}")
    for name in ("memory", "leaks"):
        told = server.get(f"/sessions/{session}/why/{name}", step=3)
        assert told["step"] == 3
    assert told["leaking"] == 5
