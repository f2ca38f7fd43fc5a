"""The free queue: order, tickets, and what a broken link is told as."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from kvarium_engine.memory import free_queue
from kvarium_engine.memory.free_queue import PIECE, BrokenQueueError, FreeQueue


def queue_of(blocks: int) -> tuple[FreeQueue, list[float]]:
    tickets = [0.0] * blocks
    return FreeQueue(tickets), tickets


def test_blocks_leave_at_the_head_in_the_order_of_their_numbers() -> None:
    queue, tickets = queue_of(5)
    assert queue.popleft_n(3) == ([0, 1, 2], [0.0, 1.0, 2.0])
    assert queue.walk() == [3, 4]
    assert all(math.isnan(ticket) for ticket in tickets[:3])


def test_appended_blocks_stand_behind_the_tail_with_growing_tickets() -> None:
    queue, _ = queue_of(4)
    queue.popleft_n(4)
    assert queue.append_n([2, 0]) == [4.0, 5.0]
    assert queue.append_n([3]) == [6.0]
    assert queue.walk() == [2, 0, 3]


def test_prepended_blocks_stand_before_the_head_with_shrinking_tickets_the_first_first() -> None:
    queue, _ = queue_of(4)
    queue.popleft_n(3)
    assert queue.prepend_n([2, 1]) == [-2.0, -1.0]
    assert queue.prepend_n([0]) == [-3.0]
    assert queue.walk() == [0, 2, 1, 3]


def test_a_block_leaves_from_the_middle_with_its_ticket() -> None:
    queue, _ = queue_of(4)
    assert queue.remove(2) == 2.0
    assert queue.walk() == [0, 1, 3]
    assert len(queue) == 3


def test_a_queue_that_was_emptied_fills_again() -> None:
    queue, _ = queue_of(1)
    queue.popleft_n(1)
    assert queue.walk() == []
    queue.append_n([0])
    assert queue.walk() == [0]


def test_the_first_and_the_last_block_leave_as_any_other_and_the_rest_stays_in_order() -> None:
    queue, _ = queue_of(5)
    assert (queue.remove(0), queue.remove(4)) == (0.0, 4.0)
    assert queue.walk() == [1, 2, 3]
    assert queue.popleft_n(1) == ([1], [1.0])
    assert queue.append_n([4]) == [5.0]
    assert queue.walk() == [2, 3, 4]


def test_of_an_empty_queue_no_block_can_be_taken_but_none_can() -> None:
    queue, _ = queue_of(2)
    assert queue.popleft_n(2) == ([0, 1], [0.0, 1.0])
    assert queue.popleft_n(0) == ([], [])
    with pytest.raises(AssertionError, match="1 blocks asked of a free queue of 0"):
        queue.popleft_n(1)
    with pytest.raises(AssertionError, match="block 0 is not in the free queue"):
        queue.remove(0)
    assert (queue.walk(), len(queue)) == ([], 0)


def test_drained_and_refilled_it_gives_the_blocks_in_the_order_in_which_they_came() -> None:
    queue, _ = queue_of(6)
    for order in ([3, 1, 5, 0, 2, 4], [4, 2, 0, 5, 1, 3]):
        queue.popleft_n(6)
        queue.append_n(order[:2])
        queue.append_n(order[2:])
        assert queue.walk() == order
        assert queue.popleft_n(4)[0] == order[:4]
        queue.prepend_n(order[:4])
        assert queue.walk() == order, "n at a time, taken from the head and given back to it"


def test_it_counts_the_blocks_that_came_back() -> None:
    queue, _ = queue_of(3)
    queue.popleft_n(3)
    queue.append_n([1])
    queue.prepend_n([0, 2])
    assert queue.entered == 3


def test_it_refuses_more_than_it_has_and_doubled_or_absent_blocks_and_stays_as_it_was() -> None:
    queue, _ = queue_of(3)
    with pytest.raises(AssertionError, match="4 blocks asked of a free queue of 3"):
        queue.popleft_n(4)
    with pytest.raises(AssertionError, match="block 1 is in the free queue already"):
        queue.append_n([1])
    with pytest.raises(AssertionError, match="block 2 is in the free queue already"):
        queue.prepend_n([2])
    assert queue.walk() == [0, 1, 2]
    queue.popleft_n(1)
    with pytest.raises(AssertionError, match="block 0 is not in the free queue"):
        queue.remove(0)
    assert queue.walk() == [1, 2]


@pytest.mark.parametrize("piece", [1, 4, 16, PIECE])
def test_it_follows_a_plain_list_through_thousands_of_random_moves(
    rng: random.Random, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_queue, "PIECE", piece)
    queue, tickets = queue_of(40)
    plain, out = list(range(40)), []
    for _ in range(4000):
        move = rng.randrange(4)
        if move == 0:
            taken = plain[: rng.randrange(len(plain) + 1)]
            assert queue.popleft_n(len(taken))[0] == taken
            plain, out = plain[len(taken) :], out + taken
        elif move == 1 and plain:
            some = rng.sample(plain, rng.randrange(1, len(plain) + 1)) if rng.random() < 0.3 else [plain[-1]]
            if len(some) == 1:
                queue.remove(some[0])
            else:
                queue.remove_n(some)
            plain = [block for block in plain if block not in some]
            out += some
        elif move == 1 and out:
            block = out.pop()
            queue.append(block)
            plain.append(block)
            if plain[0] not in out:
                assert queue.popleft()[0] == plain[0]
                out.append(plain.pop(0))
        elif out:
            rng.shuffle(out)
            cut = rng.randrange(len(out) + 1)
            some, out = out[:cut], out[cut:]
            if move == 2:
                queue.append_n(some)
                plain = plain + some
            else:
                queue.prepend_n(some)
                plain = some + plain
        assert queue.walk() == plain
        assert [tickets[block] for block in plain] == sorted(tickets[block] for block in plain)
        assert len(queue) == len(plain)
        assert entries(queue) <= 2 * len(plain) + 2 * piece


@pytest.mark.parametrize("column", ["_order", "_places"])
def test_an_entry_that_was_changed_is_left_out_and_lacks(column: str) -> None:
    queue, _ = queue_of(6)
    getattr(queue, column)[2] = 5
    with pytest.raises(BrokenQueueError, match="5 blocks are reached, 6 are counted") as raised:
        queue.walk()
    assert raised.value.args[1] == [0, 1, 3, 4], (
        "the last one is left out too, so that a mere miscount differs"
    )


def test_two_blocks_that_changed_places_are_noticed_by_their_tickets() -> None:
    queue, tickets = queue_of(6)
    tickets[1], tickets[2] = tickets[2], tickets[1]
    with pytest.raises(BrokenQueueError, match="4 blocks are reached, 6 are counted"):
        queue.walk()
    places = queue._places
    places[1], places[2] = places[2], places[1]
    with pytest.raises(BrokenQueueError, match="block 2 stands behind a later ticket") as raised:
        queue.walk()
    assert raised.value.args[1] == [0, 1]


def entries(queue: FreeQueue) -> int:
    """How many entries the queue has, stale ones and those left of the head included."""
    return len(queue._front) + sum(len(order) for order, _ in queue._pieces.values())


def test_hits_without_an_allocation_leave_no_more_entries_than_there_is_room_for() -> None:
    queue, _ = queue_of(100)
    for turn in range(50_000):
        block = turn * 7 % 100
        queue.remove(block)
        queue.append(block)
    assert entries(queue) <= 2 * 100 + 2 * PIECE
    assert len(queue._line) <= 3 * PIECE, "pieces that have nothing left leave the line, too"
    assert queue.walk() == [turn * 7 % 100 for turn in range(49_900, 50_000)]


class Counted(list[float]):
    """A column of tickets that counts how often one is read: whoever looks at an entry reads its block's."""

    reads = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def, override]
        self.reads += 1
        return super().__getitem__(at)


