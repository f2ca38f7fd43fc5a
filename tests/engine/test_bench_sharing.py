"""`kvarium bench sharing` without a model: what n samples save is a closed form, and of beams the table's entries are counted."""

import random
from array import array
from itertools import pairwise
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from kvarium_engine.bench import sharing
from kvarium_engine.bench.lengths import Shape
from kvarium_engine.bench.searcher import Searcher, demo_text
from kvarium_engine.bench.sharing import (
    PROFILES,
    SIZES,
    Asked,
    Saving,
    add,
    bench,
    closed_form,
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
    assert closed_form([Shape(40, 3)], 2, 16) == Saving(2 * 2, 3 + 2 * (3 + 3))
    assert closed_form([Shape(40, 3)], 4, 16) == Saving(2 * 3 * 2, 3 + 4 * (3 + 3))
    assert closed_form([Shape(15, 9)], 6, 16).saved == 0


@pytest.mark.parametrize("size", [1, 4, 16])
def test_what_samples_save_equals_the_closed_form_at_any_lengths(size: int, rng: random.Random) -> None:
    requests = [Shape(rng.randint(1, 70), rng.randint(2, 40)) for _ in range(12)]
    for n in (1, 2, 5):
        assert parallel(requests, n, size) == closed_form(requests, n, size)


def test_a_figure_that_is_not_the_closed_form_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "measure", lambda *rest: [Saving(1, 2)])
    with pytest.raises(AssertionError, match=r"2 samples: .* the closed form is"):
        parallel([Shape(40, 3)], 2, 16)


def test_what_beams_save_is_counted_in_each_step() -> None:
    def one(width: int, max_tokens: int) -> Saving:
        (found,) = measure(
            lambda _: NullRunner(), [Asked(seeded_tokens(3, 32), max_tokens, beam_width=width)], 16
        )
        return found

    assert one(2, 1) == Saving(0, 2), "one sequence computes the prompt"
    assert one(2, 2) == Saving(2, 2 + 2 * 3), "two beams share the prompt's blocks"
    assert one(4, 2) == Saving(6, 2 + 4 * 3)
    assert one(4, 200).percent > closed_form([Shape(32, 200)], 4, 16).percent, (
        "beams share what they said, too"
    )


def test_requests_that_run_together_are_counted_each_for_itself() -> None:
    samples = [Asked(seeded_tokens(n, 20 * n), 30, n) for n in (1, 2, 3)]
    beams = Asked(seeded_tokens(9, 40), 30, beam_width=6)
    *found, searched = measure(lambda _: NullRunner(), [*samples, beams], 4)
    assert found == [closed_form([Shape(20 * n, 30)], n, 4) for n in (1, 2, 3)]
    (alone,) = measure(lambda _: NullRunner(), [beams], 4)
    assert searched.entries == alone.entries
    assert searched.percent == pytest.approx(alone.percent, abs=10), "other dice, other beams"


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_what_samples_save_is_about_what_the_paper_says(profile: sharing.Profile) -> None:
    """Within a fifth of its range: its lengths are known by their averages alone."""
    low, high = profile.paper_parallel
    figures = [closed_form(profile.pairs(), n, 16).percent for n in (2, 4, 6)]
    assert 0.8 * low < figures[0] < figures[1] < figures[2] < 1.2 * high
    # All but one of n samples save: 1/2, 3/4 and 5/6 of the same sum, but for the steps of the prompts.
    assert figures[1] / figures[0] == pytest.approx(3 / 2, rel=0.01)
    assert figures[2] / figures[0] == pytest.approx(5 / 3, rel=0.01)


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
        assert profile["parallel_lengths"]["requests"] == 64
    lines = table(told)
    assert "paper: 37.6–55.2 %" in lines
    assert "nobody" in lines


def test_a_seed_draws_the_searches_and_changes_nothing_of_the_samples() -> None:
    searcher, searches = null(), {"alpaca": 4, "sharegpt": 3}
    first, other = (facts(bench(searcher, searches, 16, seed), searcher, 16, seed) for seed in (0, 5))
    for one, two in zip(first["profiles"], other["profiles"], strict=True):
        assert one["parallel"] == two["parallel"]
        assert one["beam_lengths"]["requests"] == searches[one["name"]]
        assert one["beam_lengths"] != two["beam_lengths"]


def test_a_block_size_that_can_not_be_is_refused_before_a_model_is_looked_for() -> None:
    app = Typer()
    add(app)
    done = CliRunner().invoke(app, ["--model", "/no/where", "--block-size", "24"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "kvarium bench sharing: --block-size must be a power of two from 1 to 256, not 24\n"
    )


def test_prompts_are_pieces_of_the_demos_texts() -> None:
    searcher = Searcher("nobody", "cpu", lambda blocks: NullRunner(), array("I", range(10)))
    piece = searcher.prompt(4, 25)
    assert len(piece) == 25
    assert all((second - first) % 10 == 1 for first, second in pairwise(piece))
    assert searcher.prompt(4, 25) == piece
    assert len(demo_text()) > 5000
