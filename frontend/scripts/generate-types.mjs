// Writes the TypeScript twin of the ledger's schema: `node scripts/generate-types.mjs DIR` reads DIR/schema.json
// (from `python -m kvarium_ledger.schema --out DIR`) and writes DIR/types.ts.
//
// In JSON a byte string is a base64 string; on the wire it is msgpack's bin, which decodes to a Uint8Array. So every
// schema node with `contentEncoding: base64` becomes Uint8Array here.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compile } from 'json-schema-to-typescript';

const BANNER = `// Generated from kvarium_ledger by \`make types\`; do not edit.
`;

/** Make bytes Uint8Array, and drop the titles of fields, each of which would otherwise become a named alias. */
function adapt(node, isDefinition = false) {
  if (Array.isArray(node)) return node.map((item) => adapt(item));
  if (node === null || typeof node !== 'object') return node;
  const adapted = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === '$defs' || key === 'definitions' || key === 'properties') {
      const children = Object.entries(value).map(([name, child]) => [
        name,
        adapt(child, key !== 'properties'),
      ]);
      adapted[key] = Object.fromEntries(children);
    } else if (key === 'title' && !isDefinition) {
    } else if (key === 'default' || key === 'enum' || key === 'const' || key === 'examples') {
      adapted[key] = value;
    } else {
      adapted[key] = adapt(value);
    }
  }
  if (node.contentEncoding === 'base64') {
    delete adapted.type;
    delete adapted.contentEncoding;
    adapted.tsType = 'Uint8Array';
  }
  return adapted;
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: node scripts/generate-types.mjs DIR');
  process.exit(2);
}
const schema = JSON.parse(await readFile(join(folder, 'schema.json'), 'utf8'));
const adapted = adapt(schema, true);
const typescript = await compile(adapted, schema.title ?? 'LedgerSchema', {
  additionalProperties: false,
  bannerComment: BANNER,
  enableConstEnums: false,
  declareExternallyReferenced: true,
  unreachableDefinitions: true,
  strictIndexSignatures: false,
  format: true,
  style: { singleQuote: true, printWidth: 110, trailingComma: 'all' },
});
await writeFile(join(folder, 'types.ts'), typescript);
