/** Về các block: `wording/blocks.ts` in Vietnamese. */

import { integer } from '../../format';
import type {
  map as englishMap,
  mapKey as englishMapKey,
  queue as englishQueue,
  runs as englishRuns,
  states as englishStates,
} from '../blocks';
import { oneLine } from '../piece';
import type { Whole } from '../whole';

const n = integer;

export const states: Whole<typeof englishStates> = {
  active: 'đang dùng',
  shared: 'dùng chung',
  cached: 'trống, còn cache',
  free: 'trống',
  fresh: 'vừa đổi',
  freshTitle: 'Block mà bước hiện tại thay đổi thì sáng lên',
  ofClass: ['trống', 'trống, còn cache', 'đang dùng', 'dùng chung'],
};

export const mapKey: Whole<typeof englishMapKey> = {
  title: 'Cách đọc một block',
  count: 'Con số là ref count, khi lớn hơn một.',
  fill: 'Vạch ở chân ô là số slot đã ghi.',
  next: 'Có khung: block sẽ bị lấy tiếp theo, tức đầu free queue.',
  fresh: 'Sáng: bước hiện tại đã thay đổi nó. Màu trạng thái vẫn ở bên dưới.',
};

export const map: Whole<typeof englishMap> = {
  blocks: (count, size) => `${n(count)} × ${n(size)} slot`,
  label: (count) =>
    `Bản đồ bộ nhớ gồm ${n(count)} block. Phím mũi tên để di chuyển, Shift và phím mũi tên để đánh dấu một hình chữ nhật, Enter để chọn, cộng và trừ để phóng to, thu nhỏ, 0 để xem tất cả.`,
  zoomIn: 'Phóng to',
  zoomOut: 'Thu nhỏ',
  fit: 'Xem mọi block',
  tip: (state, count) => (count > 1 ? `${state}, ${count} nơi giữ` : state),
  filled: (filled, size) => `đã ghi ${filled} / ${size}`,
  content: 'có nội dung',
};

export const queue: Whole<typeof englishQueue> = {
  summary: (length, order) => `đầu → đuôi · ${n(length)} block${order ? ` · ${order}` : ''}`,
  more: (count) => `… còn ${n(count)}`,
  next: 'bị lấy tiếp theo',
  loses: (content, start, hits) =>
    `mất ${start === null ? `nội dung ${n(content)}` : `“${oneLine(start)} …”`}, ${hits === 0 ? 'chưa từng trúng' : `trúng ${n(hits)} lần`}`,
  nothing: 'không có nội dung',
  moves: 'Những gì bước này thay đổi trong hàng đợi',
  noMoves: 'bước này không đổi gì',
  kinds: { taken: '← lấy đi', hit: '↑ trúng', joined: 'vào đuôi ←', joinedHead: 'vào đầu →' },
  kindTitles: {
    taken: 'Được lấy từ đầu hàng đợi',
    hit: 'Được lấy ra từ giữa hàng đợi, vì có request cần nội dung của nó',
    joined: 'Được giải phóng, vào đuôi hàng đợi',
    joinedHead: 'Được giải phóng, vào đầu hàng đợi: nó không có nội dung',
  },
  moved: {
    taken: (block, cause, owner) =>
      `block ${block} rời đầu hàng đợi · ${cause}${owner === null ? '' : ` cho ${owner}`}`,
    hit: (block, cause, owner) =>
      `block ${block} được lấy ra từ giữa · ${cause}${owner === null ? '' : ` bởi ${owner}`}`,
    joined: (block, cause, owner) =>
      `block ${block} vào đuôi · ${cause}${owner === null ? '' : ` của ${owner}`}`,
    joinedHead: (block, cause, owner) =>
      `block ${block} vào đầu · ${cause}${owner === null ? '' : ` của ${owner}`}`,
  },
  lost: ' · nó mất nội dung',
  empty: 'Hàng đợi trống: mọi block đều đang dùng. Lần cấp phát tiếp theo sẽ preempt một request.',
};

export const runs: Whole<typeof englishRuns> = {
  firstFit: 'first fit',
  largest: 'dài nhất',
  summary: (free, count) => `${n(free)} block trống trong ${n(count)} dải`,
  range: (first, last) => (first === last ? n(first) : `${n(first)} – ${n(last)}`),
  run: (length) => `${n(length)} block liền nhau`,
  empty: 'Không còn dải trống: mọi block đã được giữ trước. Request tiếp theo phải chờ.',
};
