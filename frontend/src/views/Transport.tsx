/** The transport of the view: by step, by operation, playing at a pace, and going somewhere. */

import type { ComponentChildren } from 'preact';
import { jump, operationsBy, PACES, pace, playOrPause, RECORDED, setPace, stepBy } from '../store/clock';
import { commandById } from '../store/commands';
import { isLive, mode, stalled } from '../store/ledger';
import { text } from '../text';
import type { Pace } from '../worker/player';
import { GoField } from './GoField';

const ALL = [RECORDED, ...PACES];

function PaceMenu() {
  const option = (each: Pace) => (
    <option key={text.pace.name(each)} value={String(ALL.indexOf(each))}>
      {text.pace.name(each)}
    </option>
  );
  return (
    <select
      class="pace num"
      aria-label={text.pace.title}
      title={`${text.pace.title} ({ } \\)`}
      value={String(ALL.indexOf(pace.value))}
      onChange={(event) => setPace(ALL[Number(event.currentTarget.value)]!)}
    >
      {option(RECORDED)}
      {(['times', 'steps', 'operations'] as const).map((kind) => (
        <optgroup key={kind} label={text.pace.groups[kind]}>
          {PACES.filter((each) => each.kind === kind).map(option)}
        </optgroup>
      ))}
    </select>
  );
}

interface ButtonProps {
  readonly label: string;
  readonly keys: string;
  readonly onClick: () => void;
  readonly kind?: string;
  readonly children: ComponentChildren;
}

function Button({ label, keys, onClick, kind, children }: ButtonProps) {
  return (
    <button
      type="button"
      class={`btn icon ${kind ?? ''}`}
      title={`${label} (${keys})`}
      aria-label={label}
      onClick={onClick}
    >
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {children}
      </svg>
    </button>
  );
}

export function Transport() {
  const going = mode.value !== 'at';
  const live = isLive.value;
  return (
    <div class="transport" role="toolbar" aria-label={text.keys.groups.view}>
      <Button label={text.bar.first} keys="Home" onClick={() => jump(0)}>
        <path d="M2 2v8M10 2 4.5 6 10 10z" />
      </Button>
      <Button label={text.bar.back} keys="," onClick={() => stepBy(-1)}>
        <path d="M9 2 3.5 6 9 10z" />
      </Button>
      <Button label={text.transport.operationBack} keys=";" kind="single" onClick={() => operationsBy(-1)}>
        <path class="bars" d="M7.5 2.8 4.3 6l3.2 3.2" />
      </Button>
      <Button label={going ? text.bar.pause : text.bar.play} keys="Space" kind="main" onClick={playOrPause}>
        {going ? <path class="bars" d="M3.5 2v8M8.5 2v8" /> : <path d="M3 1.5 10 6 3 10.5z" />}
      </Button>
      <Button label={text.transport.operationOn} keys="'" kind="single" onClick={() => operationsBy(1)}>
        <path class="bars" d="M4.5 2.8 7.7 6 4.5 9.2" />
      </Button>
      <Button label={text.bar.forward} keys="." onClick={() => stepBy(1)}>
        <path d="M3 2l5.5 4L3 10z" />
      </Button>
      <button
        type="button"
        class={`btn follow ${mode.value === 'follow' ? 'on' : ''}`}
        title={`${live ? text.bar.followTitle : text.bar.endTitle} (End)`}
        onClick={commandById('end').run}
      >
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M2 2l5.5 4L2 10zM10 2v8" />
        </svg>
        <span class="word">{live ? text.bar.follow : text.bar.end}</span>
      </button>
      <PaceMenu />
      {stalled.value && (
        <span class="stalled" role="status" title={text.transport.stalledTitle}>
          {text.transport.stalled}
        </span>
      )}
      <GoField />
    </div>
  );
}
