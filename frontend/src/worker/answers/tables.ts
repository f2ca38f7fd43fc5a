/** The block tables: a row a sequence of the running requests, in the order in which they run. */

import type { Fold } from '../../ledger/fold';

export interface TableRow {
  readonly sequence: number;
  readonly group: number;
  readonly request: number;
  readonly name: string;
  readonly label: string;
  /** The index of the sequence in its request, and how many sequences the request has. */
  readonly index: number;
  readonly of: number;
  /** Tokens that the table holds, and those of the prompt. */
  readonly tokens: number;
  readonly prompt: number;
  /** Entries of the table (holes included). */
  readonly length: number;
  /** The blocks, `NONE` in holes; only for the rows that were asked for. */
  readonly blocks: Uint32Array | null;
  /** Positions whose block was made by a copy on write. */
  readonly copies: readonly number[];
}

export interface TablesAnswer {
  readonly rows: readonly TableRow[];
  readonly requests: number;
}

export function tablesAnswer(
  fold: Fold,
  copied: ReadonlyMap<number, number>,
  from: number,
  to: number,
): TablesAnswer {
  const { requests, blocks } = fold;
  const siblings = new Map<number, number>();
  for (const row of requests.sequences.values())
    siblings.set(row.request, (siblings.get(row.request) ?? 0) + 1);
  const entries = [...fold.tables.map.values()].map((table) => {
    const sequence = requests.sequences.get(table.sequence);
    const request = sequence?.request ?? -1;
    return { table, sequence, request, place: requests.rows.get(request)?.place ?? Number.POSITIVE_INFINITY };
  });
  entries.sort(
    (a, b) => a.place - b.place || a.table.sequence - b.table.sequence || a.table.group - b.table.group,
  );
  const seen = new Set<number>();
  const rows = entries.map(({ table, sequence, request }, i): TableRow => {
    seen.add(request);
    const facts = requests.facts.get(request);
    const wanted = i >= from && i < to;
    const copies: number[] = [];
    let tokens = 0;
    for (let position = 0; position < table.end; position++) {
      const block = table.blocks[position]!;
      if (block >= blocks.size) continue;
      tokens += blocks.filled[block]!;
      if (wanted && copied.get(block) === blocks.generation[block]) copies.push(position);
    }
    return {
      sequence: table.sequence,
      group: table.group,
      request,
      name: facts?.name ?? '',
      label: requests.memory.label(table.sequence),
      index: sequence?.index ?? 0,
      of: siblings.get(request) ?? 1,
      tokens,
      prompt: facts?.promptTokens ?? 0,
      length: table.end,
      blocks: wanted ? table.blocks.slice(0, table.end) : null,
      copies,
    };
  });
  return { rows, requests: seen.size };
}
