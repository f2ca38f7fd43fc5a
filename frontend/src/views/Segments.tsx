/** A row of choices, one of which is on. */

interface Props<T extends string> {
  readonly label: string;
  readonly options: readonly T[];
  readonly names: Readonly<Record<T, string>>;
  readonly value: T;
  readonly onChange: (value: T) => void;
}

export function Segments<T extends string>({ label, options, names, value, onChange }: Props<T>) {
  return (
    <div class="segments" role="tablist" aria-label={label}>
      {options.map((option) => (
        <button
          key={option}
          type="button"
          role="tab"
          aria-selected={option === value}
          class={option === value ? 'on' : ''}
          onClick={() => onChange(option)}
        >
          {names[option]}
        </button>
      ))}
    </div>
  );
}
