import { expect, test } from 'vitest';
import { chosen } from './language';
import { english } from './text';
import { captionOf, LESSONS, titleOf, toldOf, valuesOf } from './wording/lessons';
import { vietnamese } from './wording/vi';

test('a language is that of the address, else the kept one, else the first of the browser’s that is ours', () => {
  expect(chosen('vi', 'en', ['en'])).toBe('vi');
  expect(chosen('de', 'vi', ['en'])).toBe('vi');
  expect(chosen(null, null, ['fr-CA', 'vi-VN', 'en'])).toBe('vi');
  expect(chosen(null, null, ['fr', 'de'])).toBe('en');
  expect(chosen(null, 'nonsense', [])).toBe('en');
});

/** Arguments that can be told from one another in what is made of them; each is a number and, as text, another one. */
const MARKS = [1231, 1457, 1789, 1907, 2111];
const [one, two, three, four, five] = MARKS as [number, number, number, number, number];

const decided = (d: object): unknown[] => [
  { kind: { op: 0, request: one, ...d }, op: two, record: three },
  16,
];
const done = (kind: number, position = five): unknown[] => [
  { kind, cause: 3, value: one, before: two, position, op: three, record: four },
  1907,
];
const told = { needs: one, free: two, largest: three, behind: four };
const reasons = ['blocks', 'fragmentation', 'budget', 'max_num_seqs', 'behind'].flatMap((reason) => [
  [{ ...told, reason }],
  [{ ...told, reason, step: five }],
]);
const row = { first: one, depth: two, length: three, below: four, held: five, states: [one, two, three] };
const hit = { breakpoint: one, step: two, block: three, request: four, count: five };
const last = { step: one, record: two, op: three, ns: four, utc: five };
const extent = { lastStep: one, lastRecord: two, lastOp: three, lastTime: four, startUtcUs: five };
const found = { blocks: one, met: 3, isWhole: true, nodes: two, awaited: 0 };

/** Made of an answer to a question; of these only their presence is compared here. */
const OF_ANSWERS = ['findings.told', 'findings.evidenceTold', 'findings.advice', 'findings.gap'];

