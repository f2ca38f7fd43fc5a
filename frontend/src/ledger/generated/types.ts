// Generated from kvarium_ledger by `make types`; do not edit.

export type Frame =
  | Step
  | Text
  | Control
  | Keyframe
  | Gap
  | Note
  | Hello
  | Welcome
  | Rejected
  | Ack
  | Command
  | Answer
  | Health
  | Status
  | Skip
  | Bye;

/**
 * One step of the engine.
 *
 * ``time`` is its start and ``sealed`` the moment when the record was closed, both in ns since the session's start;
 * the ``…_ns`` are durations. ``tokens`` of ``budget`` (``max_num_batched_tokens``) were scheduled. ``op`` is the
 * index in the session of its first operation. ``sampled`` (u32) names the sequences that got a token, in order,
 * before operation ``sampled_op``; which tokens is told in the ``text`` record of the same step. ``digest`` holds
 * after the record; ``audit`` is there when the engine recomputed its lanes from its real objects.
 */
export interface Step {
  type: 'step';
  record: number;
  step: number;
  time: number;
  sealed: number;
  op: number;
  digest: Digest;
  schedule_ns?: number;
  forward_ns?: number;
  sample_ns?: number;
  seal_ns?: number;
  tokens?: number;
  budget?: number;
  operations?: Operations;
  decisions?: (
    | Submitted
    | Admitted
    | SequenceCreated
    | SequenceDropped
    | Hypothesis
    | Scheduled
    | Waiting
    | Preempted
    | Finished
    | Aborted
    | Refused
  )[];
  sampled?: Uint8Array;
  sampled_op?: number;
  contents?: Contents;
  audit?: Digest | null;
}
/**
 * Three lanes of two u32 each (8 bytes, little-endian): over blocks, table entries and requests.
 *
 * See :mod:`kvarium_ledger.digest` for the sums.
 */
export interface Digest {
  blocks: Uint8Array;
  tables: Uint8Array;
  requests: Uint8Array;
}
/**
 * The operations of a step as sparse columns; see :mod:`kvarium_ledger.operations` for which carries which.
 */
export interface Operations {
  kind?: Uint8Array;
  block?: Uint8Array;
  cause?: Uint8Array;
  sequence?: Uint8Array;
  position?: Uint8Array;
  group?: Uint8Array;
  pin?: Uint8Array;
  ticket?: Uint8Array;
  filled_before?: Uint8Array;
  filled_after?: Uint8Array;
  source?: Uint8Array;
  content?: Uint8Array;
  hits?: Uint8Array;
}
/**
 * A request came in and waits. ``name`` is the user's id for it; lengths are in tokens.
 *
 * Of waiting requests the one of the smallest ``precedence`` is next, and of equals the one of the smallest place: first
 * come, first served all have 0; by priority it follows from priority and time of arrival. The victim of a preemption is
 * the running one of the greatest.
 *
 * ``n`` samples, or the ``n`` best of a beam search of ``beam_width`` beams. ``lora_name`` and ``cache_salt`` are
 * the extra keys of its blocks' hashes: with other ones the same tokens are another prefix.
 */
export interface Submitted {
  kind: 'submitted';
  op: number;
  request: number;
  state_before?: ('preempted' | 'running' | 'waiting') | null;
  place_before?: number | null;
  state_after?: ('preempted' | 'running' | 'waiting') | null;
  place_after?: number | null;
  name: string;
  prompt_tokens: number;
  max_tokens: number;
  n?: number;
  priority?: number;
  precedence?: number;
  beam_width?: number | null;
  lora_name?: string | null;
  cache_salt?: string | null;
}
/**
 * A waiting or preempted request begins to run.
 *
 * ``tokens`` had to be there, ``hit`` of them were found in the prefix cache; ``cap_applied`` says that the hit was
 * cut to leave one token to compute; ``missed`` is the hash of the first full block that was not found.
 */
export interface Admitted {
  kind: 'admitted';
  op: number;
  request: number;
  state_before?: ('preempted' | 'running' | 'waiting') | null;
  place_before?: number | null;
  state_after?: ('preempted' | 'running' | 'waiting') | null;
  place_after?: number | null;
  tokens: number;
  hit?: number;
  cap_applied?: boolean;
  missed?: Uint8Array | null;
}
/**
 * A decode sequence begins: the ``index``-th of its request, forked from ``parent`` (``None``: the first).
 */
