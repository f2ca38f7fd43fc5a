/** Các câu trả lời cho *vì sao*: `wording/why.ts` in Vietnamese. */

import type { Whole } from '../whole';
import type { why as english } from '../why';

export const why: Whole<typeof english> = {
  gone: 'Máy chủ không trả lời: nó có đang chạy không?',
  ended: 'Câu hỏi đã bị dừng.',
  noSession: 'Chưa mở phiên nào.',
  notInPage:
    'Trang này không có câu trả lời cho câu hỏi ấy: chỉ có những câu đã được trả lời lúc xuất trang. Với chính bản ghi, `kvarium why` trả lời được tất cả.',
};
