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

/** These are made of words or of more than numbers: of them only their presence is compared here. */
const OF_WORDS = ['waiting', 'tables.blocks', 'bar.theme', 'queue.loses'];

/** Every text of a part of the catalogue by its path; what is made is made of the marks. */
function texts(part: unknown, path: string, found: Map<string, string>): Map<string, string> {
  if (typeof part === 'string') found.set(path, part);
  else if (typeof part === 'function')
    found.set(path, OF_WORDS.includes(path) ? path : String(part(...MARKS)));
  else for (const [name, each] of Object.entries(part as object)) texts(each, `${path}.${name}`, found);
  return found;
}

const marksIn = (said: string): string[] =>
  [...new Set(said.replaceAll(/(?<=\d),(?=\d)/g, '').match(/\d+(\.\d+)?/g) ?? [])].sort();

test('what is said in Vietnamese is said in English, whole, and with the same values', () => {
  expect(Object.keys(vietnamese)).toContain('scenarios');
  for (const [part, words] of Object.entries(vietnamese)) {
    const ours = texts(english[part as keyof typeof english], part, new Map());
    const theirs = texts(words, part, new Map());
    expect([...theirs.keys()].sort()).toEqual([...ours.keys()].sort());
    for (const [path, said] of theirs) {
      expect(said, path).not.toBe('');
      expect(marksIn(said), path).toEqual(marksIn(ours.get(path)!));
    }
  }
});

test('what is said of waiting and of the next block has in Vietnamese the figures that it has in English', () => {
  const told = { kind: 'waiting', op: 0, request: 1, needs: 1231, free: 1457, largest: 1789, behind: 1907 };
  for (const reason of ['blocks', 'fragmentation', 'budget', 'max_num_seqs', 'behind'] as const)
    for (const step of [{}, { step: 2111 }]) {
      const asked = { ...told, ...step, reason } as never;
      expect(marksIn(vietnamese.waiting!(asked)), reason).toEqual(marksIn(english.waiting(asked)));
    }
  expect(vietnamese.waiting!(null)).not.toBe('');
  for (const start of [null, 'Once upon'])
    expect(marksIn(vietnamese.queue!.loses(1231, start, 1457))).toEqual(
      marksIn(english.queue.loses(1231, start, 1457)),
    );
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
