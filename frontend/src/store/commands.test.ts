/** docs/keys.md is the commands' own list: `make types` writes it. */

import { expect, test, vi } from 'vitest';
import { text } from '../text';

vi.mock('./ledger-worker', () => ({ startLedgerWorker: () => ({ postMessage() {} }) }));
const { COMMANDS } = await import('./commands');

/** Keys that are no command's: they act where the focus is. */
const WITHIN: Readonly<
  Partial<Record<keyof typeof text.keys.groups, readonly (readonly [string, string])[]>>
> = {
  panels: [['Ctrl+Enter', text.keys.send]],
  map: [
    ['↑ ↓ ← →', text.keys.arrows],
    ['⇧↑ ⇧↓ ⇧← ⇧→', text.keys.rectangle],
    ['+ − 0', text.keys.zoom],
    ['PgUp PgDn', text.keys.rows],
  ],
};

const asCode = (key: string): string => `\`${key}\``;

function table(): string {
  const groups = Object.entries(text.keys.groups) as [keyof typeof text.keys.groups, string][];
  const parts = groups.map(([group, title]) => {
    const rows = COMMANDS.filter((command) => command.group === group && command.keys.length > 0).map(
      ({ id, keys }) => [keys.map(asCode).join(' '), text.commands[id]],
    );
    for (const [keys, said] of WITHIN[group] ?? []) rows.push([keys.split(' ').map(asCode).join(' '), said]);
    return [
      `## ${title}`,
      '',
      '| key | what it does |',
      '|---|---|',
      ...rows.map((row) => `| ${row.join(' | ')} |`),
    ];
  });
  const unbound = COMMANDS.filter(({ keys }) => keys.length === 0).map(({ id }) => text.commands[id]);
  return [
    '# Keys',
    '',
    'On the page `?` lists them, and `Ctrl+K` finds a command by its name. Single letters do nothing while somebody types. This page is made',
    'from `frontend/src/store/commands.ts` by `make types`.',
    '',
    ...parts.flatMap((part) => [...part, '']),
    `Without a key, in the palette: ${unbound.join('; ')}.`,
    '',
  ].join('\n');
}

test('docs/keys.md lists every key', async () => {
  await expect(table()).toMatchFileSnapshot('../../../docs/keys.md');
});

test('no key is taken twice', () => {
  const keys = COMMANDS.flatMap((command) => command.keys);
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([]);
});
