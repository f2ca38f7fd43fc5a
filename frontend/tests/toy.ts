/**
 * A toy engine for tests: random but lawful operations over plain objects, with digests summed over everything, anew for
 * each record. Slow and obvious on purpose: it shares no code with the fold that it tests. Nothing is measured with it.
 */

import type { AnyRecord } from '../src/ledger/fold';
import {
  CARRIED_BY,
  Cause,
  COLUMN_TYPES,
  MULTIPLIERS,
  NONE,
  Operation,
  Pin,
  SALTS,
  STATE_CODES,
} from '../src/ledger/generated/constants';
import type { Digest, Keyframe, Operations, Step } from '../src/ledger/generated/types';
import type { Decision } from '../src/ledger/requests';

/** mulberry32: a seeded stream of numbers in [0, 1). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Block {
  generation: number;
  count: number;
  ticket: number;
  content: number;
  filled: number;
  hits: number;
}

interface Sequence {
  id: number;
  request: number;
  table: number[];
}

/** What a submission and a keyframe both tell of a request. */
function factsOf(id: number) {
  return {
    prompt_tokens: 40,
    max_tokens: 1000,
    precedence: id % 3,
    ...(id % 2 === 0 ? {} : { n: 2, beam_width: 2 + (id % 3) }),
    ...(id % 5 === 0 ? { lora_name: 'sql' } : {}),
  };
}

interface Request {
  id: number;
  state: keyof typeof STATE_CODES;
  place: number;
  sequences: Sequence[];
}

type Row = Partial<Record<keyof typeof COLUMN_TYPES, number>>;

export class Toy {
  blocks: Block[];
  requests: Request[] = [];
  pins: { block: number; pin: number }[] = [];
  record = 0;
  step = -1;
  op = 0;
  private tail: number;
  private place = 0;
  private nextContent = 0;
  private nextSequence = 0;
  private nextRequest = 0;
  private rows: Row[] = [];
  private decisions: Decision[] = [];
  private contents: [number, number][] = [];
  readonly random: () => number;

  constructor(
    readonly size: number,
    readonly blockSize: number,
    seed: number,
  ) {
    this.random = random(seed);
    this.tail = size;
    this.blocks = Array.from({ length: size }, (_, ticket) => ({
      generation: 0,
      count: 0,
      ticket,
      content: NONE,
      filled: 0,
      hits: 0,
    }));
  }

