/** The captions of a scenario in its recording, and which of them stands at the step that is shown. */

import { computed } from '@preact/signals';
import { language } from '../language';
import { captionOf, type Said } from '../wording/lessons';
import { jump } from './clock';
import { notes, position } from './ledger';

export interface Caption extends Said {
  readonly step: number;
}

/** In the order of their steps; none: the session is no scenario's. */
export const captions = computed<readonly Caption[]>(() =>
  (notes.value ?? []).flatMap(({ step, message }) => {
    const said = message === null ? null : captionOf(message, language);
    return said === null ? [] : [{ ...said, step }];
  }),
);

/** Where the last caption at or before the step that is shown stands in the list; -1: none was said yet. */
export const saidAt = computed(() => {
  const { step } = position.value;
  return captions.value.findLastIndex((each) => each.step <= step);
});

/** To the caption after the one that is shown, or before it. */
export function turnCaption(by: 1 | -1): void {
  const to = captions.peek()[saidAt.peek() + by];
  if (to !== undefined) jump(to.step);
}
