/** What a request says beyond its prompt, in groups, unfolded below the three fields that everybody needs. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { changed, DEFAULTS, FIELDS, type Field as Name, whyNot } from '../../store/fields';
import { draft, engine, faults, resetFields } from '../../store/playground';
import { text } from '../../text';
import { Field } from './Fields';

const words = text.playground;

/** These stand above, and are never folded away. */
export const ABOVE: ReadonlySet<Name> = new Set(['n', 'max_tokens', 'temperature']);

/** Which fields rest, by the reason that they have in common. */
function Resting({ of }: { readonly of: readonly Name[] }) {
  const reasons = new Map<string, Name[]>();
  for (const name of of) {
    const why = whyNot(name, draft.value, engine.value);
    if (why !== null) reasons.set(why, [...(reasons.get(why) ?? []), name]);
  }
  return (
    <>
      {[...reasons].map(([why, names]) => (
        <p key={why} class="reason faint">
          {words.rest(names, why)}
        </p>
      ))}
    </>
  );
}

function Group({
  title,
  of,
  children,
}: {
  readonly title: string;
  readonly of: readonly Name[];
  readonly children: ComponentChildren;
}) {
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      <div class="fields">{children}</div>
      <Resting of={of} />
    </fieldset>
  );
}

/** The line that unfolds it: folded, it tells what was set; with a way back to how it was. */
export function Unfold({
  unfolded,
  onToggle,
}: {
  readonly unfolded: boolean;
  readonly onToggle: () => void;
}) {
  const told = changed(draft.value, engine.value).filter(({ field }) => !ABOVE.has(field));
  const line = told
    .map(({ field, said }) => (field === 'ignore_eos' ? field : `${field} ${said}`))
    .join(' · ');
  const isChanged = FIELDS.some((field) => draft.value[field] !== DEFAULTS[field]);
  return (
    <span class="unfoldline">
      <button
        type="button"
        class="plain unfold"
        aria-expanded={unfolded}
        aria-controls="sampling"
        title={line}
        onClick={onToggle}
      >
        {unfolded ? '▾' : '▸'} {words.more}
        {line !== '' && !unfolded && <span class="num dim"> · {line}</span>}
      </button>
      {isChanged && (
        <button type="button" class="plain" title={words.resetTitle} onClick={resetFields}>
          {words.reset}
        </button>
      )}
    </span>
  );
}

/** Unfolds by itself where something in it is wrong, and the focus goes there. */
export function useUnfolded(): [boolean, () => void] {
  const [unfolded, setUnfolded] = useState(false);
  const wrong = FIELDS.find((field) => faults.value[field] !== undefined);
  // Before the next frame: who sent it puts the focus there in that. And each time, as it may have been folded since.
  useLayoutEffect(() => {
    if (wrong !== undefined && !ABOVE.has(wrong)) setUnfolded(true);
  }, [wrong, faults.value]);
  return [unfolded, () => setUnfolded(!unfolded)];
}

export function Sampling({ hidden }: { readonly hidden: boolean }) {
  return (
    <div id="sampling" class="unfolded" hidden={hidden}>
      <Group
        title={words.groups.draw}
        of={['temperature', 'top_k', 'top_p', 'min_p', 'seed', 'presence_penalty', 'frequency_penalty']}
      >
        <Field name="top_k" />
        <Field name="top_p" />
        <Field name="min_p" />
        <Field name="repetition_penalty" wide={3} />
        <Field name="presence_penalty" wide={3} />
        <Field name="frequency_penalty" wide={3} />
        <Field name="seed" wide={3} />
        <Field name="logit_bias" shape="line" wide={6} />
      </Group>
      <Group title={words.groups.end} of={['stop']}>
        <Field name="stop" shape="lines" wide={4} />
        <Field name="stop_token_ids" shape="line" />
        <Field name="min_tokens" />
        <Field name="ignore_eos" shape="tick" wide={4} />
      </Group>
      <Group title={words.groups.beam} of={['length_penalty', 'early_stopping']}>
        <Field name="beam_width" />
        <Field name="length_penalty" />
        <Field name="early_stopping" shape="choice" />
      </Group>
      <Group title={words.groups.told} of={['logprobs', 'priority', 'cache_salt', 'lora_name']}>
        <Field name="logprobs" wide={3} />
        <Field name="priority" wide={3} />
        <Field name="cache_salt" shape="line" wide={3} />
        <Field name="lora_name" shape="line" wide={3} />
      </Group>
    </div>
  );
}
