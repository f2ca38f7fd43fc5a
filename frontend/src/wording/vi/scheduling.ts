/** Block table, scheduler và lý do chờ: `wording/scheduling.ts` in Vietnamese. */

import { integer } from '../../format';
import type {
  scheduler as englishScheduler,
  tables as englishTables,
  waiting as englishWaiting,
} from '../scheduling';
import type { Whole } from '../whole';

const n = integer;

export const tables: Whole<typeof englishTables> = {
  count: (shown, total, requests) =>
    total === 0 ? [] : [`${shown} trên ${n(total)}`, `· ${n(requests)} request`],
  tokens: (tokens) => `${n(tokens)} token`,
  decode: 'decode',
  prefill: (done, all) => `prefill ${n(done)} / ${n(all)}`,
  ended: (how) => `đã xong · ${how}`,
  copy: (source, target) => `sao chép ${source} → ${target}`,
  copyTitle: (source, target) =>
    `Copy-on-write ở bước này: block ${source} đang được dùng chung, nên nó ghi vào bản sao là block ${target}`,
  fork: (parent) => `fork từ ${parent}`,
  tools: 'Hàng nào, theo thứ tự nào',
  having: 'Các hàng có những từ này',
  havingHint: 'lọc',
  state: 'Trạng thái',
  states: {
    running: 'đang chạy',
    waiting: 'đang chờ',
    preempted: 'bị preempt',
    finished: 'đã xong',
    any: 'mọi trạng thái',
  },
  order: 'Thứ tự',
  orders: {
    arrival: 'lúc đến',
    firstToken: 'token đầu',
    preemptions: 'số lần preempt',
    blocks: 'số block',
  },
  ascends: 'Nhỏ nhất trước: đảo thứ tự',
  descends: 'Lớn nhất trước: đảo thứ tự',
  blockCount: (blocks) => `${n(blocks)} block`,
  firstToken: (after) => `token đầu ${after}`,
  noToken: 'chưa có token',
  preempted: (times) => (times === 0 ? 'chưa từng bị preempt' : `bị preempt ${n(times)} lần`),
  notRecorded: 'không được ghi',
  noRows: 'Không có hàng nào như yêu cầu.',
  allRows: 'Hiện mọi hàng đang giữ block',
  fault: (why) => `Không biết những gì xảy ra trước đó: ${why}.`,
  more: (count) => `còn ${n(count)}`,
  hole: 'không có block ở đây: nó đã được giải phóng',
  empty: 'Không chuỗi nào giữ block.',
  emptyAdvice: 'Block table xuất hiện khi một request được đưa vào chạy.',
  write: ['Nhấn ', ' để viết prompt.'],
  blocks: (told) => (told.length === 0 ? 'không có block' : `block ${told.join(' ')}`),
  noBlock: 'không có',
  chip: (block, state, count, filled, size) =>
    `block ${block} · ${state}${count > 1 ? `, ${count} nơi giữ` : ''} · đã ghi ${filled} trên ${size}`,
};

export const scheduler: Whole<typeof englishScheduler> = {
  running: 'đang chạy',
  waiting: 'đang chờ',
  budget: 'ngân sách token',
  ofBudget: (used, budget) => (budget > 0 ? `${n(used)} trên ${n(budget)}` : n(used)),
  runningOf: (count, most) => (most === null ? n(count) : `${n(count)} trên ${n(most)}`),
  prefill: (tokens) => `${n(tokens)} prefill`,
  decode: (tokens) => `${n(tokens)} decode`,
  thisStep: (step) => `Bước ${n(step)}`,
  didNothing: 'không động đến block nào',
  notLoaded: 'Bản ghi của bước này chưa được tải.',
  times: ['lập lịch', 'forward', 'lấy mẫu', 'ghi'],
  admitted: (tokens, hit) => `được chạy · ${n(tokens)} token${hit > 0 ? `, ${n(hit)} có trong cache` : ''}`,
  preempted: (victim, blocks, tokens) =>
    `bị preempt vì ${victim} · giải phóng ${n(blocks)} block, phải tính lại ${n(tokens)} token`,
  kinds: { prefill: 'prefill', decode: 'decode', copy: 'sao chép', evict: 'bị loại' },
  tokens: (tokens) => `${n(tokens)} token`,
  chunk: (start, tokens) => `${n(tokens)} token từ vị trí ${n(start)}`,
  andMore: (count) => `và ${n(count)} nữa`,
  ended: (how) => `đã xong · ${how}`,
  noneWaiting: 'Không ai phải chờ.',
  more: (count) => `và ${n(count)} nữa`,
  decisions: 'Quyết định',
  operations: 'Thao tác',
};

export const waiting: Whole<typeof englishWaiting> = (reason) => {
  if (reason === null) return 'lý do không nằm trong phần đã tải';
  const { needs, free, largest, behind, step } = reason;
  const need = `cần ${n(needs ?? 0)} block`;
  switch (reason.reason) {
    case 'blocks':
      return step === undefined
        ? `${need}, đang trống ${n(free ?? 0)}`
        : `${need}; ở bước ${n(step)} có ${n(free ?? 0)} block trống`;
    case 'fragmentation':
      return `${need} liền nhau; đang trống ${n(free ?? 0)}, nhiều nhất ${n(largest ?? 0)} liền nhau`;
    case 'budget':
      return 'ngân sách token của bước đã hết';
    case 'max_num_seqs':
      return 'số chuỗi đang chạy đã tối đa';
    case 'behind':
      return `sau r${behind ?? '?'}${needs != null ? `; cần ${n(needs)}` : ''}`;
  }
};
