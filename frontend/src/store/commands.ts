/**
 * What a reader can do, as data: an id (its title is in the catalogue), keys, what it does, and why it can't be done now.
 * The `?` overlay and the command palette list them.
 */

import { text } from '../text';
import { goToHit, showBreakpoints, stop } from './breakpoints';
import {
  changePace,
  follow,
  jump,
  jumpToChange,
  jumpToLandmark,
  operationsBy,
  playOrPause,
  RECORDED,
  setPace,
  stepBy,
} from './clock';
import { lit, nextColouring, unlight } from './colouring';
import { marks, setMark, toggleComparing } from './compared';
import { isEmbedded } from './embedded';
import { canControl, canReset, holdOrRelease, resetPrefixCache, stepEngine } from './engine';
import { selectedEvent, stepToSame } from './eventSteps';
import {
  CENTRE_KEYS,
  CENTRE_PANELS,
  FIXED_KEYS,
  type FixedPanel,
  filterField,
  focusFilter,
  focusPanel,
  keysShown,
  LEFT_KEYS,
  LEFT_PANELS,
  paletteShown,
  renderNow,
  showPanel,
} from './layout';
import { isLive } from './ledger';
import { type Motion, press, release } from './motion';
import { nextOrder } from './order';
import { showRecorded } from './recordedBreakpoints';
import { rectangle, unmarkRectangle } from './rectangle';
import { clearSelection, NOTHING, selection } from './selection';
import { closeSession, current, reopenSession } from './sessions';
import { shareLink } from './share';
import { revealSelection } from './surfaces';
import { toggleTheme } from './theme';
import { endTour, note, startTour } from './tour';
import { askOf, askWhy, closeWhy, question, selectedRequest } from './why';

export type Group = keyof typeof text.keys.groups;

export interface Command {
  readonly id: keyof typeof text.commands;
  /** As in `KeyboardEvent.key`, with `Shift+` where it is held and does not make another character. */
  readonly keys: readonly string[];
  readonly group: Group;
  readonly run: () => void;
  /** It goes on while its key is held; this ends it. */
  readonly release?: () => void;
  /** Why it can't be done now; null: it can. */
  readonly unless?: () => string | null;
  /** It asks a server, so a page that holds its recording does not have it. */
  readonly needsServer?: true;
}

const { why } = text.palette;
const isSelected = (): boolean =>
  Object.keys(NOTHING).some((key) => selection.peek()[key as keyof typeof NOTHING] !== null);

function motion(id: Motion, key: string): Command {
  return { id, keys: [key], group: 'map', run: () => press(id), release: () => release(id) };
}

const ASKED = { whyPreempted: 'preempted', whyWaits: 'waits', whyMissed: 'missed' } as const;

