/**
 * What each request did, step by step: stretches of steps of which all is known, from decisions and the state before them.
 *
 *     steps      100   101   102   103   104   105   106
 *     r17        waiting ·   running ·   preempted               changes: a state, and from which step on
 *                            ▪ 512 ▪ 512                         chunks: tokens of its prefill in a step
 *     r12        running ·   ·     ·     finished                as it was before the first step: `start`
 *
 * The server tells those of a recording (`GET …/lanes`); of records that come here, or that the page holds, they are made here.
 */

import type { AnyRecord } from '../ledger/fold';
import type { Keyframe, Step } from '../ledger/generated/types';
import type { Decision, RequestStateName } from '../ledger/requests';

/** In the engine, or how it left it. */
export type LaneState = RequestStateName | 'finished' | 'aborted' | 'refused';

export interface Stretch {
  readonly first: number;
  /** Included. */
  last: number;
  readonly start: { readonly request: readonly number[]; readonly state: readonly RequestStateName[] };
  readonly changes: { readonly step: number[]; readonly request: number[]; readonly state: LaneState[] };
  readonly chunks: { readonly step: number[]; readonly request: number[]; readonly tokens: number[] };
}

/** The server's answer. */
export interface ToldLanes {
  /** The last step that was looked at. What no stretch holds up to it is lost. */
  readonly through: number;
  readonly stretches: readonly Stretch[];
  readonly names: Readonly<Record<string, string>>;
}

const CHANGES = ['submitted', 'admitted', 'preempted', 'finished', 'aborted', 'refused'] as const;
type Change = Extract<Decision, { kind: (typeof CHANGES)[number] }>;

/** Does it move a request? */
function isChange(decision: Decision): decision is Change {
  return (CHANGES as readonly string[]).includes(decision.kind);
}

/** A longer one would be read from its beginning for each part of it that is looked at. */
const LONGEST = 512;

/** Makes the stretches of the steps `first` to `last` from records, in their order. */
export class LaneWalk {
  readonly stretches: Stretch[] = [];
  readonly names = new Map<number, string>();
  through: number;
  /** The requests in the engine; null: a keyframe is to come. */
  private states: Map<number, RequestStateName> | null = null;
  private open: Stretch | null = null;

  constructor(
    private readonly first: number,
    private readonly last: number,
  ) {
    this.through = first - 1;
  }

  follow(record: AnyRecord): void {
    if (record.type === 'step') this.step(record);
    else if (record.type === 'keyframe') this.keyframe(record);
    else if (record.type === 'gap') this.forget();
  }

  /** The records that follow are not those behind the last ones. */
  forget(): void {
    this.states = null;
    this.open = null;
  }

  private keyframe({ requests = [] }: Keyframe): void {
    if (this.states !== null) return;
    this.states = new Map(requests.map(({ request, state }) => [request, state]));
    for (const { request, name } of requests) this.names.set(request, name);
  }

  private step({ step, decisions = [] }: Step): void {
    if (step > this.last) return;
    if (step >= this.first) this.through = step;
    const { states } = this;
    if (states === null) return;
    const noted = step >= this.first ? this.stretchOf(step, states) : null;
    for (const decision of decisions) {
      if (decision.kind === 'submitted') this.names.set(decision.request, decision.name);
      if (decision.kind === 'scheduled') {
        noted?.chunks.step.push(step);
        noted?.chunks.request.push(decision.request);
        noted?.chunks.tokens.push(decision.tokens);
      } else if (isChange(decision)) {
        const { request, kind, state_after: state } = decision;
        if (state == null) states.delete(request);
        else states.set(request, state);
        noted?.changes.step.push(step);
        noted?.changes.request.push(request);
        noted?.changes.state.push(state ?? (kind as LaneState));
      }
    }
  }

  private stretchOf(step: number, states: ReadonlyMap<number, RequestStateName>): Stretch {
    if (this.open === null || step - this.open.first >= LONGEST) {
      this.open = {
        first: step,
        last: step,
        start: { request: [...states.keys()], state: [...states.values()] },
        changes: { step: [], request: [], state: [] },
        chunks: { step: [], request: [], tokens: [] },
      };
      this.stretches.push(this.open);
    }
    this.open.last = step;
    return this.open;
  }

  told(): ToldLanes {
    return { through: this.through, stretches: this.stretches, names: Object.fromEntries(this.names) };
  }
}
