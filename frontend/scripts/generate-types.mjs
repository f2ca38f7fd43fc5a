// Writes the TypeScript twin of a JSON schema: `node scripts/generate-types.mjs FROM SCHEMA TYPES` reads the file SCHEMA
// and writes the file TYPES, which says that it was generated from FROM.
//
// In JSON a byte string is a base64 string; on the wire it is msgpack's bin, which decodes to a Uint8Array. So every
// schema node with `contentEncoding: base64` becomes Uint8Array here.

import { readFile, writeFile } from 'node:fs/promises';
import { compile } from 'json-schema-to-typescript';

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

const [from, source, target] = process.argv.slice(2);
if (target === undefined) {
  console.error('usage: node scripts/generate-types.mjs FROM SCHEMA TYPES');
  process.exit(2);
}
const schema = JSON.parse(await readFile(source, 'utf8'));
const adapted = adapt(schema, true);
const typescript = await compile(adapted, schema.title, {
  additionalProperties: false,
  bannerComment: `// Generated from ${from} by \`make types\`; do not edit.\n`,
  enableConstEnums: false,
  declareExternallyReferenced: true,
  unreachableDefinitions: true,
  strictIndexSignatures: false,
  format: true,
  style: { singleQuote: true, printWidth: 110, trailingComma: 'all' },
});
await writeFile(target, typescript);
