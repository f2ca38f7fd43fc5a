/** Modules in WebAssembly's text form: `import code from './blocks.wat'` gives the binary one, as base64. */

import type { Plugin } from 'vite';
import wabt from 'wabt';

export const wat = (): Plugin => ({
  name: 'kvarium:wat',
  async transform(source, id) {
    if (!id.endsWith('.wat')) return null;
    const module = (await wabt()).parseWat(id, source);
    try {
      const binary = Buffer.from(module.toBinary({}).buffer);
      return { code: `export default '${binary.toString('base64')}';`, map: null };
    } finally {
      module.destroy();
    }
  },
});
