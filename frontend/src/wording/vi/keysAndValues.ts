/** Key và value của một block: `wording/keysAndValues.ts` in Vietnamese. */

import { integer } from '../../format';
import type { keysAndValues as english } from '../keysAndValues';
import type { Whole } from '../whole';

const n = integer;

export const keysAndValues: Whole<typeof english> = {
  title: 'Key và value',
  key: 'key',
  value: 'value',
  read: 'Đọc từ thiết bị',
  again: 'Đọc lại',
  reading: 'đang đọc …',
  allSlots: 'mọi slot đã ghi',
  slot: (slot) => `slot ${slot}`,
  slots: 'Các slot được đọc',
  notRecorded:
    'Không được ghi: bản ghi có những gì xảy ra với block, không có những gì chúng chứa trên thiết bị.',
  unreachable: 'Engine không kết nối: lúc này không đọc được.',
  readAt: (first, last, step) =>
    `${last - first === 1 ? `slot ${first}` : `trung bình của slot ${first} đến ${last - 1}`}, sau bước ${n(step)}`,
  axes: (layers, heads) => `${n(layers)} layer →, ${n(heads)} KV head ↓`,
  cell: (layer, head, norm) => `layer ${layer} · head ${head} · ${norm}`,
  range: (least, most) => `${least} – ${most}`,
  told: (name, layers, heads, least, most) =>
    `Norm của ${name} trong ${layers} layer và ${heads} head, từ ${least} đến ${most}`,
};