const ALL: readonly Command[] = [
  { id: 'play', keys: ['Space'], group: 'view', run: playOrPause },
  { id: 'forward', keys: ['.'], group: 'view', run: () => stepBy(1) },
  { id: 'back', keys: [','], group: 'view', run: () => stepBy(-1) },
  { id: 'forward10', keys: ['>'], group: 'view', run: () => stepBy(10) },
  { id: 'back10', keys: ['<'], group: 'view', run: () => stepBy(-10) },
  { id: 'nextOperation', keys: ["'"], group: 'view', run: () => operationsBy(1) },
  { id: 'previousOperation', keys: [';'], group: 'view', run: () => operationsBy(-1) },
  { id: 'nextLandmark', keys: ['n'], group: 'view', run: () => jumpToLandmark(1) },
  { id: 'previousLandmark', keys: ['N'], group: 'view', run: () => jumpToLandmark(-1) },
  { id: 'slower', keys: ['{'], group: 'view', run: () => changePace(-1) },
  { id: 'faster', keys: ['}'], group: 'view', run: () => changePace(1) },
  { id: 'asItWas', keys: ['\\'], group: 'view', run: () => setPace(RECORDED) },
  { id: 'end', keys: ['End'], group: 'view', run: follow },
  { id: 'home', keys: ['Home'], group: 'view', run: () => jump(0) },
  { id: 'markA', keys: ['A'], group: 'view', run: () => setMark('A') },
  { id: 'markB', keys: ['B'], group: 'view', run: () => setMark('B') },
  {
    id: 'compare',
    keys: ['c'],
    group: 'view',
    run: toggleComparing,
    unless: () => (marks.peek().A === null || marks.peek().B === null ? text.compare.needsMarks : null),
  },
  { id: 'go', keys: ['g'], group: 'view', run: () => focusPanel('go') },
  {
    id: 'hold',
    keys: ['Shift+Space'],
    group: 'engine',
    run: () => void holdOrRelease(),
    needsServer: true,
    unless: () => (canControl.peek() ? null : why.noControl),
  },
  {
    id: 'stepEngine',
    keys: ['Shift+Enter'],
    group: 'engine',
    run: () => void stepEngine(),
    needsServer: true,
    unless: () => (canControl.peek() ? null : why.noControl),
  },
  {
    id: 'breakpoints',
    keys: ['b'],
    group: 'engine',
    run: () => (canControl.peek() ? showBreakpoints() : void showRecorded()),
    needsServer: true,
    unless: () => (canControl.peek() || !isLive.peek() ? null : why.noControl),
  },
  {
    id: 'stopEvent',
    keys: [],
    group: 'engine',
    run: () => void goToHit(stop.peek()!),
    needsServer: true,
    unless: () => (stop.peek() === null ? why.notStopped : null),
  },
  {
    id: 'resetCache',
    keys: ['R'],
    group: 'engine',
    run: () => void resetPrefixCache(),
    needsServer: true,
    unless: () => (canReset.peek() ? null : why.noCache),
  },
  ...[...LEFT_PANELS, ...CENTRE_PANELS].map(
    (id): Command => ({
      id,
      keys: [{ ...LEFT_KEYS, ...CENTRE_KEYS }[id]],
      group: 'panels',
      run: () => showPanel(id),
    }),
  ),
  ...(Object.keys(FIXED_KEYS) as FixedPanel[]).map(
    (id): Command => ({ id, keys: [FIXED_KEYS[id]], group: 'panels', run: () => focusPanel(id) }),
  ),
  {
    id: 'filter',
    keys: ['/'],
    group: 'panels',
    run: focusFilter,
    unless: () => (filterField() === null ? why.noFilter : null),
  },
  { id: 'theme', keys: ['t'], group: 'panels', run: toggleTheme },
  { id: 'sessions', keys: ['o'], group: 'panels', run: closeSession, needsServer: true },
  { id: 'share', keys: ['l'], group: 'panels', run: () => void shareLink(), needsServer: true },
  { id: 'palette', keys: ['Ctrl+K', ':'], group: 'panels', run: togglePalette },
  { id: 'tour', keys: [], group: 'panels', run: startTour },
  { id: 'keys', keys: ['?'], group: 'panels', run: () => toggleKeys() },
  {
    id: 'next',
    keys: [']'],
    group: 'selection',
    run: () => jumpToChange(1),
    unless: () => (isSelected() ? null : why.noChange),
  },
  {
    id: 'previous',
    keys: ['['],
    group: 'selection',
    run: () => jumpToChange(-1),
    unless: () => (isSelected() ? null : why.noChange),
  },
  {
    id: 'reveal',
    keys: ['f'],
    group: 'selection',
    run: revealSelection,
    unless: () => (isSelected() ? null : why.nothingSelected),
  },
  {
    id: 'nextOfKind',
    keys: [')'],
    group: 'selection',
    run: () => void stepToSame('kind', 1),
    unless: () => (selectedEvent.peek() === null ? why.noEvent : null),
  },
  {
    id: 'previousOfKind',
    keys: ['('],
    group: 'selection',
    run: () => void stepToSame('kind', -1),
    unless: () => (selectedEvent.peek() === null ? why.noEvent : null),
  },
  { id: 'askWhy', keys: ['y'], group: 'selection', run: () => void askWhy() },
  {
    id: 'whyEvicted',
    keys: [],
    group: 'selection',
    run: () => void askOf('evicted'),
    unless: () => (selection.peek().block === null ? why.noBlockSelected : null),
  },
  ...(['whyPreempted', 'whyWaits', 'whyMissed'] as const).map(
    (id): Command => ({
      id,
      keys: [],
      group: 'selection',
      run: () => void askOf(ASKED[id]),
      unless: () => (selectedRequest() === null ? why.noRequestSelected : null),
    }),
  ),
  { id: 'whyMemory', keys: [], group: 'selection', run: () => void askOf('memory') },
  { id: 'whyLeaks', keys: [], group: 'selection', run: () => void askOf('leaks') },
  { id: 'clear', keys: ['Escape'], group: 'selection', run: leave },
  { id: 'nextColouring', keys: ['v'], group: 'map', run: () => nextColouring(1) },
  { id: 'previousColouring', keys: ['V'], group: 'map', run: () => nextColouring(-1) },
  { id: 'nextOrder', keys: ['x'], group: 'map', run: nextOrder },
  motion('zoomIn', 'w'),
  motion('zoomOut', 's'),
  motion('panLeft', 'a'),
  motion('panRight', 'd'),
];

export const COMMANDS = ALL.filter(({ needsServer }) => !isEmbedded || needsServer !== true);

/** These work without a session too. */
const ANYWHERE = new Set<Command['id']>(['keys', 'palette', 'theme', 'clear']);

/** Why a command can't be done now; null: it can. */
export function whyNot({ id, unless }: Command): string | null {
  if (current.peek() === null && !ANYWHERE.has(id)) return why.noSession;
  return unless?.() ?? null;
}

function togglePalette(): void {
  renderNow(() => {
    paletteShown.value = !paletteShown.value;
  });
}

function toggleKeys(): void {
  keysShown.value = !keysShown.value;
}

function leave(): void {
  if (keysShown.value) keysShown.value = false;
  else if (note.peek() !== null) endTour();
  else if (current.peek() === null) reopenSession();
  else if (question.peek() !== null) closeWhy();
  else if (rectangle.peek() !== null) unmarkRectangle();
  else if (lit.peek() !== null) unlight();
  else clearSelection();
}

export function commandById(id: Command['id']): Command {
  return COMMANDS.find((command) => command.id === id)!;
}
