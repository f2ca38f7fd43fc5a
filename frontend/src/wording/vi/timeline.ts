/** Dòng thời gian: `wording/timeline.ts` in Vietnamese. */

import { integer } from '../../format';
import type { timeline as english } from '../timeline';
import type { Whole } from '../whole';

const n = integer;

export const timeline: Whole<typeof english> = {
  use: 'KV',
  tokens: 'token',
  marks: 'sự kiện',
  all: 'tất cả',
  recent: 'gần đây',
  label:
    'Dòng thời gian: kéo để đi dọc phiên, giữ Shift khi kéo để chỉ xem các bước đó. Phím mũi tên đi từng bước, + và − phóng to, thu nhỏ, 0 xem tất cả.',
  noRequests: 'Không có request trong các bước này',
  rows: {
    shown: (count, total) => `${n(count)}/${n(total)} request`,
    title: (first, last, total) =>
      `Hàng ${n(first)} đến ${n(last)} trong ${n(total)} request có mặt ở các bước này. Shift và con lăn, hoặc Page Down, để xem hàng khác.`,
  },
  clickRow: 'Bấm để chọn; Shift và con lăn: request khác',
  does: (state, tokens) =>
    state === 'running'
      ? tokens > 0
        ? `prefill ${n(tokens)} token`
        : 'đang chạy'
      : state === 'waiting'
        ? 'đang chờ'
        : 'bị preempt, đang chờ',
  ends: { finished: 'đã xong', aborted: 'bị hủy', refused: 'bị từ chối' },
  minimap: {
    label: 'Các bước mà dòng thời gian đang hiện, trong cả phiên',
    title: 'Kéo để di chuyển, kéo mép để xem nhiều hay ít bước hơn; bấm đúp để xem tất cả',
    shown: (first, last) => `bước ${n(first)} đến ${n(last)}`,
  },
  tip: (first, last) => (first === last ? `bước ${n(first)}` : `bước ${n(first)} – ${n(last)}`),
  used: (most, cached, single) =>
    single
      ? `đã dùng ${(100 * most).toFixed(1)} %, còn cache ${(100 * cached).toFixed(1)} %`
      : `dùng tối đa ${(100 * most).toFixed(1)} %, trung bình còn cache ${(100 * cached).toFixed(1)} %`,
  tokensTip: (prefill, decode, single) =>
    `${n(prefill)} prefill, ${n(decode)} decode${single ? '' : ', tổng số token'}`,
  hitRate: 'trúng',
  hitRateTitle:
    'Trong số token của các request được đưa vào chạy, prefix cache có bao nhiêu; không tính các request quay lại sau khi bị preempt, như vLLM',
  hitsTip: (hits, queries) =>
    Number.isNaN(queries)
      ? 'tỉ lệ trúng không được ghi'
      : queries === 0
        ? 'không có request nào được đưa vào chạy'
        : `tỉ lệ trúng ${((100 * hits) / queries).toFixed(1)} %, ${n(hits)} trên ${n(queries)} token`,
  partly: (known) => `chỉ biết ${n(known)} bước trong số đó`,
  filling: 'đang tải',
  evicted: (count) => `${n(count)} lần loại bỏ`,
  copied: (count) => `${n(count)} lần sao chép`,
  preempted: (count) => `${n(count)} lần preempt`,
  legend: {
    evict: 'loại bỏ',
    copy: 'sao chép',
    preempt: 'preempt',
    prefill: 'prefill',
    decode: 'decode',
    waits: 'chờ',
  },
  sessionTime: 'Thời gian từ lúc phiên bắt đầu',
  wallClock: 'Giờ thực, theo múi giờ của trình duyệt',
  empty: 'Chưa có bước nào.',
};