export interface SequenceCreated {
  kind: 'sequence_created';
  op: number;
  request: number;
  sequence: number;
  index: number;
  parent?: number | null;
}
/**
 * A sequence ends before its request does: a beam without children (no ``reason``), a sample that met its end.
 *
 * ``stop_reason`` is as in :class:`Finished`.
 */
export interface SequenceDropped {
  kind: 'sequence_dropped';
  op: number;
  request: number;
  sequence: number;
  reason?: ('length' | 'stop') | null;
  stop_reason?: number | string | null;
}
/**
 * A beam search has found a whole answer: the ``tokens`` that ``sequence`` had sampled, and ``token`` after them.
 *
 * ``token`` is that by which it ended, and enters no sequence; None: text is not recorded. ``score`` is the sum of its
 * tokens' log probabilities, divided by their number to the power of the length penalty. The answers of a request are the
 * ``n`` of the highest score; of equal ones the earlier.
 */
export interface Hypothesis {
  kind: 'hypothesis';
  op: number;
  request: number;
  sequence: number;
  tokens: number;
  score: number;
  reason: 'length' | 'stop';
  token?: number | null;
}
/**
 * A chunk of a prefill is computed in this step: ``tokens`` of ``sequence``, from position ``start``.
 *
 * A decode of one token is its ``fill``.
 */
export interface Scheduled {
  kind: 'scheduled';
  op: number;
  request: number;
  sequence: number;
  start: number;
  tokens: number;
}
/**
 * Why a request still waits; logged when the reason changes.
 *
 * ``reason``: ``blocks`` (it needs ``needs``, ``free`` are free), ``budget`` (the step's tokens are used up),
 * ``max_num_seqs`` (as many run as may), ``behind`` (another request, ``behind``, stands before it and waits) or
 * ``fragmentation`` (a contiguous cache: ``free`` blocks would do, but the ``largest`` run of free ones does not).
 */
export interface Waiting {
  kind: 'waiting';
  op: number;
  request: number;
  reason: 'behind' | 'blocks' | 'budget' | 'fragmentation' | 'max_num_seqs';
  needs?: number | null;
  free?: number | null;
  largest?: number | null;
  behind?: number | null;
}
/**
 * A running request loses its blocks and waits again: ``victim_of`` needed them.
 *
 * ``blocks`` went back to the free queue (or lost a count); ``tokens`` must be computed again.
 */
export interface Preempted {
  kind: 'preempted';
  op: number;
  request: number;
  state_before?: ('preempted' | 'running' | 'waiting') | null;
  place_before?: number | null;
  state_after?: ('preempted' | 'running' | 'waiting') | null;
  place_after?: number | null;
  victim_of: number;
  blocks: number;
  tokens: number;
}
/**
 * A request is done: it met a stop, its length, the capacity of the pool, or an error in the forward.
 *
 * The reason is that of all its sequences that were left. ``stop_reason`` is the stop id or the stop string that was
 * met, as vLLM tells it; None with ``stop``: the model's own end of a sequence.
 */
export interface Finished {
  kind: 'finished';
  op: number;
  request: number;
  state_before?: ('preempted' | 'running' | 'waiting') | null;
  place_before?: number | null;
  state_after?: ('preempted' | 'running' | 'waiting') | null;
  place_after?: number | null;
  reason: 'capacity' | 'error' | 'length' | 'stop';
  message?: string | null;
  stop_reason?: number | string | null;
}
/**
 * A request was ended from outside; ``asked_by`` says by whom.
 */
export interface Aborted {
  kind: 'aborted';
  op: number;
  request: number;
  state_before?: ('preempted' | 'running' | 'waiting') | null;
  place_before?: number | null;
  state_after?: ('preempted' | 'running' | 'waiting') | null;
  place_after?: number | null;
  asked_by?: string;
}
/**
 * A request can never fit, so it ends at once: it ``needs`` more blocks (or tokens) than the engine ``has``.
 */
export interface Refused {
  kind: 'refused';
  op: number;
  request: number;
  state_before?: ('preempted' | 'running' | 'waiting') | null;
  place_before?: number | null;
  state_after?: ('preempted' | 'running' | 'waiting') | null;
  place_after?: number | null;
  message: string;
  needs: number;
  has: number;
  unit?: 'blocks' | 'tokens';
}
/**
 * Contents that were interned: u32 ``content`` and u32 ``parent`` (``NONE``: the first block of a prompt).
 *
 * ``hash`` (``hash_size`` bytes each) is there only where parent, tokens and extra keys do not give it: when text is
 * not recorded, or when a foreign engine tells nothing else.
 */
