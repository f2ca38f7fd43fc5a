"""Findings: of recordings of the real engine in which the fault was made, and twins that look alike and have none."""

import json
from array import array
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kvarium.findings.answer import Finding, Findings
from kvarium.findings.sweep import WATCHES, Sweep
from kvarium.findings.telling import lines
from kvarium.findings.watch import pool_option
from kvarium.why.questions import Evicted, FindingsIn, MissedAt, PreemptedAt, WaitsAt
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_ledger import codec
from kvarium_ledger.decisions import Admitted, Preempted, Waiting
from kvarium_ledger.operations import Cause
from kvarium_ledger.records import Gap, Keyframe, Step
from tests.backend.asking import ask, past, record
from tests.backend.hand_engine import hello
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored, tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("findings") / "recording.db") as found:
        yield found


def findings(server: RunningServer, engine: Mirrored, **more: Any) -> Findings:
    return of_session(server, record(server, engine, **more))


def of_session(server: RunningServer, session: str) -> Findings:
    found = ask(server, session, FindingsIn())
    assert isinstance(found, Findings)
    assert lines(found) and msgspec.json.encode(found)
    for each in found.findings:
        assert each.evidence and each.in_all and each.thresholds and each.settings
    return found


def one(found: Findings, kind: str) -> Finding:
    [finding] = [each for each in found.findings if each.kind == kind]
    return finding


def kinds(found: Findings) -> set[str]:
    return {each.kind for each in found.findings}


def turn(engine: Mirrored, prompt: "array[int] | int", name: str, **more: Any) -> None:
    """A request that computes its prompt, samples one token and ends."""
    engine.submit(prompt, max_tokens=1, name=name, **more)
    engine.run()


def asked_at(link: str | None) -> tuple[str, dict[str, str]]:
    """The question and the arguments of a link."""
    assert link is not None
    path, _, query = link.partition("?")
    return path, dict(each.split("=") for each in query.split("&"))


# -- out of memory ------------------------------------------------------------------------------------------------------