  private pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.random() * from.length)];
  }

  private emit(kind: number, block: number, cause: number, sequence: number, rest: Row = {}): void {
    this.rows.push({ kind, block, cause, sequence, ...rest });
  }

  private get nextOp(): number {
    return this.op + this.rows.length;
  }

  private queue(): number[] {
    return this.blocks
      .map((_, b) => b)
      .filter((b) => this.blocks[b]!.count === 0)
      .sort((x, y) => this.blocks[x]!.ticket - this.blocks[y]!.ticket);
  }

  /** Take the head of the queue, evicting what it holds; undefined when the queue is empty. */
  private head(sequence: number): number | undefined {
    const b = this.queue()[0];
    if (b === undefined) return undefined;
    const block = this.blocks[b]!;
    if (block.content !== NONE) {
      this.emit(Operation.evict, b, Cause.allocate, sequence, { content: block.content, hits: block.hits });
      block.content = NONE;
      block.hits = 0;
    }
    return b;
  }

  private allocate(sequence: Sequence): void {
    const b = this.head(sequence.id);
    if (b === undefined) return;
    const block = this.blocks[b]!;
    this.emit(Operation.allocate, b, Cause.prefill, sequence.id, {
      position: sequence.table.length,
      ticket: block.ticket,
      filled_before: block.filled,
    });
    Object.assign(block, { count: 1, ticket: Number.NaN, generation: block.generation + 1, filled: 0 });
    sequence.table.push(b);
  }

  private hit(sequence: Sequence): void {
    const b = this.pick(this.blocks.map((_, i) => i).filter((i) => this.blocks[i]!.content !== NONE));
    if (b === undefined || sequence.table.includes(b)) return;
    const block = this.blocks[b]!;
    const position = sequence.table.length;
    if (block.count === 0) {
      this.emit(Operation.reuse, b, Cause.prefix_hit, sequence.id, { position, ticket: block.ticket });
      block.ticket = Number.NaN;
    } else this.emit(Operation.share, b, Cause.prefix_hit, sequence.id, { position });
    block.count++;
    block.hits++;
    sequence.table.push(b);
  }

  private write(sequence: Sequence): void {
    const position = sequence.table.length - 1;
    const b = sequence.table[position];
    const block = b === undefined ? undefined : this.blocks[b]!;
    if (b === undefined || block === undefined || block.content !== NONE || block.filled === this.blockSize) {
      this.allocate(sequence);
      return;
    }
    if (block.count > 1) {
      if (block.filled === 0) return;
      const to = this.head(sequence.id);
      if (to === undefined) return;
      const target = this.blocks[to]!;
      this.emit(Operation.copy, to, Cause.write, sequence.id, {
        position,
        ticket: target.ticket,
        filled_before: target.filled,
        filled_after: block.filled,
        source: b,
      });
      block.count--;
      Object.assign(target, {
        count: 1,
        ticket: Number.NaN,
        generation: target.generation + 1,
        filled: block.filled,
      });
      sequence.table[position] = to;
      return;
    }
    const after = Math.min(this.blockSize, block.filled + 1 + Math.floor(this.random() * 4));
    this.emit(Operation.fill, b, Cause.decode, sequence.id, {
      filled_before: block.filled,
      filled_after: after,
    });
    block.filled = after;
    if (after === this.blockSize && this.random() < 0.8) {
      const content = this.nextContent++;
      this.contents.push([content, content > 0 && this.random() < 0.5 ? content - 1 : NONE]);
      this.emit(Operation.cache, b, Cause.full, sequence.id, { content });
      block.content = content;
    }
  }

  private letGo(b: number, sequence: number, cause: number, holder: Row): void {
    const block = this.blocks[b]!;
    if (block.count > 1) this.emit(Operation.release, b, cause, sequence, holder);
    else {
      const ticket = this.random() < 0.2 ? -this.tail++ : this.tail++;
      this.emit(Operation.free, b, cause, sequence, { ...holder, ticket });
      block.ticket = ticket;
    }
    block.count--;
  }

  private drop(sequence: Sequence, cause: number): void {
    for (let position = sequence.table.length - 1; position >= 0; position--) {
      this.letGo(sequence.table[position]!, sequence.id, cause, { position });
    }
    sequence.table = [];
  }

  private submit(): void {
    const request = {
      id: this.nextRequest++,
      state: 'waiting',
      place: this.place++,
      sequences: [],
    } as Request;
    this.requests.push(request);
    this.decisions.push({
      kind: 'submitted',
      op: this.nextOp,
      request: request.id,
      name: `toy-${request.id}`,
      ...factsOf(request.id),
      cache_salt: 'pepper',
      state_after: 'waiting',
      place_after: request.place,
    });
  }

  private change(request: Request, state: Request['state'] | null): void {
    const before = { state_before: request.state, place_before: request.place };
    const after = state === null ? {} : { state_after: state, place_after: this.place++ };
    const common = { op: this.nextOp, request: request.id, ...before, ...after };
    if (state === 'running') this.decisions.push({ kind: 'admitted', ...common, tokens: 40 });
    else if (state === 'preempted') {
      this.decisions.push({ kind: 'preempted', ...common, victim_of: 0, blocks: 1, tokens: 16 });
    } else this.decisions.push({ kind: 'finished', ...common, reason: 'length' });
    if (state === null) this.requests.splice(this.requests.indexOf(request), 1);
    else {
      request.state = state;
      request.place = after.place_after!;
    }
  }

  private create(request: Request, parent: Sequence | null): Sequence {
    const sequence: Sequence = { id: this.nextSequence++, request: request.id, table: [] };
    const index = request.sequences.length;
    request.sequences.push(sequence);
    this.decisions.push({
      kind: 'sequence_created',
      op: this.nextOp,
      request: request.id,
      sequence: sequence.id,
      index,
      parent: parent?.id ?? null,
    });
    for (const [position, b] of (parent?.table ?? []).entries()) {
      this.emit(Operation.share, b, Cause.fork, sequence.id, { position });
      this.blocks[b]!.count++;
      sequence.table.push(b);
    }
    return sequence;
  }

  private act(): void {
    const running = this.requests.filter((request) => request.state === 'running');
    const request = this.pick(running);
    const roll = this.random();
    if (roll < 0.06 && this.requests.length < 8) {
      this.submit();
      return;
    }
    if (roll < 0.16) {
      const waiting = this.pick(this.requests.filter((r) => r.state !== 'running'));
      if (waiting === undefined) return;
      this.change(waiting, 'running');
      if (waiting.sequences.length === 0) this.create(waiting, null);
      return;
    }
    const sequence = this.pick(request?.sequences ?? []);
    if (request === undefined || sequence === undefined) return;
    if (roll < 0.2) {
      for (const each of request.sequences) this.drop(each, Cause.finished);
      this.change(request, null);
    } else if (roll < 0.22) {
      for (const each of request.sequences) this.drop(each, Cause.preempted);
      this.change(request, 'preempted');
    } else if (roll < 0.26 && request.sequences.length < 4) this.create(request, sequence);
    else if (roll < 0.28 && request.sequences.length > 1) {
      this.drop(sequence, Cause.dropped);
      request.sequences.splice(request.sequences.indexOf(sequence), 1);
      this.decisions.push({
        kind: 'sequence_dropped',
        op: this.nextOp,
        request: request.id,
        sequence: sequence.id,
      });
    } else if (roll < 0.31) {
      const b = this.pick(sequence.table);
      if (b === undefined) return;
      this.emit(Operation.share, b, Cause.copy_launch, NONE, { position: NONE, pin: Pin.copy_source });
      this.blocks[b]!.count++;
      this.pins.push({ block: b, pin: Pin.copy_source });
    } else if (roll < 0.34) {
      const pin = this.pins.shift();
      if (pin === undefined) return;
      this.letGo(pin.block, NONE, Cause.copy_launch, { position: NONE, pin: pin.pin });
    } else if (roll < 0.45) this.hit(sequence);
    else this.write(sequence);
  }

  /** The next step's record. */
  next(actions = 12): Step {
    const op = this.op;
    this.step++;
    for (let i = 0; i < actions; i++) this.act();
    const step: Step = {
      type: 'step',
      record: this.record++,
      step: this.step,
      time: this.step * 1_000_000,
      sealed: this.step * 1_000_000 + 500,
      op,
      digest: this.digest(),
      operations: columnsOf(this.rows),
      decisions: this.decisions,
      contents: {
        content: bytes(this.contents.map(([content]) => content)),
        parent: bytes(this.contents.map(([, parent]) => parent)),
      },
    };
    if (this.step % 5 === 0) step.audit = this.digest();
    this.op += this.rows.length;
    this.rows = [];
    this.decisions = [];
    this.contents = [];
    return step;
  }

  /** The whole state, as the engine writes it: with a number of its own. */
  keyframe(): Keyframe {
    const entries = this.requests.flatMap((request) =>
      request.sequences.flatMap(({ id, table }) => table.map((block, position) => ({ id, position, block }))),
    );
    const column = (name: keyof Block): Uint8Array => bytes(this.blocks.map((block) => block[name]));
    const all = Array.from({ length: this.nextContent }, (_, content) => content);
    return {
      type: 'keyframe',
      record: this.record++,
      step: this.step,
      time: this.step * 1_000_000,
      utc_us: 0,
      op: this.op,
      digest: this.digest(),
      audited: true,
      blocks: {
        generation: column('generation'),
        count: column('count'),
        ticket: new Uint8Array(Float64Array.from(this.blocks, (block) => block.ticket).buffer),
        content: column('content'),
        filled: column('filled'),
        hits: column('hits'),
      },
      tables: {
        sequence: bytes(entries.map((entry) => entry.id)),
        position: bytes(entries.map((entry) => entry.position)),
        block: bytes(entries.map((entry) => entry.block)),
      },
      pins: {
        block: bytes(this.pins.map((pin) => pin.block)),
        pin: Uint8Array.from(this.pins, (p) => p.pin),
      },
      requests: this.requests.map((request) => ({
        request: request.id,
        name: `toy-${request.id}`,
        state: request.state,
        place: request.place,
        ...factsOf(request.id),
      })),
      sequences: this.requests.flatMap((request) =>
        request.sequences.map((sequence, index) => ({ sequence: sequence.id, request: request.id, index })),
      ),
      contents: { content: bytes(all), parent: bytes(all.map(() => NONE)) },
    };
  }

  /** The digest of everything, summed anew. */
  digest(): Digest {
    const blocks = this.blocks.map((block, b) => [
      b,
      block.generation,
      block.count,
      ...words(block.ticket),
      block.content,
      block.filled,
    ]);
    const tables = this.requests.flatMap((request) =>
      request.sequences.flatMap(({ id, table }) => table.map((block, position) => [id, 0, position, block])),
    );
    const requests = this.requests.map((r) => [r.id, STATE_CODES[r.state], ...words(r.place)]);
    return {
      blocks: lane('blocks', blocks),
      tables: lane('tables', tables),
      requests: lane('requests', requests),
    };
  }
}

