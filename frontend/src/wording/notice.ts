/** What could not be done: the worker tells what it was, and here are the words. */

import { integer } from '../format';
import type { Notice } from '../worker/protocol';
import { plural } from './plural';
import { landmarks } from './transport';

const n = integer;

export function notice(told: Notice): string {
  switch (told.kind) {
    case 'noStep':
      return `There is no step ${n(told.step)}: the last one is ${n(told.last)}.`;
    case 'noLandmark': {
      const what = told.of === 'any' ? 'landmark' : `landmark of the kind “${landmarks.kinds[told.of]}”`;
      return `There is no ${told.direction > 0 ? 'later' : 'earlier'} ${what}.`;
    }
    case 'noChange':
      return told.direction > 0 ? 'Nothing later changes it.' : 'Nothing earlier changed it.';
    case 'notSaved':
      return `${told.lost === 1 ? 'The last step seen here was' : `The last ${plural(told.lost, 'step')} seen here were`} not saved: the server ended before. The recording ends with step ${n(told.last)}.`;
    case 'notLoaded':
      return `Step ${n(told.step)} could not be loaded: ${told.why}.`;
    case 'noEarlier':
      return `Earlier records could not be loaded: ${told.why}.`;
    case 'noTable':
      return `The table of steps could not be loaded: ${told.why}.`;
    case 'noSearch':
      return `What changes it could not be looked up: ${told.why}.`;
  }
}