export interface Contents {
  content?: Uint8Array;
  parent?: Uint8Array;
  hash?: Uint8Array;
  hash_size?: number;
}
/**
 * The text of the step ``step``, so that who does not want it can leave it out.
 *
 * ``tokens`` (u32) are the token ids of the contents ``content`` (u32), block after block; those of them that have extra
 * keys stand in ``extra`` too, once for each kind of keys. ``sampled`` (u32) are the
 * sampled tokens in the order of :attr:`Step.sampled`; ``logprobs`` is there when a request asked for them.
 */
export interface Text {
  type: 'text';
  record: number;
  step: number;
  content?: Uint8Array;
  tokens?: Uint8Array;
  extra?: ContentKeys[];
  prompts?: Prompt[];
  sampled?: Uint8Array;
  pieces?: Pieces;
  logprobs?: Logprobs;
}
/**
 * Contents whose hashes have extra keys: u32 ``content``, and the ``keys`` that stand in the hash of each of them.
 *
 * ``keys`` are as they enter the hash, for example ``[["lora", name, path], ["cache_salt", salt]]``.
 */
export interface ContentKeys {
  content?: Uint8Array;
  keys?: string[][];
}
/**
 * The prompt of a request: its token ids (u32) and, where there is one, its text.
 *
 * ``hash`` (32 bytes) stands there instead where hashes of text are recorded: prompts of one session are the same tokens
 * exactly where it is the same (:mod:`kvarium_ledger.privacy`).
 */
export interface Prompt {
  request: number;
  tokens?: Uint8Array;
  text?: string | null;
  hash?: Uint8Array;
}
/**
 * Pieces of the vocabulary: u32 ``token`` and its text.
 *
 * A piece is told in the first ``text`` record that has its token, and after a gap anew. A token that is only a part
 * of a character has its bytes as its piece, ``<0xE2>`` each: runs of those are decoded together, as UTF-8. A token
 * whose piece is never told has no text.
 */
export interface Pieces {
  token?: Uint8Array;
  piece?: string[];
}
/**
 * How likely sampled tokens were, for the requests that ask: natural logs of the softmax of the model's own logits.
 *
 * One value a sampled token: u32 ``sampled``, its place in :attr:`Text.sampled`; f32 ``logprob``; u32 ``rank``, how many
 * tokens were at least as likely (1: only itself); u32 ``count``, how many of the likeliest tokens are told with it.
 * Those stand one behind the other, the likeliest first: u32 ``top_token``, f32 ``top_logprob``.
 */
export interface Logprobs {
  sampled?: Uint8Array;
  logprob?: Uint8Array;
  rank?: Uint8Array;
  count?: Uint8Array;
  top_token?: Uint8Array;
  top_logprob?: Uint8Array;
}
/**
 * A command that the engine answered between two steps: ``error`` is None when it was carried out.
 */
export interface Control {
  type: 'control';
  record: number;
  time: number;
  id: string;
  name: string;
  args?: {
    [k: string]: string | number | boolean | null;
  };
  asked_by?: string;
  error?: string | null;
}
/**
 * The whole state after all that the session holds up to and with this record.
 *
 * ``step`` is the last step's number (-1: none yet) and ``op`` the index of the next operation. A keyframe of the
 * engine's has a number of its own and was computed from its real objects (``audited``); one that a follower made of
 * its mirror, to let another join or to seek, bears the number of the last record that it holds.
 * ``utc_us`` is the wall clock in µs since 1970 at ``time`` ns of the session. ``contents`` lists those that blocks hold,
 * with their ancestors; every content below ``next_content`` was interned at some time, and may be held again.
 *
 * A keyframe with ``since`` tells of the blocks only what a follower lacks that has them as of that record: ``blocks`` holds
 * the values of the blocks ``changed`` (u32, ascending) alone, in that order. It is an answer to a seek, never a record.
 */
