/** Điều khiển engine, và engine dừng ở đâu: `wording/control.ts` in Vietnamese. */

import { integer } from '../../format';
import type { Hit } from '../../ledger/generated/types';
import type { control as english } from '../control';
import type { Whole } from '../whole';

const where = ({ step, block, request }: Hit): string =>
  [`bước ${step}`, block == null ? '' : `block ${block}`, request == null ? '' : `r${request}`]
    .filter((each) => each !== '')
    .join(', ');

export const control: Whole<typeof english> = {
  runsTo: (step) => `engine chạy đến bước ${step}`,
  slow: (rate) => `≤ ${rate} bước/s`,
  slowTitle: 'Engine bị làm chậm: mỗi giây nó không chạy quá số bước này',
  stopped: (hit) => `engine dừng ở breakpoint ${hit.breakpoint}`,
  stoppedShort: (hit) => `breakpoint ${hit.breakpoint}`,
  stoppedAt: where,
  stoppedTitle: (hit, when) => `${when}\nđúng lần thứ ${hit.count} ở ${where(hit)}: đến đó`,
  open: 'breakpoint',
  openTitle: (count) =>
    count === 0
      ? 'Cho engine dừng khi có điều gì xảy ra, chạy đến một bước, hoặc chạy chậm'
      : `Đã đặt ${integer(count)} breakpoint: engine dừng lại, hoặc đánh dấu, khi gặp một breakpoint`,
  title: 'Engine dừng ở đâu',
  predicate: 'Dừng khi',
  placeholder: 'op:evict owner:r17   usage>90%   waiting>2s   violation …',
  clear: 'Xóa điều kiện',
  unchecked: (why) => `Chưa kiểm tra được. ${why}`,
  fault: (at, why) => `Ở ký tự ${at + 1}: ${why}`,
  offers: 'Có thể viết gì ở đây',
  keys: '↑ ↓ chọn · ↵ hoặc ⇥ lấy · dấu cách: và · or: hoặc · - loại trừ · ( )',
  hits: 'từ lần',
  hitsTitle: 'Nó dừng, hoặc đánh dấu, ở lần đúng này và ở mỗi bước về sau có lần đúng',
  mark: 'chỉ đánh dấu',
  markTitle: 'Một mốc trong bản ghi: engine vẫn chạy tiếp',
  set: 'đặt',
  none: 'Chưa đặt breakpoint nào.',
  list: 'Breakpoint',
  does: ({ mark }) => (mark ? 'đánh dấu' : 'dừng'),
  met: ({ count, hits }) => `gặp ${count ?? 0}×${(hits ?? 1) > 1 ? `, tính từ lần ${hits}` : ''}`,
  last: (hit) => `lần cuối ở ${where(hit)}`,
  lastTitle: 'Đến chỗ gặp nó lần cuối',
  enable: (when) => `Tìm ${when}`,
  remove: (when) => `Bỏ ${when}`,
  runTo: 'Chạy đến bước',
  go: 'chạy',
  rate: 'Số bước mỗi giây',
  unlimited: 'nhiều nhất có thể',
  slowDown: 'giới hạn',
  fullSpeed: 'không giới hạn',
  recordedTitle: 'Engine sẽ dừng ở đâu, lúc phiên này kết thúc',
  asking: 'Đang đọc bản ghi …',
  notTold: (why) => `Không lấy được: ${why}.`,
  noneRecorded: 'Không breakpoint nào được đặt.',
  notRecorded: 'không được ghi, vì văn bản không được ghi',
  off: 'đang tắt',
  again: 'đặt lại',
  againTitle: (session) => `Đặt nó cho engine của ${session}`,
  noTarget: 'Không engine nào nhận lệnh đang nối với máy chủ này',
  setAgain: (breakpoint, session) => `Đã đặt breakpoint ${breakpoint} cho engine của ${session}.`,
  like: 'Dừng ở sự kiện như thế này…',
  likeTitle: (predicate) => `Cho engine dừng, hoặc chỉ đánh dấu, khi ${predicate}`,
  likeShort: 'dừng…',
  noKind: 'engine không biết đến khoảng mất',
  conditions: {
    'hash:': 'nội dung có hash bắt đầu như vậy',
    'text:': 'nội dung, hoặc prompt mới đến, có văn bản bắt đầu như vậy',
    'usage>': 'pool đã dùng đến mức này: 0.9, 90%',
    'free<': 'số block trống ít hơn',
    'hit_rate<': 'prefix cache trúng ít hơn: 0.2, 20%',
    'waiting>': 'một request đã chờ lâu hơn: 2s, 250ms',
    'preempted>': 'một request bị preempt nhiều lần hơn',
    violation: 'bản sao thấy trạng thái bị sai',
  },
};
