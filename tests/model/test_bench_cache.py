"""``kvarium bench cache``: what it counts is exact; of times, only what no noise can turn round."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from kvarium_engine.bench.cache import (
    SIZES,
    WAYS,
    Sizes,
    add,
    concatenation_entries,
    count_entries,
    greedy,
    measure,
    told,
)
from tests.model.architectures import EXACT
from tests.model.paged import generate
from tests.model.tiny import made, small_llama

SMALL = Sizes(count=100, lengths=(8, 16, 40), rounds=2, tokens=24, block_size=16)


def by_way(part: dict[str, object], what: str) -> dict[str, object]:
    return {item["way"]: item[what] for item in part["ways"]}  # type: ignore[attr-defined]


def test_8192_tokens_by_concatenation_copy_33_6_million_entries() -> None:
    """Really copied, and really counted; the others copy none. On the smallest of geometries, as entries have no size."""
    config = small_llama(
        num_attention_heads=1, num_key_value_heads=1, head_dim=4, max_position_embeddings=8192
    )
    found = count_entries(made(config), SIZES["full"], lambda done, now: None)
    assert found["closed_form"] == sum(range(8192)) == 33_550_336
    assert by_way(found, "copied") == {
        "no cache": 0,
        "concatenation": 33_550_336,
        "preallocated": 0,
        "paged": 0,
    }
    assert by_way(found, "written") == {way: 0 if way == "no cache" else 8192 for way in WAYS}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_are_those_of_the_formula_but_for_the_last_block(dtype: torch.dtype) -> None:
    model = made(small_llama()).to(dtype)
    for length, blocks in ((16, 1), (40, 3), (48, 3)):
        found = measure(model, "tiny", Sizes(10, (8, length), 1, 4))["bytes"]
        a_token = 2 * 2 * 2 * 8 * dtype.itemsize
        assert found["formula"] == a_token * length
        assert by_way(found, "bytes") == {
            "no cache": 0,
            "concatenation": a_token * length,
            "preallocated": a_token * length,
            "paged": a_token * 16 * blocks,
        }


def test_all_of_it() -> None:
    facts = measure(made(small_llama()), "tiny", SMALL)
    assert (facts["model"], facts["layers"], facts["kv_heads"], facts["head_dim"]) == ("tiny", 2, 2, 8)
    assert by_way(facts["entries"], "copied")["concatenation"] == concatenation_entries(100) == 4950
    assert facts["entries"]["tokens_computed_without_a_cache"] == 5050
    assert facts["tokens_equal"] is True
    steps = facts["steps"]
    assert steps["lengths"] == [8, 16, 40]
    for way in steps["ways"]:
        assert len(way["ms"]) == 3
        assert all(ms > 0 for ms in way["ms"])
        assert way["shape"] in ("growing", "flat")


def test_a_step_is_told_as_growing_or_flat_by_the_middle_one_of_the_rounds() -> None:
    """Ratios are taken within a round, so that a slower round, here the second, changes none of them."""
    rising = told("no cache", (32, 512), {32: [10.0, 30.0, 10.0], 512: [40.0, 120.0, 10.0]})
    assert rising == {
        "way": "no cache",
        "ms": [10.0, 40.0],
        "last_to_first": 4.0,
        "ms_per_1000_tokens": 62.5,
        "shape": "growing",
    }
    level = told("paged", (32, 64, 512), {32: [10.0, 30.0, 10.0], 64: [9.0] * 3, 512: [11.0, 33.0, 50.0]})
    assert (level["ms"], level["last_to_first"], level["shape"]) == ([10.0, 9.0, 33.0], 1.1, "flat")
    for last, shape in ((19.9, "flat"), (20.0, "growing"), (5.0, "flat")):
        assert told("paged", (1, 4), {1: [10.0], 4: [last]})["shape"] == shape


@pytest.mark.parametrize("name", ["llama", "gemma2", "mistral", "gpt2"])
def test_the_tokens_of_each_way_are_those_of_transformers(name: str) -> None:
    expected = generate(made(EXACT[name](), attention="eager"), [1], SMALL.tokens - 1)
    model = made(EXACT[name]())
    for way in WAYS:
        assert greedy(model, way, SMALL) == [1, *expected], way


def test_the_command_prints_a_table_or_json_and_refuses_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer import Typer

    app = Typer()
    add(app)
    folder = tmp_path / "tiny"
    small_llama(max_position_embeddings=64).save_pretrained(folder)
    monkeypatch.setitem(SIZES, "small", SMALL)
    monkeypatch.setattr("kvarium_engine.model.loader.use_threads", lambda: 1)

    def run(*more: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["--model", str(folder), "--load-format", "dummy", *more])
        return done.exit_code, done.stdout, done.stderr

    status, out, err = run("--size", "small", "--json")
    assert (status, json.loads(out)["tokens_equal"]) == (0, True)
    assert "tiny: four ways to keep keys and values" in err
    status, out, _ = run("--size", "small")
    assert status == 0
    assert "0 + 1 + … + 99 = 4,950" in out
    assert "24 greedy tokens: the same in all four ways." in out
    assert all(any(line.startswith(way) for line in out.splitlines()) for way in WAYS)
    for more, message in (
        (("--size", "huge"), "--size is small or full, not 'huge'"),
        (("--size", "full"), "tiny has 64 positions, and steps are timed up to 512"),
    ):
        status, out, err = run(*more)
        assert (status, out) == (2, "")
        assert err.splitlines()[-1] == f"kvarium bench cache: {message}"
