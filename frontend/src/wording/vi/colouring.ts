/** Bản đồ được tô màu và xếp thứ tự ra sao: `wording/colouring.ts` in Vietnamese. */

import { integer } from '../../format';
import type { colouring as englishColouring, order as englishOrder } from '../colouring';
import type { Whole } from '../whole';

const n = integer;

export const order: Whole<typeof englishOrder> = {
  label: 'Sắp xếp bản đồ',
  title: 'Thứ tự của các block trên bản đồ (x)',
  names: { number: 'theo số', owner: 'theo chủ' },
};

export const colouring: Whole<typeof englishColouring> = {
  label: 'Tô màu bản đồ theo',
  title: 'Bản đồ được tô màu theo gì (v, V)',
  names: {
    state: 'trạng thái',
    refs: 'ref count',
    owner: 'chủ',
    recency: 'độ mới',
    hits: 'số lần trúng',
    queue: 'chỗ trong hàng đợi',
    depth: 'độ sâu prefix',
  },
  units: {
    refs: 'Ref count: block có bao nhiêu nơi giữ',
    recency: 'Số bước từ thao tác cuối cùng trên block',
    hits: 'Số lần prefix trúng nội dung mà block đang có',
    queue: 'Chỗ trong free queue, đầu hàng là 1',
    depth: 'Số block của prompt tính đến block này',
  },
  none: { refs: '0', recency: '', hits: '0', queue: 'ngoài hàng đợi', depth: 'không có nội dung' },
  unknown: 'không rõ',
  unknownTitle: {
    refs: '',
    recency: 'Không có thao tác nào trong các bản ghi ở đây, và chúng không lùi đủ xa',
    hits: '',
    queue: '',
    depth: 'Ở đây chưa biết nội dung của nó nối tiếp nội dung nào',
  },
  range: (from, to) => (to === null ? `${n(from)}+` : from === to ? n(from) : `${n(from)}–${n(to)}`),
  owners: {
    request: (request) => `r${request}`,
    others: (count) => `${n(count)} chủ khác`,
    free: 'trống',
    cached: 'trống, còn cache',
    pinned: 'không chuỗi nào',
    pinnedTitle: 'Có nơi giữ, nhưng không phải chuỗi nào: được ghim (pin)',
    title:
      'Request của nơi giữ đầu tiên của block. Có tám màu: các request đến liền nhau thì khác màu, request được chọn thì nổi bật.',
  },
  filter: (name, count) =>
    `${name}: ${n(count)} block. Bấm để chỉ làm sáng các block này, Shift+bấm để lấy một khoảng, Escape để hiện tất cả`,
};
