"""After records were lost, the engine makes a keyframe from which a mirror that saw nothing else can follow."""

import queue
import threading
from types import SimpleNamespace
from typing import Any, cast

from kvarium_engine.options import Options
from kvarium_engine.process import Process
from kvarium_ledger.decisions import Admitted
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import SealedStep
from tests.engine.mirrored import Mirrored, tokens


def test_contents_that_the_keyframe_does_not_list_are_not_named_again() -> None:
    engine = Mirrored(num_blocks=4)
    engine.submit(tokens(1, 40), max_tokens=1)
    engine.run()
    engine.submit(tokens(2, 60), max_tokens=1)
    engine.run()
    assert len(engine.pool.cache) == 3, "the first prompt's blocks were evicted"
    engine.engine.keyframe(forget=True)
    assert engine.mirror() == []
    known = engine.pool.cache.next_content
    seen = len(engine.records)
    engine.submit(tokens(1, 40), max_tokens=1)
    engine.submit(tokens(2, 60), max_tokens=1)
    engine.run()
    assert engine.decisions(Admitted)[-2].hit == 0
    fold = Fold(4, 16)
    for record in engine.records[seen - 1 :]:
        assert fold.apply(record) == []
    after = [sealed for sealed in engine.sealed if isinstance(sealed, SealedStep)][2:]
    named = {text.content for sealed in after for text in sealed.contents}
    assert named
    assert min(named) >= known


def test_the_process_answers_the_links_wish_for_a_keyframe_once() -> None:
    run = Process(Options(step_ms=0))
    sealed: list[Any] = []
    run.engine.ledger.sink = sealed.append
    link = SimpleNamespace(commands=queue.SimpleQueue(), keyframe_wanted=threading.Event())
    link.keyframe_wanted.set()
    run._obey(cast(Any, link))
    run._obey(cast(Any, link))
    assert [type(part).__name__ for part in sealed] == ["Keyframe"]
    assert not link.keyframe_wanted.is_set()
