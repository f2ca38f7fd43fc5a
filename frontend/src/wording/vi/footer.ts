/** Dòng cuối trang: `wording/footer.ts` in Vietnamese. */

import { integer } from '../../format';
import type { footer as english } from '../footer';
import type { Whole } from '../whole';

const n = integer;

export const footer: Whole<typeof english> = {
  mirror: 'bản sao',
  verified: 'đã kiểm chứng',
  unverified: 'chưa kiểm chứng',
  waiting: 'đang chờ',
  wrong: 'SAI',
  atRecord: (record) => `tại bản ghi ${n(record)}`,
  engine: 'engine:',
  operations: 'thao tác',
  operationsTitle: 'Engine đang làm gì lúc này, dù khung nhìn ở đâu',
  lag: 'độ trễ',
  lagTitle: 'Từ lúc engine đóng một bản ghi đến trang này (hai đồng hồ phải khớp nhau)',
  less: 'yêu cầu:',
  noText: 'không có văn bản',
  rate: (rate) => `tối đa ${rate} lần mỗi giây`,
  lessTitle: 'Những gì địa chỉ trang này yêu cầu (text, rate); văn bản chỉ được tải khi có người xem',
  gaps: 'khoảng mất',
  hits: 'trúng prefix',
  hitsTitle: (hits, queries) =>
    `${n(hits)} trên ${n(queries)} token có trong prefix cache khi request bắt đầu chạy lần đầu`,
  ledger: 'ledger',
  ofStep: 'của một bước',
  recording: 'bản ghi',
  exported: (when, version) => `được xuất ${when} bởi kvarium ${version}`,
  answers: (held, of) => `${n(held)} trên ${n(of)} câu trả lời`,
  answersTitle: (kinds) =>
    `Các phát hiện và câu trả lời cho vì sao mà trang này có, được tạo lúc xuất trang: ${kinds}. Với chính bản ghi, kvarium why trả lời được phần còn lại.`,
  part: (from, to, last) => `bước ${n(from)} đến ${n(to)} trên ${n(last + 1)}`,
  sizeTitle: (file) =>
    `Dung lượng đã nén của phiên này${file === null ? '' : `; tệp cùng mọi thứ trong đó và nhật ký của nó: ${file}`}`,
  serverFault: 'máy chủ tính lại và thấy lỗi',
  recordingError: 'không được ghi',
  keys: 'phím tắt',
  clock: 'thời gian phiên',
};
