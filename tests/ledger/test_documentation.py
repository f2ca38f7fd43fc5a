"""docs/ledger.md tells what the code does: every operation, cause, decision, message field and digest constant."""

from pathlib import Path
from typing import get_args

import msgspec

from kvarium_ledger import decisions, digest, messages, records
from kvarium_ledger.operations import COLUMNS, Cause, Operation, Pin

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text()


def fields(union: object) -> set[str]:
    return {name for struct in get_args(union) for name in struct.__struct_fields__}


def test_every_operation_cause_pin_and_column_is_told() -> None:
    for operation in Operation:
        assert f"| {operation.value} | `{operation.name}` |" in PAGE
    for cause in Cause:
        assert f"{cause.value}\n`{cause.name}`" in PAGE or f"{cause.value} `{cause.name}`" in PAGE
    for name in [*(pin.name for pin in Pin), *COLUMNS]:
        assert f"`{name}`" in PAGE, name


def test_every_decision_with_its_fields_is_told() -> None:
    for struct in get_args(decisions.AnyDecision):
        assert f"| `{msgspec.inspect.type_info(struct).tag}` |" in PAGE
    for name in fields(decisions.AnyDecision) - {"request"}:
        assert f"`{name}`" in PAGE, name


def test_every_message_with_its_fields_is_told() -> None:
    for name in fields(messages.AnyMessage):
        assert f"`{name}`" in PAGE, name


def test_every_record_is_told() -> None:
    for struct in get_args(records.AnyRecord):
        assert f"| `{msgspec.inspect.type_info(struct).tag}` |" in PAGE


def test_the_constants_of_the_digests_are_told() -> None:
    for lane in digest.MULTIPLIERS:
        assert " ".join(f"{value:08X}" for value in lane) in PAGE
    for kind, pair in digest.SALTS.items():
        assert f"{kind} {pair[0]:08X} {pair[1]:08X}" in PAGE
