"""Debugging stories, from a symptom to its cause, only through the page as somebody would who looks for it.

Each recording is made by the real engine so that its true cause is known: what is found has to be that.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Preempted
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import Step
from tests.backend.asking import record
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import ServerProcess, process
from tests.backend.test_findings import preempting, turn
from tests.e2e.conftest import Pages, read_recording
from tests.e2e.page import becomes, ready, until
from tests.e2e.test_breakpoints import close_dialog, control, open_dialog
from tests.engine.mirrored import Mirrored, tokens

pytestmark = pytest.mark.e2e

APPLIED = "op => (({ operation, op }) => operation ?? op - 1)(window.kvarium.position()) === op"
"""Stands the view behind this operation? Behind the last one of a step that is the whole step."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("stories") / "recording.db") as found:
        yield found


def opened(open_page: Pages, server: RunningServer, session: str) -> Page:
    page = open_page(f"http://127.0.0.1:{server.port}/?session={session}")
    ready(page)
    return page


def why(page: Page) -> Locator:
    return page.get_by_role("region", name="Why", exact=True)


def selected_request(page: Page) -> Locator:
    """What the inspector says first of the request that is selected."""
    return page.locator(".inspector .big").last


def in_turn(num_blocks: int) -> Mirrored:
    """Two prompts, five and six blocks long, each three times in turn: a pool of six can keep but one of them."""
    engine = Mirrored(num_blocks=num_blocks, block_size=4)
    for _ in range(3):
        turn(engine, tokens(1, 17), "chat")
        turn(engine, tokens(2, 23), "report")
    return engine


@pytest.mark.slow
def test_a_low_hit_rate_is_followed_to_the_request_that_takes_the_blocks_and_to_the_setting(
    server: RunningServer, open_page: Pages
) -> None:
    engine = in_turn(6)
    page = opened(open_page, server, record(server, engine))
    page.keyboard.press("i")
    symptom = page.locator(".symptom").first
    expect(symptom.locator("h3")).to_contain_text("Low hit rate")
    lost = symptom.locator(".finding").filter(has_text="evicted, then wanted")
    event = lost.locator(".proofs li").first
    # Chats are r0, r2, r4, reports r1, r3, r5: the one takes what the next of the other wants again.
    event.get_by_title("Go there").click()
    event.get_by_title("Select this request").click()
    expect(selected_request(page)).to_have_text(re.compile(r"r\d+"))
    wants = int(re.findall(r"r(\d+)", selected_request(page).inner_text())[0])
    event.get_by_role("button", name="why?").click()
    expect(why(page).locator(".because")).to_contain_text("took")
    asker = why(page).locator(".because").get_by_role("button")
    took = int(asker.inner_text().removeprefix("r"))
    assert took == wants - 1, "who came between the two that are alike"
    expect(why(page).locator(".wants li").first).to_contain_text(f"r{wants}")
    expect(why(page)).to_contain_text("no other block: it left the cache")
    asker.click()
    expect(selected_request(page)).to_contain_text(f"r{took}")
    expect(lost.locator(".settings li").first).to_have_text(
        "gpu_memory_utilization a larger pool keeps them longer"
    )
    # And so it is: the same requests in a pool of twice the size.
    twin = opened(open_page, server, record(server, in_turn(12)))
    twin.keyboard.press("i")
    expect(twin.locator(".without").filter(has_text="evicted, then wanted")).to_have_count(1)
    expect(twin.locator(".finding").filter(has_text="evicted, then wanted")).to_have_count(0)


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, str]]:
    """The real engine under the seeded mix, on a pool so small that the cache loses blocks all the time."""
    db = tmp_path_factory.mktemp("stopped") / "live.db"
    options = ("--num-gpu-blocks-override", "64", "--seed", "3", "--allow-control")
    with process("serve", "--port", "0", "--db", str(db), *options) as server:
        server.wait_ready().wait_line("engine linked")
        yield server, str(db)


