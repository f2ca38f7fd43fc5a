/** The notes of a first visit. */

import type { Note } from '../store/tour';

const notes: Readonly<Record<Note, readonly [title: string, told: string]>> = {
  bar: [
    'The view has a clock of its own',
    'Space pauses it, the keys . and , move it by steps, End follows the live end. The engine goes on meanwhile. The light at the right is green while this page has recomputed every record and found it right.',
  ],
  map: [
    'Every block of the KV cache',
    'A cell is a block, its colour is its state; what just changed glows. Click one to select it; w and s zoom, f brings it into view.',
  ],
  tables: [
    'Who holds which blocks',
    'A row is a running sequence, a chip one of its blocks, in order. Purple is shared, with the number of holders. Point at a block anywhere and it lights up everywhere.',
  ],
  timeline: [
    'All that happened',
    'Memory in use and tokens step by step, with evictions, copies and preemptions. Drag to go back in time; n goes to the next landmark.',
  ],
  inspector: [
    'All about what is selected',
    'A block’s content, holders and biography, or what a request did and why it waited. ? lists all keys, and Ctrl+K finds any command by name.',
  ],
};

export const tour = {
  notes,
  label: 'Tour',
  of: (at: number, count: number) => `${at} of ${count}`,
  next: 'Next',
  back: 'Back',
  done: 'Done',
  skip: 'Skip',
} as const;