def test_no_single_call_looks_at_more_entries_than_a_few_pieces_have(rng: random.Random) -> None:
    blocks = 40 * PIECE
    tickets = Counted([0.0] * blocks)
    queue = FreeQueue(tickets)
    longest = 0

    def call(verb: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal longest
        tickets.reads = 0
        found = verb(*arguments)
        longest = max(longest, tickets.reads)
        return found

    for _ in range(3 * blocks):
        block = rng.randrange(blocks)
        call(queue.remove, block)
        call(queue.append, block)
    assert longest <= 2 * PIECE, "hits all over the queue"
    assert entries(queue) <= 2 * blocks + 2 * PIECE
    order = queue.walk()
    for start in range(0, blocks // 2, 32):
        call(queue.remove_n, order[start : start + 32])
    assert call(queue.popleft)[0] == order[blocks // 2], "behind a long run of stale entries"
    assert call(queue.popleft_n, 4)[0] == order[blocks // 2 + 1 : blocks // 2 + 5]
    assert call(queue.prepend_n, order[:32]) == list(range(-32, 0))
    assert longest <= 2 * PIECE


def test_what_was_taken_is_forgotten_and_what_comes_to_the_head_finds_room() -> None:
    queue, _ = queue_of(3000)
    for _ in range(20):
        blocks, _ = queue.popleft_n(2500)
        queue.append_n(blocks[:1000])
        queue.prepend_n(blocks[1000:])
        [*one, last], _ = queue.popleft_n(2)
        assert one == blocks[1000:1001]
        queue.prepend_n([*one, last])
        assert queue.popleft()[0] == blocks[1000]
        queue.append(blocks[1000])
    assert len(queue.walk()) == 3000
    assert entries(queue) < 3000 + 2 * PIECE


def test_a_queue_of_a_million_blocks_starts_at_once_and_takes_one_from_the_middle() -> None:
    queue, _ = queue_of(1_000_000)
    assert queue.remove(500_000) == 500_000.0
    assert queue.popleft_n(2)[0] == [0, 1]
    assert len(queue) == 999_997
