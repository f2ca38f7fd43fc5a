"""Following a session without its text: which numbers of records may be missing.

step 7    text 8    step 9    text 10    control 11       the session
step 7              step 9               control 11       what a viewer without text gets
"""

from kvarium_ledger.records import AnyRecord, Gap, Keyframe, Step, Text


def text_between(last: AnyRecord | None, following: AnyRecord) -> Text | None:
    """The text record that a viewer without text was not sent between two records, with nothing in it; None: there was none.

    Only one number can be missing so: that behind a step, as a text follows its step; a keyframe that the server made
    (not ``audited``) bears the number of the last record that it holds, which may be a step. To a fold, an empty text stands for
    any: what else is missing is an ``order`` violation to it, as it is to who gets everything.
    """
    number = following.first if isinstance(following, Gap) else following.record
    is_step = isinstance(last, Step) or (isinstance(last, Keyframe) and not last.audited)
    if last is None or not is_step or number != last.record + 2:
        return None
    return Text(record=last.record + 1, step=last.step)  # type: ignore[union-attr]
