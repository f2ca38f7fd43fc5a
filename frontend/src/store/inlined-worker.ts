/** Starts the ledger worker from within the page: a page that was opened from disk can't load a file beside it. */

import source from '../worker/worker.ts?worker&inline';

export function startLedgerWorker(): Worker {
  return new source({ name: 'ledger' });
}
