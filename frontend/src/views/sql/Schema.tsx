/** The tables that can be asked, their columns, and what these mean. */

import { guide } from '../../store/sql';
import { text } from '../../text';

export function Schema({ insert }: { readonly insert: (name: string) => void }) {
  const { value } = guide;
  if (typeof value === 'string') return <p class="schema dim">{text.sql.guideFailed(value)}</p>;
  return (
    <div class="schema scroller">
      {value?.tables.map(({ name, about, columns }) => (
        <details key={name}>
          <summary title={about}>
            <span class="num">{name}</span> <span class="faint">{about}</span>
          </summary>
          <ul>
            {columns.map((column) => (
              <li key={column.name}>
                <button
                  type="button"
                  class="link num"
                  title={text.sql.insert(column.name)}
                  onClick={() =>
                    insert(/^(group|index|start|free)$/.test(column.name) ? `"${column.name}"` : column.name)
                  }
                >
                  {column.name}
                </button>
                <span class="faint num"> {column.type.toLowerCase()}</span>
                <div class="dim">{column.about}</div>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </div>
  );
}