function words(value: number): [number, number] {
  if (Number.isNaN(value)) return [0, 0x7ff80000];
  const pair = new Uint32Array(Float64Array.of(value).buffer);
  return [pair[0]!, pair[1]!];
}

function lane(kind: keyof typeof SALTS, rows: number[][]): Uint8Array {
  const mask = 0xffffffffn;
  const fmix = (value: bigint): bigint => {
    let h = value & mask;
    h = ((h ^ (h >> 16n)) * 0x85ebca6bn) & mask;
    h = ((h ^ (h >> 13n)) * 0xc2b2ae35n) & mask;
    return h ^ (h >> 16n);
  };
  const sums = [0, 1].map((k) =>
    rows.reduce((sum, row) => {
      const h = row.reduce((h, w, i) => h + BigInt(w) * BigInt(MULTIPLIERS[k]![i]!), BigInt(SALTS[kind][k]!));
      return (sum + fmix(h)) & mask;
    }, 0n),
  );
  return bytes(sums.map(Number));
}

function bytes(values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

/** Lay operations out as the columns of a record. */
export function columnsOf(rows: readonly Row[]): Operations {
  const operations: Operations = {};
  for (const [name, type] of Object.entries(COLUMN_TYPES) as [keyof typeof COLUMN_TYPES, string][]) {
    if (name === 'group') continue;
    const values = rows
      .filter((row) => (name === 'pin' ? row.position === NONE : carries(name, row.kind!)))
      .map((row) => row[name] ?? 0);
    if (values.length === 0) continue;
    if (type === 'u8') operations[name] = Uint8Array.from(values);
    else if (type === 'u32') operations[name] = bytes(values);
    else operations[name] = new Uint8Array(Float64Array.from(values).buffer);
  }
  return operations;
}

function carries(name: string, kind: number): boolean {
  return (CARRIED_BY as unknown as Record<string, readonly number[]>)[name]!.includes(kind);
}

/** A step's record as if it had ended behind its first `count` operations: what it says of later ones is left out. */
export function firstOf(step: Step, count: number): Step {
  const kind = step.operations?.kind ?? new Uint8Array(0);
  const operations: Operations = {};
  let holders = 0;
  for (const [name, type] of Object.entries(COLUMN_TYPES) as [keyof typeof COLUMN_TYPES, string][]) {
    const raw = step.operations?.[name];
    if (raw === undefined || name === 'pin') continue;
    let values = 0;
    for (let i = 0; i < count; i++) if (carries(name, kind[i]!)) values++;
    if (name === 'position') holders = values;
    operations[name] = raw.slice(0, values * (type === 'u8' ? 1 : type === 'u32' ? 4 : 8));
  }
  const positions = new Uint32Array((operations.position ?? new Uint8Array(0)).slice().buffer);
  const pins = positions.slice(0, holders).filter((position) => position === NONE).length;
  operations.pin = (step.operations?.pin ?? new Uint8Array(0)).slice(0, pins);
  const decisions = (step.decisions ?? []).filter((decision) => decision.op <= step.op + count);
  const { audit: _audit, ...rest } = step;
  return { ...rest, operations, decisions };
}

/** A session: a keyframe, then steps, with an audited keyframe now and then. */
export function session(size: number, blockSize: number, seed: number, steps: number): AnyRecord[] {
  const toy = new Toy(size, blockSize, seed);
  const records: AnyRecord[] = [toy.keyframe()];
  for (let i = 0; i < steps; i++) {
    records.push(toy.next());
    if (i % 17 === 16) records.push(toy.keyframe());
  }
  return records;
}