export interface Keyframe {
  type: 'keyframe';
  record: number;
  step: number;
  time: number;
  utc_us: number;
  op: number;
  digest: Digest;
  blocks?: BlockColumns;
  tables?: TableColumns;
  pins?: PinColumns;
  requests?: RequestState[];
  sequences?: SequenceState[];
  contents?: Contents1;
  next_content?: number;
  audited?: boolean;
  since?: number | null;
  changed?: Uint8Array;
}
/**
 * The state of all blocks, a value a block: an **absent** column means its default for every block.
 *
 * u32 ``generation`` (0), u32 ``count`` (0), f64 ``ticket`` (the block's number; NaN: not queued), u32 ``content``
 * (``NONE``), u32 ``filled`` (0), u32 ``hits`` (0); each in the narrowest form that holds its values, which its length tells
 * (:mod:`kvarium_ledger.block_columns`).
 */
export interface BlockColumns {
  generation?: Uint8Array;
  count?: Uint8Array;
  ticket?: Uint8Array;
  content?: Uint8Array;
  filled?: Uint8Array;
  hits?: Uint8Array;
}
/**
 * All entries of all block tables: u32 ``sequence``, u8 ``group`` (absent: 0), u32 ``position``, u32 ``block``.
 */
export interface TableColumns {
  sequence?: Uint8Array;
  group?: Uint8Array;
  position?: Uint8Array;
  block?: Uint8Array;
}
/**
 * All pins: u32 ``block``, u8 ``pin``.
 */
export interface PinColumns {
  block?: Uint8Array;
  pin?: Uint8Array;
}
/**
 * A request in the engine; see :class:`kvarium_ledger.decisions.Submitted`. ``cache_salt`` is told only there: it is text.
 */
export interface RequestState {
  request: number;
  name: string;
  state: 'preempted' | 'running' | 'waiting';
  place: number;
  prompt_tokens: number;
  max_tokens: number;
  n?: number;
  priority?: number;
  precedence?: number;
  beam_width?: number | null;
  lora_name?: string | null;
}
/**
 * A sequence of a request in the engine.
 */
export interface SequenceState {
  sequence: number;
  request: number;
  index: number;
  parent?: number | null;
}
/**
 * Contents that were interned: u32 ``content`` and u32 ``parent`` (``NONE``: the first block of a prompt).
 *
 * ``hash`` (``hash_size`` bytes each) is there only where parent, tokens and extra keys do not give it: when text is
 * not recorded, or when a foreign engine tells nothing else.
 */
export interface Contents1 {
  content?: Uint8Array;
  parent?: Uint8Array;
  hash?: Uint8Array;
  hash_size?: number;
}
/**
 * The records ``first`` to ``last`` (both included) are lost for all; a keyframe follows.
 *
 * ``record`` is ``last + 1``, so that the numbers of a session still have no hole.
 */
export interface Gap {
  type: 'gap';
  record: number;
  time: number;
  first: number;
  last: number;
  reason: string;
}
/**
 * A remark: by whom, and the text; an engine's own tells which breakpoint was met (``hit``).
 */
export interface Note {
  type: 'note';
  record: number;
  time: number;
  text: string;
  by?: string;
  hit?: Hit | null;
}
/**
 * Where an engine met a breakpoint, the ``count``-th time: in ``step``, and it ``stops`` there or only marks it.
 *
 * Of an event, ``index`` is its place in its step's record (decisions stand before the operation before which they hold) and
 * ``op`` its number, or that of the operation before which it holds; ``block`` is an operation's, ``request`` whom it served.
 * Of a request that waits only that is there, and of the state after the step neither.
 */
export interface Hit {
  breakpoint: number;
  step: number;
  count: number;
  stops?: boolean;
  index?: number | null;
  op?: number | null;
  block?: number | null;
  request?: number | null;
}
/**
 * An engine's first words: who it is and what a fold needs to know. Viewers get the same bytes.
 *
 * ``session`` is a UUID made by the engine at its start; a link that breaks continues it. ``utc_us`` is the wall clock
 * (µs since 1970) at 0 ns of the session. Sizes are in slots (tokens) and bytes; ``config`` holds vLLM's flags by
 * their names (``max_num_batched_tokens``, ``max_num_seqs``, ``enable_prefix_caching``, ...). A rank or a replica is a
 * session of its own: ``deployment`` is a name that all of one deployment bear, ``rank`` which of them this is. They are
 * for engines that have several; a reader may group sessions by them, and kvarium's own engine and server leave them be.
 * ``replay_of`` is there where no engine speaks: a recording of that session is sent again, and nothing can be asked of it.
 */
