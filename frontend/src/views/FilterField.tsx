/** The field for the filter of events. */

import { complete, type Offered } from '../filter/complete';
import { filterFault, recentFilters, settleFilter, typedFilter, typeFilter } from '../store/eventFilter';
import { events, tables } from '../store/ledger';
import { text } from '../text';
import { OfferedField } from './OfferedField';

const words = text.filter;

/** What is known to be offered: of this session, and of this reader. */
export function offeredNow(): Offered {
  const owners = new Set<string>();
  for (const row of tables.peek()?.rows ?? []) owners.add(`r${row.request}`).add(row.name);
  for (const { label } of events.peek()?.rows ?? [])
    if (/^r\d/.test(label)) owners.add(label.replace(/\..*/, ''));
  return { counts: events.peek()?.counts ?? {}, owners: [...owners], recent: recentFilters.peek() };
}

export function FilterField() {
  const fault = filterFault.value;
  return (
    <OfferedField
      words={words}
      typed={typedFilter.value}
      fault={fault === null ? null : { ...fault, message: words.fault(fault) }}
      complete={(typed, caret) => complete(typed, caret, offeredNow())}
      note={({ kind, field }) =>
        kind === 'recent' ? words.recent : kind === 'field' ? words.fields[field!] : null
      }
      onType={typeFilter}
      onSettle={settleFilter}
      isFilter
    />
  );
}
