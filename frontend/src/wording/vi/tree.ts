/** Cây prefix: `wording/tree.ts` in Vietnamese. */

import { integer } from '../../format';
import type { tree as english } from '../tree';
import type { Whole } from '../whole';

const n = integer;

export const tree: Whole<typeof english> = {
  label: 'Cây prefix: những gì các block chứa, nằm dưới nội dung mà nó nối tiếp',
  columns: {
    text: 'văn bản',
    length: 'độ dài',
    below: 'block',
    copies: 'bản sao',
    hits: 'trúng',
    holders: 'nơi giữ / hàng đợi',
    idle: 'để không',
  },
  columnTitles: {
    text: 'Văn bản bắt đầu ra sao. Dải màu là trạng thái các block của nó: dùng chung, đang dùng, còn cache và trống.',
    length: 'Ở đây có bao nhiêu block nối tiếp nhau không rẽ nhánh',
    below: 'Các block chứa nó, hoặc chứa phần nối tiếp nó',
    copies: 'Các block chứa thứ mà một block khác cũng chứa',
    hits: 'Block đầu tiên của nó đã trúng bao nhiêu lần, từ khi được gắn nhãn nội dung này',
    holders: 'Các chuỗi đang giữ nó; nếu không ai giữ, có bao nhiêu block trong free queue bị lấy trước nó',
    idle: 'Số bước từ khi block cuối cùng của nó được giải phóng',
  },
  sort: 'Nhiều nhất trước',
  sorts: { tokens: 'token', blocks: 'block', hits: 'trúng', recency: 'độ mới' },
  sortTitles: {
    tokens: 'Theo số token của mọi nội dung bên dưới',
    blocks: 'Theo số block chứa chúng, kể cả bản sao',
    hits: 'Theo số lần trúng của block đầu tiên',
    recency: 'Thứ đang dùng trước, rồi đến thứ được giải phóng gần nhất',
  },
  sums: (contents, blocks) => `${n(contents)} nội dung trong ${n(blocks)} block`,
  unreachable: (count) => `${n(count)} không thể trúng`,
  unreachableTitle: 'Nội dung mà chúng nối tiếp đã bị loại: việc tra cứu dừng lại trước khi đến chúng',
  asOf: (step) => `tính đến bước ${n(step)}`,
  asOfTitle: 'Cây lớn thỉnh thoảng mới được dựng lại, trong khi trạng thái vẫn đi tiếp',
  find: 'Tìm theo phần đầu của prompt',
  findHint: 'prompt bắt đầu bằng …',
  findNoText: 'Phiên này không ghi văn bản',
  clear: 'Không tìm nữa',
  found: ({ blocks, met, isWhole, nodes, awaited }, typed, blockSize) => {
    if (nodes === 0)
      return awaited > 0
        ? `văn bản của ${n(awaited)} nội dung đang trên đường đến …`
        : 'Trong cache không có gì bắt đầu như vậy.';
    const whole =
      blocks === 0 ? 'chưa trọn block nào' : `${n(blocks)} block (${n(blocks * blockSize)} token)`;
    const rest = typed.trimStart().slice(met);
    const end = isWhole
      ? blocks === 0 || nodes > 1
        ? `, và đi tiếp ở ${n(nodes)} chỗ`
        : ', trọn vẹn'
      : `, rồi khác đi ở “${rest.slice(0, 18).replaceAll('\n', '⏎')}${rest.length > 18 ? '…' : ''}”`;
    return `khớp ${whole}${end}${awaited > 0 ? ' …' : ''}`;
  },
  ends: 'đi tiếp từ đây',
  differs: 'khác đi ở đây',
  rowBlocks: (row) => (row.length === 1 ? '' : `${n(row.length)} block`),
  unroll: (row) => (row.isUnrolled ? 'Hiện thành một hàng' : `Hiện từng block trong ${n(row.length)} block`),
  block: (row, blockSize) =>
    row.depth === 0
      ? `nội dung ${n(row.first)}`
      : `nội dung ${n(row.first)}: block ${n(row.depth)} của một prompt, token ${n((row.depth - 1) * blockSize)} đến ${n((row.depth + row.length - 1) * blockSize - 1)}`,
  open: 'Mở (→); mở hết bên dưới (*)',
  close: 'Đóng (←)',
  content: (content) => `nội dung ${n(content)}`,
  notRecorded: 'văn bản không được ghi',
  loading: '…',
  below: (row) => `${n(row.below)} block: ${n(row.held)} ở đây, ${n(row.below - row.held)} bên dưới`,
  states: ([cached, active, shared]) =>
    [
      shared > 0 ? `${n(shared)} dùng chung` : '',
      active > 0 ? `${n(active)} đang dùng` : '',
      cached > 0 ? `${n(cached)} trống, còn cache` : '',
    ]
      .filter(Boolean)
      .join(', '),
  copies: (row) => `${n(row.held)} block chứa thứ mà ${n(row.length)} block là đủ`,
  more: (count) => `+${n(count)}`,
  holding: (count) => n(count),
  holders: (labels, count) => `do ${labels}${count > 0 ? ` và ${n(count)} chuỗi nữa` : ''} giữ`,
  place: (rank) => (rank === 0 ? 'bị lấy tiếp theo' : `sau ${n(rank)} block`),
  placeTitle: (row) =>
    row.length === 1 && row.held === 1
      ? 'Chỗ trong free queue: có bao nhiêu block bị lấy trước nó'
      : 'Chỗ trong free queue của block bị lấy sớm nhất trong số đó',
  used: 'đang dùng',
  idle: (steps) => `${n(steps)} bước`,
  idleTitle: (step) => `Được giải phóng ở bước ${n(step)}`,
  earlier: 'trước đó',
  earlierTitle: 'Được giải phóng ở một bước mà trang này chưa tải',
  standing: {
    'cut off': 'không thể trúng',
    unreachable: 'không thể trúng',
    unknown: 'chưa tải nội dung cha',
  },
  standingTitles: {
    'cut off': 'Nội dung mà nó nối tiếp đã bị loại: việc tra cứu dừng lại trước khi đến nó',
    unreachable: 'Nội dung mà nó nối tiếp không thể trúng',
    unknown: 'Đang hỏi xem nội dung này nối tiếp nội dung nào',
  },
  asking: (count) => `Đang hỏi xem ${n(count)} nội dung nối tiếp nội dung nào …`,
  failed: (message) => `Không tải được các nội dung cha: ${message}.`,
  building: 'Đang dựng cây …',
  empty: 'Chưa có gì trong cache.',
  emptyAdvice: 'Một block đứng ở đây khi nó đầy và được gắn nhãn nội dung mà nó chứa.',
  off: 'Prefix caching đang tắt.',
  offAdvice:
    'Engine này được khởi động với --no-enable-prefix-caching: block đầy không được gắn nhãn, và không gì được tìm lại.',
  contiguous: 'Cache liền khối không có cây prefix.',
  contiguousAdvice: 'Mỗi chuỗi có một dải block riêng; không dùng chung gì, và không gì được tìm lại.',
};
