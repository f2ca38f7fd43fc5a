import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { wat } from './wat.ts';

const server = process.env.KVARIUM_SERVER ?? 'http://127.0.0.1:8642';

/** What a language's words are made with; `src/text.ts` waits for them, so they must not wait for it. */
const WORDS = /src\/(wording\/[^/]+|format|ledger\/generated\/constants)\.ts$/;

/** A page in another language would wait for itself if its words came to import anything of it. */
const wordsAlone: Plugin = {
  name: 'kvarium:words-alone',
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((each) => each.type === 'chunk');
    const page = chunks.find(({ isEntry }) => isEntry)?.fileName ?? '';
    const reaches = (file: string): boolean =>
      file === page || (chunks.find(({ fileName }) => fileName === file)?.imports ?? []).some(reaches);
    for (const { fileName, isDynamicEntry } of chunks)
      if (isDynamicEntry && reaches(fileName)) this.error(`${fileName} imports the page, which waits for it`);
  },
};

export default defineConfig({
  // The page works under any path (behind a proxy, or opened from a wheel): all its addresses are relative.
  base: './',
  // JSX is compiled by vite itself (tsconfig: jsxImportSource preact); no Babel, so no plug-in.
  build: {
    outDir: '../backend/kvarium/static',
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: true,
    // Nothing is inlined as a data: address, so a strict content security policy fits.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'words', test: WORDS }] } },
      // How long each plug-in took is nobody's concern who builds the page.
      checks: { bundlerTimings: false },
    },
  },
  plugins: [wat(), wordsAlone],
  worker: { format: 'es', plugins: () => [wat()] },
  // The page's fold for node (scripts/bench-fold.ts): one module, with the packages that it uses.
  ssr: { noExternal: true },
  server: {
    host: '127.0.0.1',
    port: 5173,
    proxy: { '/api': { target: server, ws: true } },
  },
  test: {
    // Pure modules run in node; a test that needs a document says `// @vitest-environment happy-dom` at its top.
    environment: 'node',
    include: ['src/**/*.test.{ts,tsx}', 'tests/**/*.test.{ts,tsx}'],
    passWithNoTests: true,
    testTimeout: 30_000,
    // Two cores are all there may be.
    maxWorkers: 2,
    reporters: ['default'],
    restoreMocks: true,
  },
});
