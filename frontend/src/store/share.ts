/** A link to what is shown: its address, into the clipboard. */

import { signal } from '@preact/signals';
import { text } from '../text';
import { position } from './ledger';
import { writeAddress } from './location';
import { say } from './remark';

/** The link, where it could not be copied: it is shown, to be copied by hand. */
export const linkToCopy = signal<string | null>(null);

export async function shareLink(): Promise<void> {
  writeAddress();
  const { href } = location;
  const { mode, step } = position.peek();
  try {
    await navigator.clipboard.writeText(href);
    say(text.share.copied(mode === 'at' && step >= 0 ? step : null));
  } catch {
    // No clipboard where the page came over plain HTTP from another machine, or where the reader refused it.
    linkToCopy.value = href;
  }
}
