/** Starts the ledger worker from its own file. The page that is one file has {@link ../store/inlined-worker} in its place. */

export function startLedgerWorker(): Worker {
  return new Worker(new URL('../worker/worker.ts', import.meta.url), { type: 'module', name: 'ledger' });
}
