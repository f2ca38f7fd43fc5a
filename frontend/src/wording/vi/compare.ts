/** So sánh hai trạng thái: `wording/compare.ts` in Vietnamese. */

import { integer } from '../../format';
import type { compare as english } from '../compare';
import type { Whole } from '../whole';

const n = integer;

export const compare: Whole<typeof english> = {
  title: 'A so với B',
  marks: 'Các dấu để so sánh',
  set: (name) => `Đặt dấu ${name} ở bước của khung nhìn (⇧${name})`,
  goTo: (name) => `Đến dấu ${name}`,
  step: (step) => n(step),
  difference: 'khác biệt',
  show: 'Trạng thái ở A và B khác nhau những gì (c)',
  clear: 'Bỏ các dấu',
  close: 'Đóng',
  between: (from, to) => `bước ${n(from)} → ${n(to)}`,
  asking: 'Đang đọc cả hai trạng thái …',
  fault: (why) => `Không so sánh được: ${why}.`,
  unverified: 'Một trong hai trạng thái không khớp digest của nó: những gì nêu ở đây có thể sai.',
  kinds: { allocated: 'được cấp phát', freed: 'được giải phóng', cached: 'vào cache', evicted: 'bị loại' },
  kindTitles: {
    allocated: 'Đang dùng ở B, còn ở A thì không trong vòng đời này',
    freed: 'Đang dùng ở A, còn ở B thì không trong vòng đời này',
    cached: 'Ở B có một nội dung mà ở A không có',
    evicted: 'Ở A có một nội dung mà ở B không còn',
  },
  count: (count) => `${n(count)} block`,
  block: (block) => `block ${n(block)}`,
  request: 'request',
  gained: 'được thêm',
  lost: 'mất đi',
  firstBlock: 'block đầu trong số đó',
  noRequest: 'Không request nào được thêm hay mất block.',
  others: (count) => `và ${n(count)} request khác`,
  needsMarks: 'Hãy đặt dấu A và B trước',
};
