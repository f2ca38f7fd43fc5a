/** Above the block tables: the words that a row must have, its state, and the order. */

import { orderRows, rowOrder, rowState, rowsDescend, rowWords, turnRows } from '../store/rows';
import { text } from '../text';
import { ROW_ORDERS, ROW_STATES, type RowOrder, type RowState } from '../worker/answers/tables';

const words = text.tables;

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly T[];
  readonly names: Readonly<Record<T, string>>;
  readonly value: T;
  readonly onChange: (value: T) => void;
}

function Choice<T extends string>({ label, options, names, value, onChange }: ChoiceProps<T>) {
  return (
    <select
      aria-label={label}
      title={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as T)}
    >
      {options.map((each) => (
        <option key={each} value={each}>
          {names[each]}
        </option>
      ))}
    </select>
  );
}

export function RowTools() {
  const isDown = rowsDescend.value;
  return (
    <div class="filters rowtools" role="toolbar" aria-label={words.tools}>
      <input
        type="search"
        data-filter
        aria-label={words.having}
        placeholder={words.havingHint}
        spellcheck={false}
        autocomplete="off"
        value={rowWords.value}
        onInput={(event) => {
          rowWords.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
          event.preventDefault();
          document.querySelector<HTMLElement>('[data-panel="tables"]')?.focus();
        }}
      />
      <Choice
        label={words.state}
        options={ROW_STATES}
        names={words.states}
        value={rowState.value}
        onChange={(value: RowState) => {
          rowState.value = value;
        }}
      />
      <Choice
        label={words.order}
        options={ROW_ORDERS}
        names={words.orders}
        value={rowOrder.value}
        onChange={(value: RowOrder) => orderRows(value)}
      />
      <button
        type="button"
        class="plain turn"
        aria-label={isDown ? words.descends : words.ascends}
        title={isDown ? words.descends : words.ascends}
        onClick={turnRows}
      >
        {isDown ? '↓' : '↑'}
      </button>
    </div>
  );
}
