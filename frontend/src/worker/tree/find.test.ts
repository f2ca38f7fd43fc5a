import { expect, test } from 'vitest';
import { foldOf } from '../../../tests/held';
import { find, TokenBytes } from './find';
import { Trie } from './trie';

/** A token a character, the token being its code; and the bytes of a character that has several. */
const pieces = new Map<number, string>(
  Array.from({ length: 128 }, (_, code) => [code, String.fromCharCode(code)]),
);
const [FIRST, SECOND, BEGIN] = [200, 201, 202];
pieces.set(FIRST, '<0xC3>').set(SECOND, '<0xA9>').set(BEGIN, '');

const tokens = (text: string): Uint32Array => Uint32Array.from(text, (each) => each.charCodeAt(0));

/** Contents of these texts behind these parents, each in a block. */
function look(
  typed: string,
  parents: readonly (number | null)[],
  texts: readonly (Uint32Array | null | undefined)[],
  gone: readonly number[] = [],
) {
  const trie = new Trie(parents.length);
  const held = parents.map((_, content) => (gone.includes(content) ? null : { content }));
  trie.build(foldOf(parents, held));
  const found = find(trie, typed, (content) => texts[content], new TokenBytes(pieces));
  return { ...found, nodes: found.nodes.map((node) => trie.content[node]!) };
}

const PARENTS = [null, 0, 0, null];
const TEXTS = [tokens(' onc'), tokens('e up'), tokens('e an'), tokens('two ')];

test('a text is met down to where it ends or differs, in whole blocks', () => {
  expect(look('once upon', PARENTS, TEXTS)).toMatchObject({ nodes: [1], blocks: 2, met: 7, isWhole: false });
  expect(look('  once up', PARENTS, TEXTS)).toMatchObject({ nodes: [1], blocks: 2, met: 7, isWhole: true });
  expect(look('once ax', PARENTS, TEXTS)).toMatchObject({ nodes: [2], blocks: 1, met: 6, isWhole: false });
  expect(look('on', PARENTS, TEXTS)).toMatchObject({ nodes: [0], blocks: 0, met: 2, isWhole: true });
});

test('where several go on, all are told; where none begins like it, none', () => {
  const found = look('once ', PARENTS, TEXTS);
  expect(found).toMatchObject({ blocks: 1, met: 5, isWhole: true });
  expect([...found.nodes].sort()).toEqual([1, 2]);
  expect(look('xyz', PARENTS, TEXTS)).toMatchObject({ nodes: [], blocks: 0, met: 0, isWhole: false });
});

test('what no prompt can hit is not found', () => {
  expect(look('e up', PARENTS, TEXTS, [0])).toMatchObject({ nodes: [] });
});

test('a text that is not here yet is awaited, and one that is not recorded is passed by', () => {
  expect(look('two x', PARENTS, [undefined, null, null, TEXTS[3]])).toMatchObject({
    nodes: [3],
    awaited: [0],
  });
  expect(look('once up', PARENTS, [TEXTS[0], null, undefined, null])).toMatchObject({
    nodes: [0],
    met: 3,
    awaited: [2],
  });
});

test('a character whose bytes are in two blocks is met, and a token without a text takes none', () => {
  const [a, b] = [Uint32Array.of(BEGIN, 99, 97, FIRST), Uint32Array.of(SECOND, 33)];
  expect(look('caé!', [null, 0], [a, b])).toMatchObject({ nodes: [1], blocks: 2, met: 4, isWhole: true });
  expect(look('caê', [null, 0], [a, b])).toMatchObject({ nodes: [0], blocks: 1, met: 2, isWhole: false });
});
