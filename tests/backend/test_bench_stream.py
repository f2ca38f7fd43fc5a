"""``kvarium bench stream`` in its small form: what it counts, and what holds on any machine; and what it says where there is no node."""

import json
from pathlib import Path

import pytest

from kvarium.bench import folding
from kvarium.bench.folding import NotMeasuredError, fold_in_python, fold_in_typescript
from kvarium.bench.stream import SIZES, table
from kvarium.errors import KvariumError
from kvarium.recording.reader import Reader
from tests.backend.server_process import kvarium


def test_the_small_bench_tells_all_that_is_asked_for(tmp_path: Path) -> None:
    done = kvarium("bench", "stream", "--size", "small", "--json", KVARIUM_CACHE=str(tmp_path), timeout=150)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found)[:6] == [
        "recorder_ops_per_s",
        "bytes_per_op",
        "bytes_per_token",
        "viewers",
        "send_percent",
        "fold_ops_per_s",
    ]
    size, live, recording = SIZES["small"], found["live"], found["recording"]
    assert found["viewers"] == size.viewers and found["recorder_ops_per_s"] > 0
    assert recording["blocks"] == size.blocks and recording["operations"] > size.python_operations
    assert 0 < found["bytes_per_op"] < 16 and 0 < found["bytes_per_token"] < 8
    mix = recording["mix_percent"]
    assert sum(mix.values()) == pytest.approx(100, abs=0.1)
    assert min(mix.values()) >= 1 and mix["fill"] <= 60
    # One viewer reads nothing: nothing is lost for it, and the server's memory stays within its ring and a viewer's share.
    assert (live["gaps"], live["skips"], live["operations_per_s"] > 0) == (0, 0, True)
    assert live["memory_growth"] < 100 << 20 and live["memory_peak"] > live["memory_before"] > 0
    assert 0 < found["send_percent"] < 20
    assert found["fold_ops_per_s"]["python"] > found["fold_with_decoding_ops_per_s"]["python"] > 0
    for line in ("the recorder", "20 viewers, one of them stuck", "the folds"):
        assert f"kvarium bench stream: {line}" in done.stderr
    for told in (f"{recording['operations']:,} operations on 2,048 blocks", "20, one of them stuck, at"):
        assert told in table(found)


def test_the_page_s_fold_and_python_s_fold_the_same(mixed_reader: Reader) -> None:
    session = mixed_reader.find("latest")
    python = fold_in_python(mixed_reader, session, 5000)
    try:
        typescript = fold_in_typescript(mixed_reader, session, 5000)
    except NotMeasuredError as error:
        pytest.skip(f"no node or no npm packages: {error}")
    assert python.operations == typescript.operations >= 5000
    assert typescript.operations_per_s > typescript.decoded_per_s > 0


def test_without_node_or_without_a_clone_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixed_reader: Reader
) -> None:
    monkeypatch.setattr(
        folding.kvarium, "__file__", str(tmp_path / "site-packages" / "x" / "kvarium" / "__init__.py")
    )
    monkeypatch.setattr(folding.shutil, "which", lambda name: "/usr/bin/node")
    with pytest.raises(
        NotMeasuredError, match="built from a clone of the repository, where `make setup` was run"
    ):
        fold_in_typescript(mixed_reader, mixed_reader.find("latest"), 10)
    monkeypatch.setattr(folding.shutil, "which", lambda name: None)
    with pytest.raises(
        NotMeasuredError, match="no node here, which runs TypeScript: install Node 20 or newer"
    ):
        fold_in_typescript(mixed_reader, mixed_reader.find("latest"), 10)


def test_another_size_is_refused() -> None:
    done = kvarium("bench", "stream", "--size", "huge")
    assert (done.returncode, done.stderr) == (1, "kvarium: --size is small or full, not 'huge'\n")


def test_a_recording_that_does_not_fold_is_no_measurement(
    monkeypatch: pytest.MonkeyPatch, mixed_reader: Reader
) -> None:
    session = mixed_reader.find("latest")
    frames = list(mixed_reader.frames(session, -1, 60))
    assert frames[21].head.type == "step"
    monkeypatch.setattr(mixed_reader, "frames", lambda session: iter(frames[:21] + frames[22:]))
    with pytest.raises(KvariumError, match="the recording does not fold"):
        fold_in_python(mixed_reader, session, 10**9)
