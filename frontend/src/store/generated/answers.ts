// Generated from kvarium.why by `make types`; do not edit.

export type Answer = Eviction | Preemption | Wait | Miss | Memory | Leaks | Findings;

/**
 * The answer.
 *
 * ``asked`` is whom the operation served (None at a reset), which takes ``needed`` blocks in this step. ``queue`` and
 * ``idle`` are None where the block was not in the queue, and where its last operation is not recorded. ``hits`` is how
 * often the content had been hit in this block, ``hit_by`` those that are recorded, at most 100, the newest first.
 * ``copies`` are the other blocks that held the same content then. ``wanted`` says who asked for it again, up to record
 * ``through``, and ``not_recorded`` what of this answer is not known.
 */
export interface Eviction {
  life: Life;
  at: Moment;
  content: number;
  cause: string;
  asked: Who | null;
  needed: number;
  command: Command | null;
  queue: Queue | null;
  idle: Idle | null;
  hits: number;
  hit_by: Hit[];
  copies: Life[];
  wanted: Want[];
  wanted_in_all: number;
  through: number;
  not_recorded: string[];
}
/**
 * A block, and which of its lives; ``generation`` is None where it is not recorded.
 */
export interface Life {
  block: number;
  generation: number | null;
}
/**
 * A place in the session: a record, its step, the operation (or the one before which a decision holds), its time.
 *
 * ``time`` is when the step was sealed, in ns since the session's start.
 */
export interface Moment {
  record: number;
  step: number;
  op: number;
  time: number;
}
/**
 * A request, what it is called, and which of its sequences is meant (None: it as a whole, or not recorded).
 */
export interface Who {
  request: number;
  name: string | null;
  sequence: number | null;
  index: number | null;
}
/**
 * The command that made the engine do it, and who gave it.
 */
export interface Command {
  name: string;
  asked_by: string;
  record: number;
}
/**
 * The free queue in the moment before: ``length`` blocks, the evicted one with ``before`` of them before it.
 *
 * ``taken`` of those the same step takes too; ``passed_over`` it leaves (0 where the head is always taken). ``empty`` of
 * the whole queue hold no content, so that taking them would have lost nothing; ``empty_before`` of them stood before it.
 */
export interface Queue {
  length: number;
  before: number;
  taken: number;
  passed_over: number;
  empty: number;
  empty_before: number;
  head: Life;
  head_content: number | null;
}
/**
 * Since when nothing had happened to the block: its last ``operation``, and ``steps`` and ``ns`` from there.
 */
export interface Idle {
  operation: string;
  since: Moment;
  steps: number;
  ns: number;
}
/**
 * A prefix hit on the content in this block: ``reuse`` of a free one, or a ``share`` of one in use.
 */
export interface Hit {
  who: Who | null;
  operation: string;
  at: Moment;
}
/**
 * Somebody wanted it. ``life``: the block in which it was hit or computed; ``resumed``: after a preemption.
 *
 * ``computed`` is where who had missed it computed it.
 */
export interface Want {
  how: 'computed' | 'hit' | 'missed';
  who: Who | null;
  at: Moment;
  life: Life | null;
  resumed: boolean;
  computed: Moment | null;
}
/**
 * The answer.
 *
 * ``asked`` needed ``needs`` blocks (None where it got none, as it was preempted itself, or ended), ``free`` of ``pool``
 * were. The victim's tables had ``blocks`` entries: ``freed`` blocks came back to the queue, ``released`` ones others hold still.
 * ``others`` were preempted for the same need in this step. ``lost`` tokens had been computed. ``thrashing`` is exact:
 * it was preempted before, and since then it computed more tokens again than it gained.
 */
export interface Preemption {
  who: Who;
  at: Moment;
  asked: Who;
  policy: string | null;
  pool: number;
  needs: number | null;
  free: number;
  running: Holder[];
  blocks: number;
  freed: number;
  released: number;
  others: Who[];
  lost: number;
  earlier: Earlier[];
  since: Since | null;
  thrashing: boolean;
  after: After;
  not_recorded: string[];
}
/**
 * A request: it holds ``blocks`` by ``entries`` of its tables, ``alone`` of them alone, with ``unused`` slots in those it holds.
 *
 * ``alone`` is what taking its blocks away would set free; ``entries`` is what it would hold without any sharing.
 */
export interface Holder {
  who: Who;
  blocks: number;
  entries: number;
  alone: number;
  unused: number;
  precedence: number;
}
/**
 * A preemption of the same request before: for whom, and how many computed tokens it lost.
 */
