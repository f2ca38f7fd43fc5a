"""Contiguous memory as a person asks for it: its options, what the start-up report says, the handshake, the demo."""

import subprocess
import sys

import pytest

from kvarium_engine.capacity import Capacity
from kvarium_engine.errors import UsageError
from kvarium_engine.handshake import hello
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.options import Options, resolve
from kvarium_engine.workload.mix import Mix
from kvarium_ledger.decisions import Finished, Refused, Submitted, Waiting
from kvarium_ledger.ledger import Ledger
from tests.engine.mirrored import Mirrored
from tests.engine.test_demo import Played


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"memory_backend": "buddy"}, "--memory-backend is paged or contiguous, not 'buddy'"),
        (
            {"memory_backend": "contiguous", "reserve": "half"},
            "--reserve is max, power-of-two or exact, not 'half'",
        ),
        (
            {"reserve": "max"},
            "--reserve max is of --memory-backend contiguous: paged memory reserves nothing",
        ),
        (
            {"memory_backend": "contiguous", "enable_prefix_caching": True},
            (
                "--enable-prefix-caching shares blocks between requests, which contiguous memory can't: leave it out, or run "
                "--memory-backend paged"
            ),
        ),
        (
            {"memory_backend": "contiguous", "free_order": "unhashed-first"},
            "--free-order unhashed-first is of --memory-backend paged: contiguous memory takes the first run that fits",
        ),
        (
            {"memory_backend": "contiguous", "num_blocks": 64, "max_model_len": 1025},
            (
                "--reserve max sets 65 blocks aside for each sequence (max_model_len 1,025); the pool has 64: lower "
                "--max-model-len, or give more blocks"
            ),
        ),
    ],
)
def test_what_does_not_go_together_is_said_in_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        resolve(Options(**given))  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_the_prefix_cache_is_on_with_paged_memory_and_off_with_contiguous_memory() -> None:
    assert resolve(Options()).config.enable_prefix_caching is True
    assert resolve(Options(enable_prefix_caching=False)).config.enable_prefix_caching is False
    for asked in (None, False):
        config = resolve(Options(memory_backend="contiguous", enable_prefix_caching=asked)).config
        assert (config.enable_prefix_caching, config.reservation) == (False, "max")


def test_longer_sequences_than_the_pool_holds_are_fine_where_not_all_of_them_are_reserved() -> None:
    for reserve in ("power-of-two", "exact"):
        options = Options(memory_backend="contiguous", reserve=reserve, num_blocks=64, max_model_len=4096)
        assert resolve(options).config.reservation == reserve


@pytest.mark.parametrize(
    ("reserve", "said"),
    [
        ("max", "it reserves 512 blocks (1.00 GiB) for each sequence"),
        (
            "power-of-two",
            (
                "it reserves for each sequence its prompt, and max_tokens rounded up to a power of two: at most 512 blocks "
                "(1.00 GiB)"
            ),
        ),
        (
            "exact",
            "it reserves for each sequence its prompt and max_tokens: at most 512 blocks (1.00 GiB)",
        ),
    ],
)
def test_the_report_says_what_is_reserved_and_how_many_fit(reserve: str, said: str) -> None:
    llama = Capacity(num_blocks=9849, block_size=16, bytes_per_token=131_072, max_model_len=8192)
    paged, contiguous = llama.lines(), llama.lines(reserve)
    assert contiguous == [
        paged[0],
        f"contiguous memory, without a prefix cache: {said}",
        "maximum concurrency for 8,192 tokens per request: 19x",
    ]
    assert paged[1] == "maximum concurrency for 8,192 tokens per request: 19.24x"


def test_a_run_says_what_it_reserves() -> None:
    options = (
        "--memory-backend contiguous --reserve power-of-two --max-model-len 1000 --steps 200 --step-ms 0"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "kvarium_engine.process", *options.split()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr.splitlines() == [
        (
            "kvarium engine: contiguous memory, without a prefix cache: it reserves for each sequence its prompt, and "
            "max_tokens rounded up to a power of two: at most 63 blocks"
        ),
        "kvarium engine: maximum concurrency for 1,000 tokens per request: 8x",
        "kvarium engine: nothing is recorded without --connect; `kvarium serve` records an engine and shows it",
    ]
    assert done.stdout.startswith("200 steps were made: ")


def test_the_mix_asks_for_no_beam_search_where_there_is_none() -> None:
    engine = Mirrored(num_blocks=128, length=512, reserve="exact", eos_every=40)
    mix = Mix(128, 16, 32, seed=1)
    for _ in range(250):
        mix.feed(engine.engine)
        engine.step()
    assert {asked.beam_width for asked in engine.decisions(Submitted)} == {None}
    assert len(engine.decisions(Finished)) > 100


@pytest.mark.parametrize(("reserve", "told"), [(None, "max"), ("exact", "exact")])
def test_the_handshake_tells_the_back_end(reserve: str | None, told: str) -> None:
    options = Options(memory_backend="contiguous", reserve=reserve, num_blocks=100, max_model_len=100)
    greeting = hello(options, resolve(options), NullRunner(), Ledger(lambda sealed: None))
    assert greeting.config["memory_backend"] == "contiguous"
    assert greeting.config["reserve"] == told
    assert greeting.config["enable_prefix_caching"] is False
    assert greeting.config["maximum_concurrency"] == 100 // 7
    paged = hello(Options(), resolve(Options()), NullRunner(), Ledger(lambda sealed: None))
    assert (paged.config["memory_backend"], paged.config["reserve"]) == ("paged", None)


@pytest.mark.parametrize(("reserve", "length"), [("max", 512), ("max", 1536), ("exact", 1536)])
def test_the_demo_asks_nothing_that_is_refused(reserve: str, length: int) -> None:
    played = Played(reserve=reserve, length=length)
    played.play(700)
    assert played.decisions(Refused) == []
    assert len(played.decisions(Finished)) > 5
    reasons = {wait.reason for wait in played.decisions(Waiting)}
    assert "blocks" not in reasons, "it asks only when so many are free"
    assert ("fragmentation" in reasons) == (reserve == "exact")
    played.engine.close()
    played.mirror()
    played.assert_nothing_leaks()
