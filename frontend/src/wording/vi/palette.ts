/** Bảng lệnh, và liên kết đến những gì đang hiện: `wording/palette.ts` in Vietnamese. */

import { integer } from '../../format';
import type { palette as englishPalette, share as englishShare } from '../palette';
import type { Whole } from '../whole';

const n = integer;

export const palette: Whole<typeof englishPalette> = {
  title: 'Các lệnh',
  hint: 'Một lệnh, “block 42”, một bước, thời điểm, request hoặc phiên',
  none: (typed) => `Ở đây không có gì tên là “${typed}”.`,
  noneAdvice: 'Hãy thử ít chữ hơn, “block 42”, số của một bước, hoặc một thời điểm của phiên như 12.5s.',
  recent: 'vừa dùng',
  found: (count) => `${n(count)} lệnh`,
  theme: 'Giao diện',
  themes: { dark: 'Giao diện tối', light: 'Giao diện sáng', system: 'Giao diện theo hệ thống' },
  language: 'Ngôn ngữ',
  speak: (name) => `Ngôn ngữ: ${name}`,
  colouring: (by) => `Tô màu bản đồ theo ${by}`,
  session: (name) => `Mở phiên ${name}`,
  sessionDetail: (state, steps) => `${state} · ${n(steps)} bước`,
  request: (request, name) => `Request r${request}${name === '' ? '' : ` ${name}`}`,
  block: (block) => `Block ${n(block)}: chọn và hiện nó trên bản đồ`,
  go: (to) => `Đến ${to}`,
  why: {
    noSession: 'hãy mở một phiên trước',
    notStopped: 'không breakpoint nào đang giữ engine',
    noControl: 'engine của phiên này không nhận lệnh',
    noCache: 'không có prefix cache để xóa',
    noChange: 'hãy chọn một block hoặc một request trước',
    noEvent: 'hãy bấm vào một sự kiện trong danh sách trước',
    noFilter: 'không khung nào đang hiện có bộ lọc',
    notHere: 'chỉ trong một phiên',
    noBlockSelected: 'hãy chọn một block trước',
    noRequestSelected: 'hãy chọn một request trước',
    nothingSelected: 'chưa chọn gì',
    isOpen: 'nó đang mở',
    noBlock: (count) => `pool có ${n(count)} block: 0 đến ${n(Math.max(0, count - 1))}`,
  },
};

export const share: Whole<typeof englishShare> = {
  copied: (step) =>
    step === null
      ? 'Đã sao chép liên kết: nó dẫn đến đầu trực tiếp của phiên này. Hãy tạm dừng trước để chia sẻ một bước.'
      : `Đã sao chép liên kết: nó dẫn đến bước ${n(step)}, cùng thứ đang chọn.`,
  title: 'Liên kết đến những gì đang hiện',
  refused: 'Ở đây không dùng được clipboard; hãy sao chép bằng Ctrl+C.',
  close: 'Đóng',
};
