"""`kvarium bench sharing` without a model: what n samples save is a closed form, and of beams the table's entries are counted."""

import random
from array import array
from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest

from kvarium_engine.bench import sharing
from kvarium_engine.bench.searcher import Searcher, demo_text
from kvarium_engine.bench.sharing import (
    PROFILES,
    SIZES,
    Lengths,
    Saving,
    bench,
    closed_form,
    draw_lengths,
    facts,
    measure,
    parallel,
    table,
)
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import seeded_tokens


def null() -> Searcher:
    return Searcher("nobody", "cpu", lambda blocks: NullRunner(), seeded_tokens(1, 500))


def test_what_samples_save_is_counted_by_hand() -> None:
    # Blocks of 16: the prompt has 2 full ones. In the prompt's step 3 entries, in the two decodes after it 3 each.
    assert closed_form([Lengths(40, 3)], 2, 16) == Saving(2 * 2, 3 + 2 * (3 + 3))
    assert closed_form([Lengths(40, 3)], 4, 16) == Saving(2 * 3 * 2, 3 + 4 * (3 + 3))
    assert closed_form([Lengths(15, 9)], 6, 16).saved == 0


@pytest.mark.parametrize("size", [1, 4, 16])
def test_what_samples_save_equals_the_closed_form_at_any_lengths(size: int, rng: random.Random) -> None:
    requests = [Lengths(rng.randint(1, 70), rng.randint(2, 40)) for _ in range(12)]
    for n in (1, 2, 5):
        assert parallel(requests, n, size) == closed_form(requests, n, size)


def test_a_figure_that_is_not_the_closed_form_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "measure", lambda *rest: Saving(1, 2))
    with pytest.raises(AssertionError, match=r"2 samples: .* the closed form is"):
        parallel([Lengths(40, 3)], 2, 16)


def test_what_beams_save_is_counted_in_each_step() -> None:
    def one(width: int, max_tokens: int) -> Saving:
        lengths = [Lengths(32, max_tokens)]
        return measure(lambda _: NullRunner(), [seeded_tokens(3, 32)], lengths, {"beam_width": width}, 16)

    assert one(2, 1) == Saving(0, 2), "one sequence computes the prompt"
    assert one(2, 2) == Saving(2, 2 + 2 * 3), "two beams share the prompt's blocks"
    assert one(4, 2) == Saving(6, 2 + 4 * 3)
    assert one(4, 200).percent > closed_form([Lengths(32, 200)], 4, 16).percent, (
        "beams share what they said, too"
    )


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_lengths_are_drawn_around_the_means(profile: sharing.Profile) -> None:
    for size in SIZES.values():
        for count in (size.parallel, size.beam[profile.name]):
            drawn = draw_lengths(profile, count, 3)
            assert len(drawn) == count
            assert fmean(each.prompt for each in drawn) == pytest.approx(profile.prompt_tokens, rel=0.03)
            assert fmean(each.output for each in drawn) == pytest.approx(profile.output_tokens, rel=0.03)
    assert draw_lengths(profile, 64, 3) == draw_lengths(profile, 64, 3) != draw_lengths(profile, 64, 4)


def test_the_json_is_the_profiles_by_width_with_lengths_and_the_papers_ranges() -> None:
    searcher = null()
    results = bench(searcher, SIZES["small"], 16, 0)
    told: dict[str, Any] = facts(results, searcher, 16, 0)
    assert [profile["name"] for profile in told["profiles"]] == ["alpaca", "sharegpt"]
    for profile in told["profiles"]:
        assert [row["n"] for row in profile["parallel"]] == [2, 4, 6]
        assert [row["width"] for row in profile["beam"]] == [2, 4, 6]
        for rows in (profile["parallel"], profile["beam"]):
            values = [row["saving_percent"] for row in rows]
            assert 0 < values[0] < values[1] < values[2] < 100
        assert all(
            beam["saving_percent"] > samples["saving_percent"]
            for beam, samples in zip(profile["beam"], profile["parallel"], strict=True)
        )
    assert told["profiles"][0]["parallel_lengths"]["requests"] == 16
    lines = table(results, searcher, 16)
    assert "paper: 37.6–55.2 %" in lines
    assert "nobody" in lines


def test_prompts_are_pieces_of_the_demos_texts() -> None:
    searcher = Searcher("nobody", "cpu", lambda blocks: NullRunner(), array("I", range(10)))
    piece = searcher.prompt(4, 25)
    assert len(piece) == 25
    assert all((second - first) % 10 == 1 for first, second in pairwise(piece))
    assert searcher.prompt(4, 25) == piece
    assert len(demo_text()) > 5000
