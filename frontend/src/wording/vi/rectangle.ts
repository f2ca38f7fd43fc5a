/** Hình chữ nhật được đánh dấu trên bản đồ: `wording/rectangle.ts` in Vietnamese. */

import { integer, percent } from '../../format';
import type { rectangle as english } from '../rectangle';
import type { Whole } from '../whole';

const n = integer;

export const rectangle: Whole<typeof english> = {
  title: 'Hình chữ nhật',
  unmark: 'Bỏ hình chữ nhật (Esc)',
  counting: 'Đang đếm những gì ở bên trong …',
  blocks: (_, step) => `block · ở bước ${n(step)}`,
  empty: 'Không có block nào bên trong.',
  states: 'trạng thái',
  refs: 'ref count',
  refsOf: (range, blocks) => `${range} × ${n(blocks)}`,
  refsTitle: (range, blocks) => `${n(blocks)} block có ref count ${range}`,
  slots: 'slot',
  filled: (filled, slots) => `đã ghi ${n(filled)} trên ${n(slots)}, ${percent(filled, slots)}`,
  contents: 'nội dung',
  held: (contents, hits) =>
    `${n(contents)} block có nội dung, ${hits === 0 ? 'chưa từng trúng' : `trúng ${n(hits)} lần`}`,
  requests: 'request',
  requestsTitle: 'Một block do nhiều request giữ thì được tính cho từng request',
  nobody: 'không request nào giữ block nào trong số này',
  others: (count) => `và ${n(count)} request khác`,
};
