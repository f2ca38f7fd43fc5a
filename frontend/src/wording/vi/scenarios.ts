/** Lời của các bài học: `wording/scenarios.ts` in Vietnamese. */

import type { scenarios as english } from '../scenarios';
import type { Whole } from '../whole';

export const scenarios: Whole<typeof english> = {
  title: 'Bài học',
  explain:
    'Mỗi bài chạy trên một engine riêng, được ghi lại, và cho biết các con số có đúng như đã nêu hay không.',
  choose: 'Chọn bài học',
  run: 'Chạy',
  starting: 'Đang khởi động …',
  startingTitle: 'Engine của bài học đang khởi động',
  running: (title) => `Bài “${title}” đang chạy: mỗi lúc chỉ một bài.`,
  watch: 'Xem',
  none: 'Không liệt kê được các bài học.',
  why: (reason) => `Không thể chạy bài học ở đây: ${reason}.`,
  command: 'Trên máy có cài engine của kvarium, lệnh sau sẽ chạy bài này:',
  failed: (reason) => `Không khởi động được: ${reason}.`,
  noAnswer: 'máy chủ không trả lời',
  caption: 'Chú thích',
  of: (number, count) => `${number} trên ${count}`,
  next: 'Chú thích tiếp theo',
  previous: 'Chú thích trước',
  at: (step) => `bước ${step}`,
  atTitle: 'Đến bước ứng với chú thích này',
  before: 'Bài học bắt đầu. Chú thích sẽ xuất hiện ở từng bước.',
  language: 'Ngôn ngữ',
  languageTitle: 'Trang được tải lại, vẫn ở vị trí hiện tại',
};
