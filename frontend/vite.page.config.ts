/**
 * The page that is one file: script, worker and style within it, and a policy that lets it ask nobody.
 *
 * `kvarium export --format html` puts a recording in the place of the marker. The hashes are those of what is inlined here, so
 * that nothing else in the file can run, whatever a recording holds.
 */

import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { wat } from './wat.ts';

/** Where the recording goes; as backend/kvarium/exchange/page.py has it. */
const MARKER = '<!--kvarium:recording-->';

const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Nothing that an HTML parser would take for the end of the script, or for a comment in it. */
const inScript = (code: string): string => code.replace(/<(?=\/script|!--)/gi, '\\x3C');

/** Puts the one script and the one style sheet into the page, and removes their files. */
const oneFile: Plugin = {
  name: 'kvarium:one-file',
  enforce: 'post',
  generateBundle(_, bundle) {
    const outputs = Object.values(bundle);
    const page = outputs.find((each) => each.fileName.endsWith('.html'));
    const scripts = outputs.filter((each) => each.type === 'chunk');
    const styles = outputs.filter((each) => each.fileName.endsWith('.css'));
    if (page?.type !== 'asset' || scripts.length !== 1 || styles.length !== 1 || outputs.length !== 3)
      this.error(`one page, script and style are expected, not ${outputs.map(({ fileName }) => fileName)}`);
    const script = inScript(scripts[0]!.code.trim());
    const style = String((styles[0] as { source: string | Uint8Array }).source).trim();
    const policy = [
      `default-src 'none'`,
      `script-src ${hash(script)} 'wasm-unsafe-eval'`,
      `style-src ${hash(style)}`,
      'worker-src blob:',
      'img-src data:',
      `base-uri 'none'`,
      `form-action 'none'`,
    ].join('; ');
    const html = String(page.source)
      .replace(/\s*<script [^>]*src=[^>]*><\/script>/, '')
      .replace(/\s*<link rel="stylesheet"[^>]*>/, () => `\n    <style>${style}</style>`)
      .replace('<meta charset="utf-8" />', (charset) =>
        [charset, `<meta http-equiv="Content-Security-Policy" content="${policy}" />`].join('\n    '),
      )
      .replace('</body>', () => `${MARKER}\n<script type="module">${script}</script>\n</body>`);
    page.source = html;
    for (const each of [...scripts, ...styles]) delete bundle[each.fileName];
  },
};

export default defineConfig({
  base: './',
  plugins: [wat(), oneFile],
  worker: { plugins: () => [wat()] },
  resolve: {
    alias: [
      {
        find: './ledger-worker',
        replacement: fileURLToPath(new URL('src/store/inlined-worker.ts', import.meta.url)),
      },
    ],
  },
  build: {
    outDir: '../backend/kvarium/exported',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    // Its other languages are within it.
    rolldownOptions: { output: { codeSplitting: false }, checks: { bundlerTimings: false } },
  },
});