export interface Earlier {
  at: Moment;
  asked: Who;
  lost: number;
}
/**
 * From the preemption before to this one: tokens that were computed ``again``, and that it ``gained`` (sampled).
 */
export interface Since {
  again: number;
  gained: number;
}
/**
 * What became of it: ``resumed`` (with ``hit`` of ``tokens`` in the prefix cache still), ended, or ``waits`` at the end.
 */
export interface After {
  how: 'aborted' | 'finished' | 'refused' | 'resumed' | 'waits';
  at: Moment | null;
  tokens: number | null;
  hit: number | null;
  steps: number | null;
}
/**
 * The answer, of the state after ``step``.
 *
 * ``who`` waits ``since`` it was submitted or preempted (``state``), with ``ahead`` of ``ahead_in_all`` requests before it;
 * ``head`` is the first of all, whose turn it is, and ``head_reason`` why that one waits. ``reason`` is its own as it was
 * logged last; None: none was. ``free`` of ``pool`` blocks are free. The step computed ``tokens`` of ``budget``;
 * ``sequences`` run, of ``max_num_seqs`` (None: not told). ``preempted`` lost their blocks in this step: nobody is
 * admitted in such a step.
 */
export interface Wait {
  who: Who;
  step: number;
  record: number;
  state: string;
  since: Moment | null;
  steps: number | null;
  ahead: Who[];
  ahead_in_all: number;
  reason: Reason | null;
  head: Who;
  head_reason: Reason | null;
  free: number;
  pool: number;
  tokens: number;
  budget: number;
  sequences: number;
  max_num_seqs: number | null;
  running: Holder[];
  preempted: Who[];
  not_recorded: string[];
}
/**
 * What the engine logged: ``blocks`` (``needs``, of which ``free`` were free), ``budget``, ``max_num_seqs``, ``behind``
 * another one, or ``fragmentation`` (the ``largest`` run of free blocks is too short).
 */
export interface Reason {
  reason: string;
  at: Moment;
  needs: number | null;
  free: number | null;
  largest: number | null;
  behind: Who | null;
}
/**
 * The answer, of the admission ``at``: ``hit`` of ``tokens`` tokens were found.
 *
 * The first block that was not, ``block`` of the prompt, has the tokens from ``first`` to before ``end``, and the hash ``missed``
 * (all None: nothing that could have been found was missed). ``capped``: it ends with the request's last token, so that it
 * would have been computed all the same. ``behind`` blocks further on were in the cache, where only a hit on this one
 * leads. ``keys`` are the extra keys of the request's hashes.
 */
export interface Miss {
  who: Who;
  at: Moment;
  resumed: boolean;
  reason:
    | 'cap'
    | 'diverges'
    | 'evicted'
    | 'never_seen'
    | 'not_recorded'
    | 'off'
    | 'other_key'
    | 'short'
    | 'unlabelled';
  tokens: number;
  hit: number;
  block_size: number;
  block: number | null;
  first: number | null;
  end: number | null;
  missed: string | null;
  capped: boolean;
  keys: string[][] | null;
  evicted: Loss | null;
  unlabelled: Pending | null;
  other_key: OtherKey | null;
  nearest: Nearest | null;
  behind: number | null;
  others: Admission[];
  not_recorded: string[];
}
/**
 * The eviction after which no block held it: of ``life``, which had held it since ``labelled``.
 */
export interface Loss {
  at: Moment;
  life: Life;
  cause: string;
  asked: Who | null;
  labelled: Moment | null;
}
/**
 * ``who`` held it in a block of which ``filled`` slots were filled; it was ``labelled`` later only.
 */
export interface Pending {
  who: Who | null;
  life: Life;
  filled: number;
  labelled: Moment;
}
/**
 * The same tokens under other extra keys: ``keys`` of their first block, and the content.
 */
export interface OtherKey {
  keys: string[][] | null;
  held: Held;
}
/**
 * A content: the block that holds it then (None: none does), who labelled it first, and its loss, if it was lost.
 */
export interface Held {
  content: number;
  life: Life | null;
  who: Who | null;
  labelled: Moment | null;
  lost: Moment | null;
}
/**
 * The cached text that begins as the request's for the most tokens, ``agree`` of them: the two differ at that token.
 *
 * ``own`` and ``cached`` are the tokens of both from position ``first`` to the end of the block; ``own_text`` and ``cached_text``
 * what they read as, where that is known. All but ``held`` is None where text is not recorded.
 */
