/** One field of a request: its name, what is typed, why it rests, and what is wrong with it. */

import type { JSX } from 'preact';
import { HINTS, type Field as Name, whyNot } from '../../store/fields';
import { check, draft, edit, engine, faults } from '../../store/playground';
import { text } from '../../text';

const words = text.playground;

type Shape = 'number' | 'line' | 'lines' | 'tick' | 'choice';

/** All that the controls of a field have in common. */
function common(name: Name, why: string | null, fault: string | undefined) {
  return {
    name,
    id: `field-${name}`,
    disabled: why !== null,
    'aria-invalid': fault !== undefined,
    'aria-describedby': fault === undefined ? undefined : `fault-${name}`,
    onBlur: () => check(name),
  };
}

function Control({
  name,
  shape,
  shared,
}: {
  readonly name: Name;
  readonly shape: Exclude<Shape, 'tick'>;
  readonly shared: ReturnType<typeof common>;
}): JSX.Element {
  const value = draft.value[name];
  const hints: Readonly<Partial<Record<Name, string>>> = { ...HINTS, ...words.placeholders };
  if (shape === 'choice') {
    return (
      <select {...shared} value={value} onChange={(event) => edit({ [name]: event.currentTarget.value })}>
        {Object.entries(words.earlyStopping).map(([option, said]) => (
          <option key={option} value={option}>
            {said}
          </option>
        ))}
      </select>
    );
  }
  const typing = {
    ...shared,
    class: 'num',
    autocomplete: 'off',
    spellcheck: false,
    placeholder: hints[name] ?? '',
    value,
    onInput: (event: Event) =>
      edit({ [name]: (event.currentTarget as HTMLInputElement | HTMLTextAreaElement).value }),
  };
  if (shape === 'lines') return <textarea {...typing} rows={1} />;
  return <input {...typing} inputMode={shape === 'number' ? 'decimal' : 'text'} />;
}

interface Props {
  readonly name: Name;
  readonly shape?: Shape;
  /** How many sixths of the width it takes. */
  readonly wide?: 2 | 3 | 4 | 6;
}

export function Field({ name, shape = 'number', wide = 2 }: Props) {
  const why = whyNot(name, draft.value, engine.value);
  const fault = why === null ? faults.value[name] : undefined;
  const shared = common(name, why, fault);
  const title = why === null ? words.titles[name] : `${words.titles[name]}\n${name}: ${why}`;
  return (
    <>
      {shape === 'tick' ? (
        <label class={`check field w${wide}${why === null ? '' : ' rests'}`} title={title}>
          <input
            {...shared}
            type="checkbox"
            checked={draft.value[name] !== ''}
            onChange={(event) => edit({ [name]: event.currentTarget.checked ? 'true' : '' })}
          />
          <span class="num">{name}</span>
        </label>
      ) : (
        <label class={`field w${wide}${why === null ? '' : ' rests'}`} title={title} for={`field-${name}`}>
          <span class="num">{name}</span>
          <Control name={name} shape={shape} shared={shared} />
        </label>
      )}
      {fault !== undefined && (
        <p class="wrong" role="alert" id={`fault-${name}`}>
          {fault}
        </p>
      )}
    </>
  );
}
