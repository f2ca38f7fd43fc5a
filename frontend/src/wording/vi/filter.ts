/** Bộ lọc sự kiện: `wording/filter.ts` in Vietnamese. */

import type { Fault, Field } from '../../filter/filter';
import type { filter as english } from '../filter';
import type { Whole } from '../whole';

const OF: Readonly<Partial<Record<Field, string>>> = {
  op: 'thao tác',
  decision: 'quyết định',
  cause: 'nguyên nhân',
};

function why({ why, said, field, nearest }: Fault): string {
  const meant = nearest === undefined ? '' : `; ý bạn là ${nearest}?`;
  switch (why) {
    case 'field':
      return `“${said}:” — không có trường này${meant}`;
    case 'name':
      return `“${field}:${said}” — không có ${OF[field!]} này${meant}`;
    case 'number':
      return `“${said}” không phải là số hay khoảng số: 42, 40..50, 40.., ..50${field === 'block' ? ', hoặc 42#3 cho một vòng đời' : ''}`;
    case 'time':
      return `“${said}” không phải là thời điểm: 12.5s, 3m, +1:02, hoặc giờ thực 14:03:10; một khoảng có hai dấu chấm`;
    case 'hex':
      return `“${said}” không phải là phần đầu của một hash: các chữ số thập lục phân của nó, nhiều nhất 64`;
    case 'order':
      return `“${said}” kết thúc trước khi bắt đầu`;
    case 'generation':
      return `“${said}”: chỉ một block đơn lẻ mới có vòng đời, như 42#3`;
    case 'empty':
      return field === undefined ? 'Ở đây còn thiếu' : `“${field}:” — là gì? Hãy gõ một giá trị`;
    case 'quote':
      return 'Dấu ngoặc kép bao cả giá trị; ở bên trong thì viết là \\"';
    case 'open':
      return 'Dấu ngoặc kép này chưa đóng';
  }
}

export const filter: Whole<typeof english> = {
  label: 'Bộ lọc sự kiện',
  placeholder: 'op:evict  owner:r17  block:42#3  step:100..200 …',
  clear: 'Xóa bộ lọc',
  fault: (fault) => `Ở ký tự ${fault.at + 1}: ${why(fault)}`,
  recent: 'đã dùng trước đây',
  offers: 'Có thể viết gì ở đây',
  fields: {
    op: 'điều xảy ra với một block: allocate, evict …',
    decision: 'điều được quyết định về một request: preempted, admitted …',
    cause: 'vì sao nó xảy ra: allocate, prefix_hit, finished …',
    block: 'một block, một khoảng, hoặc một vòng đời: 42, 40..50, 42#3',
    owner: 'request mà nó phục vụ: r17, r17.1, tên của request, none',
    seq: 'số của một chuỗi',
    content: 'số của một nội dung',
    hash: 'phần đầu hash của một nội dung: ab12',
    step: 'một bước hoặc một khoảng: 100, 100..200, 100..',
    record: 'một bản ghi hoặc một khoảng bản ghi',
    time: '12.5s, 3m của phiên; 14:03:10 theo giờ thực',
  },
  keys: '↑ ↓ chọn · ↵ hoặc ⇥ lấy · - trước một vế để loại trừ · dấu phẩy: bất kỳ giá trị nào',
};