export interface Hello {
  type: 'hello';
  version: number;
  session: string;
  utc_us: number;
  num_blocks: number;
  block_size: number;
  engine: string;
  model: string;
  runner: string;
  device: string;
  name?: string;
  groups?: number;
  kv_bytes_per_block?: number;
  allow_control?: boolean;
  record_text?: string;
  pid?: number;
  deployment?: string | null;
  rank?: number | null;
  replay_of?: string | null;
  config?: {
    [k: string]: string | number | boolean | null;
  };
}
/**
 * The backend accepts an engine: ``ack`` is the last record of the session that it has committed (None: none).
 */
export interface Welcome {
  type: 'welcome';
  version: number;
  ack?: number | null;
}
/**
 * The backend does not accept an engine, for a reason that a reconnection would not change.
 */
export interface Rejected {
  type: 'rejected';
  reason: string;
}
/**
 * Every record up to and with ``record`` is committed.
 */
export interface Ack {
  type: 'ack';
  record: number;
}
/**
 * What somebody asks of the engine: ``submit``, ``abort``, ``hold``, ``step``, ``break`` … (:data:`kvarium_ledger.privacy.COMMANDS`).
 *
 * It is applied between two steps and answered with the same ``id``.
 */
export interface Command {
  type: 'command';
  id: string;
  name: string;
  args?: {
    [k: string]:
      | string
      | number
      | boolean
      | (number | string)[]
      | {
          [k: string]: number;
        }
      | null;
  };
  asked_by?: string;
}
/**
 * The engine's answer to the command ``id``: ``error`` is None when it was carried out.
 */
export interface Answer {
  type: 'answer';
  id: string;
  error?: string | null;
  result?: {
    [k: string]: string | number | boolean | number[] | null;
  };
}
/**
 * The engine's figures of the last second: rates a second, ns of the engine's thread, bytes not yet acknowledged.
 *
 * ``prefix_cache_queries`` and ``…_hits`` are in tokens and since the session's start; see
 * :mod:`kvarium_ledger.hit_statistics`. A ``held`` engine takes no step of its own, but goes on to ``run_to`` if that is there.
 * ``slow`` is the most steps a second that it takes, if there is a most. ``stop`` is what holds it, of its ``breakpoints``. What is
 * told of its control is told at once when it changes.
 */
export interface Health {
  type: 'health';
  time: number;
  operations_per_s?: number;
  steps_per_s?: number;
  bytes_per_s?: number;
  step_ns?: number;
  ledger_ns?: number;
  unacknowledged_bytes?: number;
  queue_records?: number;
  gaps?: number;
  held?: boolean;
  prefix_cache_queries?: number;
  prefix_cache_hits?: number;
  prefix_cache_preempted_queries?: number;
  prefix_cache_preempted_hits?: number;
  run_to?: number | null;
  slow?: number | null;
  stop?: Hit | null;
  breakpoints?: Breakpoint[];
}
/**
 * What an engine stops at, or only marks: ``when`` its predicate holds for the ``hits``-th time; it has ``count`` times so far.
 *
 * ``last`` is the hit that was told of last, by a note.
 */
export interface Breakpoint {
  id: number;
  when: string;
  hits?: number;
  mark?: boolean;
  enabled?: boolean;
  count?: number;
  last?: Hit | null;
}
/**
 * The backend's view of a session, for viewers: linked to its engine or not, recorded or not, how far.
 *
 * ``fold_record`` is how far the backend's own fold came, ``committed`` how far the recorder did; ``violation`` is the
 * first fault that the backend's fold met. ``skips`` and ``lag_ms`` are of the viewer that is told: how often it got a
 * :class:`Skip`, and ms from the ``sealed`` of the last record that it was sent to its sending, by the clocks of engine and
 * backend; ``viewers_skips`` is of all viewers that this session had since the backend's start.
 */
export interface Status {
  type: 'status';
  linked: boolean;
  state: string;
  last_record?: number | null;
  committed?: number | null;
  fold_record?: number | null;
  viewers?: number;
  recording?: string;
  recording_bytes?: number;
  recording_error?: string | null;
  violation?: string | null;
  skips?: number;
  viewers_skips?: number;
  lag_ms?: number | null;
}
/**
 * The records ``first`` to ``last`` were left out for this viewer alone; a keyframe follows.
 *
 * It was too slow, or asked for a lower rate, and the keyframe is fewer bytes.
 */
export interface Skip {
  type: 'skip';
  first: number;
  last: number;
}
/**
 * The session ends by itself.
 */
export interface Bye {
  type: 'bye';
  reason?: string;
}
