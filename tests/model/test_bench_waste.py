"""``kvarium bench waste`` with a model: one cache for all four kinds of memory, and tokens a second."""

from kvarium_engine.bench.waste import Sizes, measure
from kvarium_engine.model.torch_runner import TorchRunner
from tests.model.tiny import made, small_llama


def test_a_model_gives_the_throughput_of_each() -> None:
    sizes = Sizes(96, 4, 96, 24, 10, 20)
    runner = TorchRunner(made(small_llama()), None, "tiny", sizes.num_blocks, sizes.block_size, 0)
    reports: list[float] = []
    facts = measure(sizes, runner, report=lambda done, now: reports.append(done))
    assert facts["model"] == "tiny"
    assert [system["reserve"] for system in facts["systems"]] == [None, "max", "power-of-two", "exact"]
    paged, largest, *_ = facts["systems"]
    assert all(system["output_tokens_per_s"] > 0 for system in facts["systems"])
    assert len({system["output_tokens"] for system in facts["systems"]}) == 1
    assert largest["most_requests"] == 4
    assert paged["most_requests"] > 2 * largest["most_requests"]
    assert paged["steps"] < largest["steps"]
    assert reports == sorted(reports)
