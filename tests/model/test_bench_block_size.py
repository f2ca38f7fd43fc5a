"""``kvarium bench block-size --model``: nine caches on one model's weights; what is counted is what it is without a model."""

from pathlib import Path

from kvarium_engine.bench.block_size import BLOCK_SIZES, Sizes, measure, runners
from tests.model.tiny import made, small_llama

SIZES = Sizes(512, 8, 2, 60, 20, 6, 4)


def test_it_takes_steps_of_a_model_and_counts_what_follows_from_the_lengths(tmp_path: Path) -> None:
    made(small_llama()).save_pretrained(tmp_path)
    make, name, _ = runners(str(tmp_path))
    assert name == tmp_path.name
    asked = SIZES.asked(1)
    counted, real = measure(SIZES, asked), measure(SIZES, asked, make)
    assert [each["block_size"] for each in real] == list(BLOCK_SIZES)
    for each, other in zip(real, counted, strict=True):
        assert each["step_ms"] > other["step_ms"]
        assert each["hit_rate_percent"] > 0 or each["block_size"] > 60
        if each["block_size"] >= 8:  # ids are few here: short blocks are equal by chance
            for what in ("steps", "tail_waste_slots", "table_entries", "hit_rate_percent", "preemptions"):
                assert each[what] == other[what], f"{what} at {each['block_size']}"