/** What is said of more than numbers: of these things each, so that all of its cases are said. */
const THINGS: Readonly<Record<string, readonly unknown[][]>> = {
  waiting: [[null], ...reasons],
  notice: [
    { kind: 'noStep', step: one, last: two },
    { kind: 'noLandmark', of: 'any', direction: 1 },
    { kind: 'noLandmark', of: 'evict', direction: -1 },
    { kind: 'noChange', direction: 1 },
    { kind: 'noChange', direction: -1 },
    { kind: 'notSaved', lost: 1, last: two },
    { kind: 'notSaved', lost: one, last: two },
    { kind: 'notLoaded', step: one, why: 'it is gone' },
    ...['noEarlier', 'noTable', 'noSearch'].map((kind) => ({ kind, why: 'it is gone' })),
  ].map((said) => [said]),
  'light.greyTitle': [
    null,
    { kind: 'nothing' },
    { kind: 'unreadable' },
    { kind: 'slow', first: one, last: two },
    { kind: 'less', first: one, last: two },
    { kind: 'lost', first: one, last: two, why: 'full' },
  ].map((doubt) => [doubt]),
  'tables.blocks': [[[]], [['1231', '1457']]],
  'bar.theme': [['light'], ['dark']],
  'queue.loses': [
    [one, null, two],
    [one, null, 0],
    [one, 'Once upon', two],
  ],
  'control.stopped': [[hit]],
  'control.stoppedShort': [[hit]],
  'control.last': [[hit]],
  'control.stoppedAt': [[hit], [{ ...hit, block: null }], [{ ...hit, block: undefined, request: null }]],
  'control.stoppedTitle': [[hit, 'usage>90%']],
  'control.does': [[{ mark: true }], [{ mark: false }]],
  'control.met': [[{ count: one, hits: two }], [{}], [{ count: one, hits: 1 }]],
  'events.goTo': [done(1), decided({ kind: 'admitted' })],
  'events.sameTitle': [
    ['block', 1, ''],
    ['kind', -1, '('],
  ],
  'events.noMore': [
    ['block:1231', 1],
    ['block:1231', -1],
  ],
  event: [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((kind) => done(kind)),
    done(1, 0xffffffff),
    decided({ kind: 'submitted', name: 'chat', prompt_tokens: two, max_tokens: three, n: four }),
    decided({ kind: 'admitted', tokens: two, hit: three, cap_applied: true }),
    decided({ kind: 'sequence_created', parent: null }),
    decided({ kind: 'sequence_created', parent: two }),
    decided({ kind: 'sequence_dropped' }),
    decided({ kind: 'sequence_dropped', reason: 'stop', stop_reason: two }),
    decided({ kind: 'hypothesis', tokens: two, reason: 'length', score: 0.5 }),
    decided({ kind: 'scheduled', tokens: two, start: three }),
    ...reasons.map(([reason]) => decided({ ...(reason as object), kind: 'waiting' })),
    decided({ kind: 'preempted', victim_of: two, blocks: three, tokens: four }),
    decided({ kind: 'finished', reason: 'stop', stop_reason: 'end' }),
    decided({ kind: 'finished', reason: 'error', message: 'it broke' }),
    decided({ kind: 'aborted', asked_by: 'page' }),
    decided({ kind: 'aborted' }),
    decided({ kind: 'refused', message: 'too long' }),
    decided({ kind: 'gap', first: two, last: three, reason: 'full' }),
  ],
  'filter.fault': [
    'field',
    'name',
    'number',
    'time',
    'order',
    'generation',
    'empty',
    'quote',
    'open',
  ].flatMap((why) => [
    [{ why, at: one, end: two, said: '1457', field: why === 'name' ? 'op' : 'block', nearest: '1789' }],
    [{ why, at: one, end: two, said: '1457', field: why === 'name' ? 'op' : undefined }],
  ]),
  'tree.found': [
    [found, 'Once', 16],
    [{ ...found, blocks: 0 }, 'Once', 16],
    [{ ...found, isWhole: false, awaited: 1 }, 'Once upon', 16],
    [{ ...found, nodes: 0 }, 'Once', 16],
    [{ ...found, nodes: 0, awaited: one }, 'Once', 16],
    [{ ...found, nodes: 1 }, 'Once', 16],
  ],
  'tree.rowBlocks': [[row], [{ ...row, length: 1 }]],
  'tree.unroll': [[row], [{ ...row, isUnrolled: true }]],
  'tree.block': [
    [row, 16],
    [{ ...row, depth: 0 }, 16],
  ],
  'tree.below': [[row]],
  'tree.copies': [[row]],
  'tree.states': [[row.states], [[0, one, 0]]],
  'tree.placeTitle': [[row], [{ ...row, length: 1, held: 1 }]],
  'pace.name': [
    [{ kind: 'recorded' }],
    [{ kind: 'times', factor: one }],
    [{ kind: 'steps', rate: one }],
    [{ kind: 'operations', rate: one }],
  ],
  'go.told': [
    [{ kind: 'wrong', why: 'step' }, '9', extent],
    [{ kind: 'place', to: { kind: 'step', step: one } }, '', extent],
    [{ kind: 'place', to: { kind: 'operation', operation: one } }, '', extent],
    [{ kind: 'place', to: { kind: 'record', record: one } }, '', extent],
    [{ kind: 'place', to: { kind: 'time', time: one } }, '', extent],
  ],
  'go.wrong': ['form', 'number', 'step', 'record', 'operation', 'time', 'clock'].map((why) => [
    why,
    '2111',
    last,
  ]),
  'playground.rest': [[['n', 'seed'], 'why']],
  'playground.follows': ['all', 'first', 'best'].map((part) => [one, part]),
  'playground.followUp': ['all', 'first', 'best'].map((part) => [one, part]),
  'playground.followUpTitle': ['all', 'first', 'best'].map((part) => [part]),
  'inspector.reserves': [['max'], ['exact'], ['pow2']],
  'inspector.sequence': [[one, two, three]],
  'said.missing': [[null], [one]],
};

