/** Where the view is in time, in words: they change in the document by themselves, with nothing around them looked at. */

import { computed } from '@preact/signals';
import { clock, moment } from '../format';
import { hello, position } from '../store/ledger';

/** Since the session's start. */
export const sessionTime = computed(() => clock(position.value.time));

/** Is there a time by the wall clock? */
export const hasWallClock = computed(() => hello.value !== null && position.value.step >= 0);

/** By the wall clock. */
export const wallClock = computed(() =>
  moment((hello.value?.utc_us ?? 0) + position.value.time / 1000).slice(11),
);
