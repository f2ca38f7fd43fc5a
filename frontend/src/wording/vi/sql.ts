/** Khung SQL: `wording/sql.ts` in Vietnamese. The worked questions are docs/sql.md's, which the server tells. */

import { bytes, integer } from '../../format';
import type { sql as english } from '../sql';
import type { Whole } from '../whole';

const n = integer;

export const sql: Whole<typeof english> = {
  query: 'Truy vấn SQL',
  placeholder: 'SELECT … FROM block_event',
  questions: 'Câu hỏi có lời giải',
  question: 'câu hỏi',
  history: 'Các truy vấn trước đây',
  before: 'đã hỏi trước đây',
  noneBefore: 'Chưa hỏi gì',
  run: 'Chạy',
  runTitle: 'Hỏi bản ghi (Ctrl+Enter)',
  stop: 'Dừng',
  limit: 'Nhiều nhất bấy nhiêu dòng',
  rows: (rows) => `${n(rows)} dòng`,
  tables: 'các bảng',
  tablesTitle: 'Các bảng và cột của chúng',
  insert: (name) => `Đưa ${name} vào truy vấn`,
  guideFailed: (reason) => `Không lấy được danh sách bảng: ${reason}`,
  running: (seconds) => `đang chạy … ${n(seconds)} s`,
  gone: 'Máy chủ không trả lời: nó có đang chạy không?',
  count: (rows, isCut) => (isCut ? `${n(rows)} dòng đầu` : `${n(rows)} dòng`),
  took: (ms) => `${n(ms)} ms`,
  cut: (isMoreAllowed) =>
    isMoreAllowed ? 'còn nữa: hãy xin thêm dòng, hoặc dùng LIMIT' : 'còn nữa: hãy dùng LIMIT',
  cutTitle: 'Câu trả lời bị cắt ở số dòng đã yêu cầu, hoặc ở 16 MiB',
  none: 'Không có dòng nào.',
  limits: (seconds, memory) =>
    `Truy vấn chỉ đọc bản ghi này, không gì khác, trong nhiều nhất ${n(seconds)} s và ${bytes(memory)}; phiên trực tiếp thì đọc đến phần đã commit.`,
  sort: (column) => `Xếp theo ${column}`,
  copy: 'sao chép CSV',
  copied: 'đã sao chép',
  notCopied: 'Trình duyệt không cho trang này sao chép: hãy lưu thành CSV',
  csv: 'CSV',
  json: 'JSON',
  saveAs: (what) => `Lưu các dòng này thành ${what}`,
  goThere: (line, column) => `dòng ${n(line)}, cột ${n(column)}: đến đó`,
  links: {
    step: 'Đến bước này',
    op: 'Đến ngay sau thao tác này',
    block: 'Chọn block này',
    request: 'Chọn request này',
    sequence: 'Chọn chuỗi này',
  },
};