/** Every text of a part of the catalogue by its path; what is made is made of the marks, or of the things above. */
function texts(part: unknown, path: string, found: Map<string, string>): Map<string, string> {
  if (typeof part === 'string') found.set(path, part);
  else if (OF_ANSWERS.includes(path)) found.set(path, path);
  else if (typeof part === 'function')
    (THINGS[path] ?? [MARKS]).forEach((args, i) => {
      texts(part(...args), i === 0 ? path : `${path} ${i}`, found);
    });
  else for (const [name, each] of Object.entries(part as object)) texts(each, `${path}.${name}`, found);
  return found;
}

const marksIn = (said: string): string[] =>
  [...new Set(said.replaceAll(/(?<=\d)[,\u202f](?=\d)/g, '').match(/\d+(\.\d+)?/g) ?? [])].sort();

test('all that is said in English is said in Vietnamese, with the same values', () => {
  expect(Object.keys(vietnamese).sort()).toEqual(Object.keys(english).sort());
  for (const [part, words] of Object.entries(vietnamese)) {
    const ours = texts(english[part as keyof typeof english], part, new Map());
    const theirs = texts(words, part, new Map());
    expect([...theirs.keys()].sort()).toEqual([...ours.keys()].sort());
    for (const [path, said] of theirs) {
      expect(said === '', path).toBe(ours.get(path) === '');
      // Each is said of what it is said of on the page.
      expect(`${said} ${ours.get(path)}`, path).not.toMatch(/undefined|NaN|\[object/);
      expect(marksIn(said), `${path}: ${said}`).toEqual(marksIn(ours.get(path)!));
    }
  }
});

test('every scenario has all of its words in both languages, with the same values', () => {
  expect(Object.keys(LESSONS)).toHaveLength(11);
  const namesIn = (said: string): string[] => [...new Set(said.match(/\{\w+\}/g) ?? [])].sort();
  for (const [name, { captions, title, told }] of Object.entries(LESSONS))
    for (const words of [title, told, ...captions]) {
      expect(words.en, name).not.toBe('');
      expect(words.vi, name).not.toBe('');
      expect(words.vi, name).not.toBe(words.en);
      expect(namesIn(words.vi), name).toEqual(namesIn(words.en));
    }
});

test('a caption is read out of its note, and said in another language', () => {
  const note =
    'lazy-allocation 3/3: 40 + 1,000 tokens took 65 blocks: 62 of them one at a time, each 16 tokens apart. At no moment ' +
    'were more than 15 slots unused.';
  expect(captionOf(note, 'en')).toEqual({
    scenario: 'lazy-allocation',
    number: 3,
    of: 3,
    text: note.slice(note.indexOf(': ') + 2),
  });
  expect(captionOf(note, 'vi')?.text).toBe(
    '40 + 1.000 token dùng 65 block: 62 block trong đó được lấy từng cái một, cách nhau 16 token. Không lúc nào có quá 15 slot bỏ trống.',
  );
});

test('every caption is read back whatever its values are', () => {
  for (const { captions } of Object.values(LESSONS))
    for (const { en } of captions) {
      const names = [...en.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
      const values = Object.fromEntries(names.map((name, i) => [name, i % 2 ? '41, 7, 19' : `${i}`]));
      const made = en.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]!);
      expect(valuesOf(en, made), en).toEqual(values);
    }
});

test('what is no caption, or one that this page does not know, stays as it is', () => {
  expect(captionOf('a remark: of a person', 'vi')).toBeNull();
  expect(captionOf('', 'vi')).toBeNull();
  const later = captionOf('lazy-allocation 1/3: said by a later version', 'vi');
  expect(later?.text).toBe('said by a later version');
  expect(captionOf('__proto__ 1/1: x', 'vi')).toBeNull();
  expect(captionOf('to-come 1/2: new words', 'vi')?.text).toBe('new words');
  expect(titleOf('to-come', 'vi')).toBe('to-come');
  expect(toldOf('constructor', 'en')).toBe('');
});