export interface Nearest {
  agree: number | null;
  first: number | null;
  own: number[] | null;
  cached: number[] | null;
  own_text: string | null;
  cached_text: string | null;
  held: Held;
}
/**
 * Another time that the request was admitted; ``resumed``: after a preemption.
 */
export interface Admission {
  at: Moment;
  tokens: number;
  hit: number;
  resumed: boolean;
}
/**
 * The answer, of the state after ``step``; all but ``slots`` and ``unused`` in blocks.
 *
 * ``active`` (count 1), ``shared`` (more), ``cached`` (free, with content) and ``free`` (without) make up the ``pool``.
 * Of the ``slots`` of blocks in use ``unused`` are not filled, in ``tails`` blocks; ``reserved`` of these are wholly unfilled,
 * as a contiguous cache has them. ``requests`` hold ``held`` blocks by ``entries`` table entries: ``saved`` is how many more
 * they would need without sharing, and ``saving`` its share of ``entries`` (None: there are none). ``duplicates`` are
 * labelled blocks beyond the first of each content.
 */
export interface Memory {
  step: number;
  record: number;
  pool: number;
  block_size: number;
  active: number;
  shared: number;
  cached: number;
  free: number;
  slots: number;
  unused: number;
  tails: number;
  reserved: number;
  held: number;
  entries: number;
  saved: number;
  saving: number | null;
  duplicates: number;
  pinned: Pinned;
  requests: Holder[];
}
/**
 * Counts that no table entry stands for: ``pins`` on ``blocks`` blocks.
 */
export interface Pinned {
  pins: number;
  blocks: number;
}
/**
 * The answer, of the state after ``step`` against the one after ``baseline``.
 *
 * ``used`` blocks of the ``pool`` are in use, ``used_before`` were; ``leaking`` of them are held for nobody, ``new`` of these
 * not yet at the baseline; ``leaks`` tells them, the new ones first, at most 1,000. ``pins`` are those that are no leaks.
 * ``violation`` is the first fault that folding up to the step found: an audit of a leaking engine finds one.
 */
export interface Leaks {
  step: number;
  record: number;
  baseline: number;
  pool: number;
  used: number;
  used_before: number;
  leaking: number;
  new: number;
  pins: number;
  leaks: Leak[];
  violation: string | null;
}
/**
 * A block that is held for nobody: by an ``entry``, at ``position`` in the table of ``who``'s sequence, or by a ``pin``,
 * or by a ``count`` for which nothing stands.
 *
 * ``who`` is None where it is not recorded whose sequence that was. ``old``: it was so at the baseline already.
 */
export interface Leak {
  life: Life;
  how: 'count' | 'entry' | 'pin';
  sequence: number | null;
  position: number | null;
  who: Who | null;
  old: boolean;
}
/**
 * The answer: the ``findings`` of records up to ``through`` (of ``step``; None: no step was followed), and all that was
 * ``looked_for``.
 */
export interface Findings {
  steps: number;
  operations: number;
  through: number;
  step: number | null;
  findings: Finding[];
  looked_for: LookedFor[];
  not_recorded: string[];
}
/**
 * A fault that was found: ``kind``, in a sentence, with what was ``measured`` and the ``thresholds`` that it passed.
 *
 * ``fault`` names the fault of production of which this is the cause (None: it is none of the four); ``reason`` is which one of
 * its kind it is, where there are several. ``evidence`` are the strongest of ``in_all`` events.
 */
export interface Finding {
  kind: string;
  fault: string | null;
  reason: string | null;
  told: string;
  measured: {
    [k: string]: number;
  };
  thresholds: {
    [k: string]: number;
  };
  settings: Setting[];
  evidence: Evidence[];
  in_all: number;
}
/**
 * What to change: an option by vLLM's name, its value in this recording (None: not told), and the advice.
 */
export interface Setting {
  name: string;
  now: string | number | boolean | null;
  advice: string;
}
/**
 * An event that proves it, in words and by its place. ``link`` is the address, behind the session's, that tells more.
 *
 * ``measured``: the numbers in the words by their names, for who says it in words of another language.
 */
export interface Evidence {
  told: string;
  measured: {
    [k: string]: number;
  };
  at: Moment | null;
  who: Who | null;
  life: Life | null;
  link: string | null;
}
/**
 * A kind of finding, of which fault of production it is a cause, and from what on it is one.
 */
export interface LookedFor {
  kind: string;
  fault: string | null;
  thresholds: {
    [k: string]: number;
  };
}
