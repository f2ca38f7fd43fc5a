/** Danh sách sự kiện: `wording/events.ts` in Vietnamese. Names of operations, causes and decisions are the ledger's. */

import { integer } from '../../format';
import { NONE, Operation } from '../../ledger/generated/constants';
import type { EventRow } from '../../worker/answers/events';
import { CAUSE_NAMES, type events as english, type decisions as englishDecisions } from '../events';
import type { Whole } from '../whole';
import { waiting } from './scheduling';
import { stop } from './stop';

const n = integer;

export const events: Whole<typeof english> = {
  empty: 'Không có gì trong phiên này khớp bộ lọc.',
  emptyStep: 'Chưa có gì xảy ra.',
  goTo: (row) =>
    `${typeof row.kind === 'number' ? `Đến ngay sau thao tác ${n(row.op)}` : `Đến ngay trước thao tác ${n(row.op)}, nơi điều này có hiệu lực`} · bản ghi ${n(row.record)}`,
  columns: {
    record: 'bản ghi',
    step: 'bước',
    time: 'thời gian',
    kind: 'sự kiện',
    block: 'block',
    owner: 'cho',
    why: 'nội dung',
  },
  searching: (from, to) => `đã tìm từ bước ${n(from)} đến ${n(to)} …`,
  on: (op) => `thao tác ${n(op)} …`,
  fault: (why) => `Không tìm được phần còn lại: ${why}.`,
  newer: (count) => `${n(count)} mới ↓`,
  newerTitle: 'Lại bám theo các sự kiện mới nhất',
  back: 'về khung nhìn',
  backTitle: 'Đưa danh sách về vị trí của khung nhìn',
  place: 'Vị trí trong phiên',
  at: (op, last) => `thao tác ${n(op)} trên ${n(last)}`,
  same: { block: 'block', request: 'request', kind: 'loại' },
  sameTitle: (what, direction, key) =>
    `Sự kiện ${direction > 0 ? 'tiếp theo' : 'trước'} cùng ${what}${key === '' ? '' : ` (${key})`}`,
  selectFirst: 'Bấm vào một sự kiện để đi từ nó đến các sự kiện khác cùng block, request hoặc loại',
  noMore: (filter, direction) =>
    `Không có sự kiện nào ${direction > 0 ? 'về sau' : 'trước đó'} khớp ${filter}.`,
};

export const decisions: Whole<typeof englishDecisions> = {
  gap: 'khoảng mất',
  submitted: 'submitted',
  admitted: 'admitted',
  sequence_created: 'chuỗi mới',
  sequence_dropped: 'bỏ chuỗi',
  hypothesis: 'câu trả lời',
  scheduled: 'scheduled',
  waiting: 'waiting',
  preempted: 'preempted',
  finished: 'finished',
  aborted: 'aborted',
  refused: 'refused',
};

/** Một dòng cho biết một thao tác hoặc quyết định đã làm gì. */
export function describe(row: EventRow, blockSize: number): string {
  if (typeof row.kind !== 'number') {
    const d = row.kind;
    switch (d.kind) {
      case 'submitted':
        return `${d.name} · ${n(d.prompt_tokens)} + ${n(d.max_tokens)} token${(d.n ?? 1) > 1 ? `, n = ${d.n}` : ''}`;
      case 'admitted':
        return `${n(d.tokens)} token, trúng ${n(d.hit ?? 0)}${d.cap_applied === true ? ' (chừa một token để tính)' : ''}`;
      case 'sequence_created':
        return d.parent == null ? 'đầu tiên của request' : 'được fork';
      case 'sequence_dropped':
        return d.reason == null
          ? 'kết thúc trước request của nó'
          : `kết thúc trước request của nó: ${d.reason}${stop(d.stop_reason)}`;
      case 'hypothesis':
        return `${n(d.tokens + 1)} token, ${d.reason}, điểm ${d.score.toFixed(3)}`;
      case 'scheduled':
        return `prefill ${n(d.tokens)} token từ vị trí ${n(d.start)}`;
      case 'waiting':
        return waiting(d);
      case 'preempted':
        return `vì r${d.victim_of} · giải phóng ${n(d.blocks)} block, phải tính lại ${n(d.tokens)} token`;
      case 'finished':
        return d.message == null ? `${d.reason}${stop(d.stop_reason)}` : `${d.reason}: ${d.message}`;
      case 'aborted':
        return d.asked_by ? `bởi ${d.asked_by}` : '';
      case 'refused':
        return d.message;
      case 'gap':
        return `mất bản ghi ${n(d.first)} đến ${n(d.last)}: ${d.reason}`;
    }
  }
  const cause = CAUSE_NAMES[row.cause] ?? `nguyên nhân ${row.cause}`;
  const at = row.position === NONE ? ', pin' : ` tại ${n(row.position)}`;
  switch (row.kind) {
    case Operation.allocate:
      return `${cause}${at}`;
    case Operation.evict:
      return `${cause} · nội dung ${n(row.value)}, trúng ${n(row.before)} lần`;
    case Operation.reuse:
      return `${cause}${at}, lấy từ hàng đợi`;
    case Operation.copy:
      return `từ block ${row.value}${at}`;
    case Operation.fill:
      return `${cause} · ${row.before} → ${row.value} trên ${blockSize}`;
    case Operation.cache:
      return `nội dung ${n(row.value)}`;
    case Operation.free:
      return `${cause}${at}, ticket ${n(row.value)}`;
    default:
      return `${cause}${at}`;
  }
}