def test_requests_that_no_pool_of_this_size_holds_are_out_of_memory(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    turn(engine, 20, "fits")
    engine.submit(64, max_tokens=64, name="never fits")
    engine.step(1)
    card = {"runner": "torch", "device": "cuda:0 H200"}
    found = findings(server, engine, config={"gpu_memory_utilization": 0.9}, **card)
    finding = one(found, "out_of_memory")
    assert finding.fault == "out of memory at gpu_memory_utilization"
    assert (finding.measured["refused"], finding.measured["needs"], finding.measured["pool"]) == (1, 8, 6)
    names = [each.name for each in finding.settings]
    assert next((each.name, each.now) for each in finding.settings) == ("gpu_memory_utilization", 0.9)
    assert names[1:] == ["num_gpu_blocks_override", "max_model_len", "kv_cache_dtype"]
    # A number of blocks is given: no share of a memory changes it, nor how many tokens that would hold.
    found = findings(server, engine, config={"num_gpu_blocks_override": 6}, **card)
    settings = one(found, "out_of_memory").settings
    assert [(each.name, each.now) for each in settings] == [
        ("num_gpu_blocks_override", 6),
        ("max_model_len", None),
    ]
    [evidence] = finding.evidence
    assert evidence.who is not None and evidence.who.name == "never fits"


@pytest.mark.parametrize(
    ("config", "device", "runner", "option"),
    [
        ({"num_gpu_blocks_override": 96}, "cpu", "torch", ("num_gpu_blocks_override", 96)),
        ({"num_gpu_blocks_override": 96, "gpu_memory_utilization": 0.9}, "cuda", "vllm", (
            "num_gpu_blocks_override", 96,
        )),
        ({"gpu_memory_utilization": 0.9, "memory_kv_cache_bytes": 7}, "cuda", "torch", (
            "gpu_memory_utilization", 0.9,
        )),
        ({"memory_kv_cache_bytes": 7}, "cuda", "torch", ("kv_cache_memory_bytes", 7)),
        ({"memory_kv_cache_bytes": 7}, "cpu", "torch", ("kv_cache_memory_bytes", 7)),
        ({"gpu_memory_utilization": 0.9}, "cpu", "vllm", ("kv_cache_memory_bytes", None)),
        ({"gpu_memory_utilization": None}, "cpu", "null", ("num_gpu_blocks_override", None)),
        ({}, "cuda", "vllm", ("gpu_memory_utilization", None)),
    ],
)  # fmt: skip
def test_a_larger_pool_is_advised_by_the_option_that_sizes_it(
    config: dict[str, object], device: str, runner: str, option: tuple[str, object]
) -> None:
    assert pool_option(config, device, runner) == option


def test_a_request_that_ends_as_the_pool_is_full_with_it_alone_is_out_of_memory(
    server: RunningServer,
) -> None:
    engine = Mirrored(num_blocks=2)
    engine.submit(20, max_tokens=None, name="grows")
    engine.run()
    finding = one(findings(server, engine), "out_of_memory")
    assert (finding.measured["capacity"], finding.measured["refused"]) == (1, 0)
    question, _ = asked_at(finding.evidence[0].link)
    assert question == "why/memory"


def test_what_is_longer_than_max_model_len_is_not_out_of_memory(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=64, length=32)
    engine.submit(64, max_tokens=4, name="too long")
    turn(engine, 20, "fits")
    assert kinds(findings(server, engine)) == set()


# -- preemption ---------------------------------------------------------------------------------------------------------


CASES = {
    "thrashes": (7, (3, 6, 6), False, True),
    "gains": (5, (3, 3, 3), False, False),
    "finds it again": (5, (3, 3, 3), True, False),
}
"""Blocks of four, prompts, is there a prefix cache, and does it thrash? The last of three requests is preempted twice."""


def preempting(case: str) -> Mirrored:
    blocks, prompts, caching, _ = CASES[case]
    engine = Mirrored(num_blocks=blocks, block_size=4, caching=caching)
    for name, prompt, sampled in zip("abc", prompts, (16, 12, 8), strict=True):
        engine.submit(prompt, max_tokens=sampled, name=name)
    engine.run()
    return engine


@pytest.mark.parametrize("case", CASES)
def test_thrashing_is_what_why_preempted_calls_so(server: RunningServer, case: str) -> None:
    engine = preempting(case)
    session = record(server, engine)
    answers = [
        ask(server, session, PreemptedAt(request=f"r{decision.request}", step=step.step))
        for step in engine.steps()
        for decision in step.decisions
        if isinstance(decision, Preempted)
    ]
    assert len(answers) > 1
    thrashing = [each for each in answers if each.thrashing]
    found = [each for each in of_session(server, session).findings if each.kind == "thrashing"]
    assert bool(thrashing) == bool(found) == CASES[case][3]
    if not found:
        return
    [finding] = found
    assert finding.in_all == len(thrashing)
    assert finding.measured["again"] == sum(each.since.again for each in thrashing)
    assert finding.measured["gained"] == sum(each.since.gained for each in thrashing)
    question, arguments = asked_at(finding.evidence[0].link)
    assert question == "why/preempted"
    why = ask(server, session, PreemptedAt(request=arguments["of"], step=int(arguments["step"])))
    assert why.thrashing


def test_who_is_preempted_once_does_not_thrash(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    for name in ("first", "second", "third"):
        engine.submit(30, max_tokens=20, name=name)
    engine.run()
    victims = [decision.request for decision in engine.decisions(Preempted)]
    assert victims and len(set(victims)) == len(victims)
    assert "thrashing" not in kinds(findings(server, engine))


# -- the prefix cache ---------------------------------------------------------------------------------------------------


def test_contents_that_were_evicted_and_computed_again_are_found_with_their_evictions(
    server: RunningServer,
) -> None:
    engine = Mirrored(num_blocks=6, block_size=4)
    for _ in range(3):
        turn(engine, tokens(1, 17), "wants")
        turn(engine, tokens(2, 23), "takes")
    session = record(server, engine)
    finding = one(of_session(server, session), "evicted_then_wanted")
    assert finding.measured["contents"] > 1
    question, arguments = asked_at(finding.evidence[0].link)
    assert question == "why/evicted"
    why = ask(server, session, Evicted(op=int(arguments["op"])))
    assert why.wanted, "the eviction's own answer says who wanted it again"
    assert finding.measured["tokens"] == 4 * finding.in_all


@pytest.mark.parametrize("twin", ["nobody wants it", "another block holds it", "a reset"])
def test_evictions_that_cost_nobody_anything_are_no_finding(server: RunningServer, twin: str) -> None:
    engine = Mirrored(num_blocks=16, block_size=4)
    if twin == "nobody wants it":
        for seed in range(8):
            turn(engine, tokens(seed, 33), "new")
    elif twin == "another block holds it":
        # The last block of each is computed again beside the one that is cached.
        for _ in range(12):
            turn(engine, tokens(1, 8), "same")
        turn(engine, tokens(2, 40), "takes")
        turn(engine, tokens(1, 9), "hits")
    else:
        for _ in range(2):
            turn(engine, tokens(1, 33), "same")
            engine.pool.evict(
                [b for b in range(16) if engine.pool.state.content[b] != 0xFFFFFFFF], Cause.reset
            )
            engine.engine.step_without_work()
    assert "evicted_then_wanted" not in kinds(findings(server, engine))


def prefixed(common: int, requests: int = 5, between: int = 0, **more: Any) -> Mirrored:
    """Requests whose first ``common`` tokens are the same; ``between`` them one of so many tokens that takes the pool."""
    engine = Mirrored(num_blocks=8, block_size=8, **more)
    for number in range(requests):
        turn(engine, tokens(1, common) + tokens(100 + number, 30 - common), f"asks {number}")
        if between:
            turn(engine, tokens(200 + number, between), f"takes {number}")
    return engine


def test_a_prefix_cache_that_is_off_where_requests_begin_alike(server: RunningServer) -> None:
    found = findings(server, prefixed(20, caching=False), config={"enable_prefix_caching": False})
    finding = one(found, "common_prefix_never_hits")
    assert finding.measured["common_tokens"] == 20 and finding.in_all == 5
    assert [(each.name, each.now) for each in finding.settings] == [("enable_prefix_caching", False)]
    assert kinds(findings(server, prefixed(0, caching=False), config={"enable_prefix_caching": False})) <= {
        "tail_waste"
    }


def test_a_common_prefix_that_is_shorter_than_a_block(server: RunningServer) -> None:
    session = record(server, prefixed(6))
    finding = one(of_session(server, session), "common_prefix_never_hits")
    assert (finding.measured["common_tokens"], finding.in_all) == (6, 5)
    assert finding.settings[0].name == "block_size"
    question, arguments = asked_at(finding.evidence[1].link)
    assert question == "why/missed"
    assert ask(server, session, MissedAt(request=arguments["of"])).nearest.agree == 6


def test_a_common_prefix_that_is_evicted_between(server: RunningServer) -> None:
    found = findings(server, prefixed(20, between=63))
    finding = one(found, "common_prefix_never_hits")
    assert (finding.measured["common_tokens"], finding.measured["evicted_between"]) == (20, 4)
    assert asked_at(finding.evidence[0].link)[0] == "why/evicted"


def test_a_common_prefix_with_a_salt_each(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=32, block_size=8)
    for number in range(4):
        turn(engine, tokens(1, 30), f"asks {number}", keys=ExtraKeys(cache_salt=f"salt {number}"))
    finding = one(findings(server, engine), "common_prefix_never_hits")
    assert finding.settings[0].name == "cache_salt"


@pytest.mark.parametrize(("common", "requests"), [(20, 5), (6, 3), (2, 5)])
def test_prefixes_that_hit_or_are_not_common_are_no_finding(
    server: RunningServer, common: int, requests: int
) -> None:
    assert "common_prefix_never_hits" not in kinds(findings(server, prefixed(common, requests)))


# -- the scheduler ------------------------------------------------------------------------------------------------------


def crowd(decoding: int, prompt: int = 120) -> Mirrored:
    """A long prompt beside ``decoding`` others that decode, with 32 tokens a step."""
    engine = Mirrored(num_blocks=256, budget=32)
    for number in range(decoding):
        engine.submit(4, max_tokens=60, name=f"decodes {number}")
    engine.step(8)
    engine.submit(prompt, max_tokens=4, name="long")
    engine.run()
    return engine


def test_a_long_prompt_is_slow_where_decodes_take_the_budget(server: RunningServer) -> None:
    found = findings(server, crowd(28), config={"max_num_batched_tokens": 32})
    finding = one(found, "slow_prompts")
    assert finding.fault == "long prompts slow under mixed load"
    assert (finding.measured["steps"], finding.measured["steps_at_best"]) == (30, 4)
    assert finding.evidence[0].who is not None and finding.evidence[0].who.name == "long"
    assert finding.settings[0].name == "max_num_batched_tokens"


@pytest.mark.parametrize(("decoding", "prompt"), [(0, 120), (0, 400), (2, 120)])
def test_a_long_prompt_that_takes_what_its_length_asks_for_is_not_slow(
    server: RunningServer, decoding: int, prompt: int
) -> None:
    assert "slow_prompts" not in kinds(findings(server, crowd(decoding, prompt)))


def queue(second: int, third: int) -> Mirrored:
    """One that runs in 5 of 8 blocks for long, one that waits for blocks, and one behind it."""
    engine = Mirrored(num_blocks=8)
    engine.submit(70, max_tokens=10, name="runs")
    engine.step()
    engine.submit(second, max_tokens=2, name="head")
    engine.submit(third, max_tokens=2, name="behind")
    engine.run()
    return engine


def test_one_that_would_fit_waits_behind_one_that_does_not(server: RunningServer) -> None:
    engine = queue(80, 10)
    session = record(server, engine)
    finding = one(of_session(server, session), "head_of_line_blocking")
    assert [each.reason for each in engine.decisions(Waiting)][:2] == ["blocks", "behind"]
    [evidence] = finding.evidence
    assert evidence.who is not None and evidence.who.name == "head"
    assert (finding.measured["times"], finding.measured["steps"]) == (1, 8)
    question, arguments = asked_at(evidence.link)
    assert question == "why/waits"
    why = ask(server, session, WaitsAt(request="behind", step=int(arguments["step"])))
    assert (why.ahead[0].name, why.head_reason.needs, why.free) == ("head", 5, 3)


@pytest.mark.parametrize(("second", "third"), [(80, 60), (10, 80)])
def test_one_that_would_not_fit_either_is_not_blocked_by_the_head(
    server: RunningServer, second: int, third: int
) -> None:
    assert "head_of_line_blocking" not in kinds(findings(server, queue(second, third)))


# -- blocks -------------------------------------------------------------------------------------------------------------


def short(block_size: int) -> Mirrored:
    engine = Mirrored(num_blocks=64, block_size=block_size)
    for number in range(4):
        engine.submit(5, max_tokens=20, name=f"short {number}")
    engine.run()
    return engine


def test_short_requests_in_large_blocks_waste_their_tails(server: RunningServer) -> None:
    engine = short(64)
    found = findings(server, engine)
    finding = one(found, "tail_waste")
    assert finding.fault == "many short requests at a small or large block size"
    # One block each; after the step n = 0 … 19 it holds 5 + n tokens.
    unused = sum(64 - 5 - step for step in range(19)) / (19 * 64)
    assert finding.measured["share"] == pytest.approx(unused, abs=1e-3)
    halves = sum(32 - 5 - step for step in range(19))
    assert finding.measured["share_with_32"] == pytest.approx(halves / (19 * 32), abs=1e-3)
    assert finding.measured["share_with_1"] == 0
    assert asked_at(finding.evidence[0].link)[0] == "why/memory"


def test_the_same_requests_in_small_blocks_waste_little(server: RunningServer) -> None:
    assert "tail_waste" not in kinds(findings(server, short(1)))


@pytest.mark.parametrize(("shorter", "is_one"), [(1, False), (2, True)])
def test_a_share_is_compared_before_it_is_rounded(server: RunningServer, shorter: int, is_one: bool) -> None:
    # Ten requests whose last blocks hold 1 to 9 of 16 tokens, so that 110 slots are not filled on average: of 1,104 slots they
    # are 9.96 %, which is told as 10.0 %, of 1,088 they are 10.1 %. A tenth is a finding.
    engine = Mirrored(num_blocks=80)
    for number in range(10):
        engine.submit(tokens(number, 81 if number < shorter else 97), max_tokens=10)
    engine.run()
    assert ("tail_waste" in kinds(findings(server, engine))) == is_one


def timed(server: RunningServer, block_size: int, schedule_ns: int, runner: str) -> Findings:
    """``short`` with the durations that a model's runner would have."""
    engine = short(block_size)
    engine.mirror()
    engine.records = [
        msgspec.structs.replace(each, schedule_ns=schedule_ns, forward_ns=1_000_000, sample_ns=0)
        if isinstance(each, Step)
        else each
        for each in engine.records
    ]
    return findings(server, engine, runner=runner)


def test_small_blocks_that_cost_a_good_part_of_each_step(server: RunningServer) -> None:
    finding = one(timed(server, 2, 500_000, "torch"), "small_blocks")
    assert finding.measured["schedule_share"] == pytest.approx(1 / 3, abs=1e-3)
    for block_size, schedule_ns, runner in (
        (2, 50_000, "torch"),
        (16, 500_000, "torch"),
        (2, 500_000, "null"),
    ):
        assert "small_blocks" not in kinds(timed(server, block_size, schedule_ns, runner))


def test_reservations_that_are_hardly_filled(server: RunningServer) -> None:
    wasteful = Mirrored(num_blocks=64, length=256, reserve="max")
    exact = Mirrored(num_blocks=64, length=256, reserve="exact")
    for engine in (wasteful, exact):
        for name in ("one", "two"):
            engine.submit(20, max_tokens=12, name=name)
        engine.run()
    config = {"memory_backend": "contiguous", "enable_prefix_caching": False}
    finding = one(findings(server, wasteful, config=config), "oversized_reservations")
    # 16 blocks each, of which 31 tokens were written: the last one that is sampled is not.
    assert (finding.measured["slots"], finding.measured["filled"]) == (512, 62)
    assert {each.who.name for each in finding.evidence if each.who} == {"one", "two"}
    assert kinds(findings(server, exact, config=config)) == set()


def test_branches_whose_beginning_was_evicted_are_unreachable(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=16, block_size=4)
    turn(engine, tokens(1, 20), "one")
    turn(engine, tokens(2, 8), "other")
    twin = findings(server, engine)
    engine.pool.evict([1], Cause.reset)
    engine.engine.step_without_work()
    finding = one(findings(server, engine), "unreachable")
    assert (finding.in_all, finding.measured["cached"]) == (3, 6)
    assert {each.life.block for each in finding.evidence if each.life} == {2, 3, 4}
    assert "unreachable" not in kinds(twin)


# -- the whole ----------------------------------------------------------------------------------------------------------


def test_a_quiet_recording_has_no_findings_and_says_what_was_looked_for(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=64, block_size=1)
    for number in range(4):
        turn(engine, 12, f"quiet {number}")
    found = findings(server, engine)
    assert (found.findings, found.not_recorded) == ([], [])
    assert [each.kind for each in found.looked_for] == [watch.kind for watch in WATCHES]
    assert (found.steps, found.operations) == (len(engine.steps()), engine.fold.op)


def test_nothing_is_found_across_a_gap_and_the_gap_is_told(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6, block_size=4)
    turn(engine, tokens(1, 17), "wants")
    turn(engine, tokens(2, 23), "takes")
    engine.mirror()
    begin = len(engine.records)
    engine.engine.keyframe()
    turn(engine, tokens(1, 17), "wants again")
    link = server.engine(greeting := hello(num_blocks=6, block_size=4))
    lost = engine.records[begin - 1].record
    gap = Gap(record=lost, time=0, first=0, last=lost - 1, reason="lost")
    assert isinstance(engine.records[begin], Keyframe)
    link.send(codec.seal(each) for each in [gap, *engine.records[begin:]])
    link.wait_acked(engine.records[-1].record)
    link.bye()
    server.wait_indexed(greeting.session, engine.records[-1].record)
    found = of_session(server, greeting.session)
    assert "evicted_then_wanted" not in kinds(found)
    assert found.not_recorded == [f"records 0 to {lost - 1}, which are lost"]


@pytest.mark.parametrize("record_text", ["hash", "none"])
def test_without_text_the_rest_is_found(server: RunningServer, record_text: str) -> None:
    engine = prefixed(20, between=63, record_text=record_text)
    found = findings(server, engine, record_text=record_text)
    assert "evicted_then_wanted" in kinds(found)
    assert "common_prefix_never_hits" not in kinds(found)
    assert "common prefixes: text is not recorded" in found.not_recorded


def test_counts_follow_the_engine_through_a_mix(server: RunningServer, rng: Any) -> None:
    engine = Mirrored(num_blocks=24, block_size=4, budget=64, seqs=8)
    for _ in range(60):
        prompt = tokens(rng.randrange(4), rng.randrange(1, 24)) + tokens(
            rng.randrange(1000), rng.randrange(1, 8)
        )
        engine.submit(prompt, max_tokens=rng.randrange(1, 20), n=rng.choice((1, 1, 2)))
        for _ in range(rng.randrange(3)):
            engine.step()
    engine.run()
    session = record(server, engine)
    of_session(server, session)
    sweep = Sweep(past(server, session))
    sweep.run()
    state = engine.fold.state.blocks
    assert sweep.blocks.used.tolist() == (state.np_count > 0).tolist()
    assert sweep.blocks.content.tolist() == state.np_content.tolist()
    assert (
        sweep.blocks.filled[state.np_generation > 0].tolist()
        == state.np_filled[state.np_generation > 0].tolist()
    )
    held = state.np_content[state.np_content != 0xFFFFFFFF].tolist()
    assert {content: held.count(content) for content in held} == {
        content: count for content, count in enumerate(sweep.contents.holders.tolist()) if count
    }
    assert engine.decisions(Admitted)


def test_the_api_and_the_command_give_the_same_findings(server: RunningServer) -> None:
    session = record(server, preempting("thrashes"))
    told = server.get(f"/sessions/{session}/findings")
    done = kvarium("findings", session, "--json", "--db", str(server.path))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == told
    read = kvarium("findings", session, "--db", str(server.path))
    assert "thrashing: " in read.stdout and "change max_num_seqs" in read.stdout
    assert server.http.get("/api/sessions/none/findings").status_code == 404


def test_an_answer_may_take_so_much_of_a_processor_and_not_of_the_clock(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = record(server, preempting("thrashes"))
    monkeypatch.setattr("kvarium.api.why.CPU_SECONDS", 1e-6)
    refused = server.http.get(f"/api/sessions/{session}/findings")
    assert refused.status_code == 503
    assert "took more than 1e-06 s of processor time" in refused.json()["detail"]
    monkeypatch.undo()
    assert server.get(f"/sessions/{session}/findings")["findings"]