@pytest.mark.slow
def test_an_engine_that_stops_at_an_eviction_is_looked_into_and_asked_why(
    small: tuple[ServerProcess, str], open_page: Pages
) -> None:
    server, path = small
    page = open_page(server.url)
    ready(page)
    until(page, "window.kvarium.position().mode === 'follow'")
    open_dialog(page)
    page.get_by_label("Stop when").fill("op:evict cause:allocate")
    expect(page.get_by_label("Stop when")).to_have_attribute("aria-invalid", "false")
    page.get_by_role("button", name="set", exact=True).click()
    bar = page.get_by_role("toolbar", name="The engine")
    expect(bar).to_contain_text("engine stopped by breakpoint 1")
    close_dialog(page)
    stop = control(server)["stop"]
    until(page, APPLIED, stop["op"])
    # What the records say of it.
    recording = read_recording(path)
    requests = recording.requests_of_sequences()
    [step] = [
        each
        for each in map(codec.open_frame, recording.frames)
        if isinstance(each, Step) and each.step == stop["step"]
    ]
    columns = OperationColumns.decode(step.operations)
    place = stop["op"] - step.op
    assert (columns.kind[place], columns.cause[place]) == (Operation.evict, Cause.allocate)
    block, request = int(columns.block[place]), requests[int(columns.sequence[place])]
    # Stopped before the next step, with the event selected: the block holds nothing any more, and before it did.
    until(page, "block => location.search.includes(`block=${block}`)", block)
    assert control(server)["step"] == stop["step"]
    content = "async block => (await window.kvarium.state()).content[block] !== 0xffffffff"
    becomes(page, lambda: page.evaluate(content, block), False)
    page.keyboard.press(";")
    until(page, APPLIED, stop["op"] - 1)
    becomes(page, lambda: page.evaluate(content, block), True)
    page.keyboard.press("'")
    until(page, APPLIED, stop["op"])
    page.keyboard.press("y")
    because = why(page).locator(".because")
    expect(because).to_contain_text("in this step")
    assert because.get_by_role("button").inner_text().split(".")[0] == f"r{request}"
    when = f"op {stop['op']:,}".replace(",", "\u202f")
    expect(why(page).locator(".pairs").first).to_contain_text(when)
    # Let go, it goes on, until it is stopped by the next one.
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Space")
    until(page, "step => window.kvarium.position().lastStep > step", stop["step"])


def test_a_request_that_takes_for_ever_is_followed_to_who_needs_its_blocks(
    server: RunningServer, open_page: Pages
) -> None:
    engine = preempting("thrashes")
    last = [each for each in engine.decisions(Preempted) if each.request == 2][-1]
    times = len([each for each in engine.decisions(Preempted) if each.request == 2])
    assert times == 2
    fold = Fold(7, 4)
    for each in engine.records:
        assert fold.apply(each) == []
        if isinstance(each, Step) and last in each.decisions:
            fold.stand(each, last.op)
            break
    free = int((fold.state.blocks.np_count == 0).sum())
    page = opened(open_page, server, record(server, engine))
    page.keyboard.press("End")
    until(page, "window.kvarium.position().step === window.kvarium.position().lastStep")
    # The symptom: of all that came, one had to begin again most often.
    page.get_by_role("combobox", name="State").select_option(label="any state")
    page.get_by_role("combobox", name="Order").select_option(label="preempted")
    row = page.locator(".tables .sequence").first
    expect(row).to_contain_text(f"preempted {times} ×")
    row.click()
    expect(selected_request(page)).to_contain_text("r2")
    expect(page.locator(".inspector .life .line").filter(has=page.locator(".k-preempted"))).to_have_count(
        times
    )
    page.keyboard.press("y")
    # The cause: for whom, what was free, and that it does not get on.
    because = why(page).locator(".because")
    expect(because.first).to_contain_text(f"r{last.victim_of}")
    expect(because.first).to_contain_text(f"{free} of 7 were free")
    expect(because.last).to_contain_text("It thrashes")
    expect(why(page)).to_contain_text(f"{last.tokens} computed token")
    # And what to change.
    page.keyboard.press("i")
    finding = page.locator(".finding").filter(has_text="thrashing")
    expect(finding.locator(".settings li").first).to_contain_text("max_num_seqs")
    expect(finding.locator(".proofs li").first).to_contain_text("r2")
