/** Các phiên: `wording/sessions.ts` in Vietnamese. */

import { bytes, integer, span } from '../../format';
import type {
  exporting as englishExporting,
  formats as englishFormats,
  removal as englishRemoval,
  sessions as englishSessions,
  stage as englishStage,
  transfers as englishTransfers,
} from '../sessions';
import type { Whole } from '../whole';

const n = integer;

export const sessions: Whole<typeof englishSessions> = {
  unknown: (id) => `Ở đây không có phiên ${id}.`,
  unknownAdvice:
    'Có thể nó do một máy chủ khác ghi, hoặc được ghi vào một tệp khác. Đây là các phiên của máy chủ này:',
  title: 'Các phiên',
  count: (shown, all) => (shown === all ? n(all) : `${n(shown)} trên ${n(all)}`),
  loading: 'Đang hỏi máy chủ …',
  starting: 'Engine đang khởi động.',
  startingAdvice: 'Nó đang nạp model; màn hình tự mở ngay khi engine chạy.',
  empty: 'Chưa ghi được gì.',
  first: (server) => [
    {
      advice: 'Xem ngay phiên đầu tiên, với một model nhỏ và một màn hình riêng:',
      command: 'kvarium demo',
    },
    {
      advice: 'Hoặc nối một engine với máy chủ này, bằng token mà máy chủ đã in ra; nó tự xuất hiện ở đây:',
      command: `KVARIUM_ENGINE_TOKEN=… kvarium engine --connect ${server}`,
    },
  ],
  firstImport:
    'Hoặc thả vào bất kỳ đâu trên trang này một tệp kvarium mà ai đó gửi cho bạn: nó chỉ được đọc.',
  failed: 'Máy chủ không trả lời.',
  failedAdvice: (hasList) =>
    `${hasList ? 'Danh sách vẫn như lần cuối. ' : ''}Máy chủ có đang chạy không? Hãy khởi động nó, trang này sẽ tự tiếp tục:`,
  failedCommand: 'kvarium serve',
  unreadable: 'Không đọc được bản ghi.',
  unreadableBecause: (reason) =>
    `${reason}. Có thể một chương trình khác đang giữ nó, hoặc tệp đã mất; trang sẽ tự thử lại.`,
  unwritable: 'Lúc này không ghi được vào bản ghi.',
  unwritableBecause: (reason, whatToDo) =>
    `${reason}. Những gì engine gửi tạm thời được giữ trong bộ nhớ: ${whatToDo}.`,
  retry: 'Thử lại',
  columns: {
    session: 'phiên',
    state: 'trạng thái',
    usage: 'mức dùng',
    engine: 'engine',
    pool: 'pool',
    steps: 'bước',
    operations: 'thao tác',
    length: 'độ dài',
    stored: 'dung lượng',
    started: 'bắt đầu',
  },
  columnTitles: {
    session: 'Tên và ghi chú; theo tên',
    state: 'Các phiên trực tiếp đứng đầu',
    usage:
      'Pool đầy đến đâu qua các bước của phiên: các block đang dùng, và phía trên là các block trống còn nội dung',
    engine: 'Model, engine và thiết bị',
    pool: 'Số block × số slot mỗi block',
    steps: 'Số bước được ghi',
    operations: 'Số thao tác trên block; nhiều nhất trước',
    length: 'Từ bản ghi đầu tiên đến bản ghi cuối cùng',
    stored: 'Dung lượng trên đĩa; lớn nhất trước',
    started: 'Lúc engine bắt đầu; mới nhất trước',
  },
  acts: 'Xuất và xóa',
  sizes: (stored, sent) => `${stored} trên đĩa, đã nén; engine đã gửi ${sent}`,
  faults: (gaps, violations) =>
    [gaps > 0 ? `${n(gaps)} khoảng mất` : '', violations > 0 ? `${n(violations)} vi phạm` : '']
      .filter(Boolean)
      .join(', '),
  states: {
    live: 'trực tiếp',
    ended: 'đã kết thúc',
    interrupted: 'bị ngắt',
    waiting: 'mất kết nối, đang chờ',
  },
  imported: 'được nhập',
  importedFixed: 'Đây là tệp được nhập: nó chỉ được đọc',
  length: (ns) => span(ns),
  open: (name) => `Mở ${name}`,
  usage: (most, last) => `Mức dùng: cao nhất ${most.toFixed(0)} %, lúc cuối ${last.toFixed(0)} % của pool`,
  runner: (name) => `runner ${name}`,
  noStep: 'chưa có bước nào',
  search: 'Tìm phiên',
  searchPlaceholder: 'Tìm   /',
  noMatch: (words) => `Không phiên nào có “${words}” trong tên, ghi chú hay engine.`,
  showAll: (all) => `Hiện tất cả ${n(all)}`,
  renameOf: (name) => `Đổi tên ${name}`,
  renameTitle: 'Đặt tên khác (F2)',
  noteOf: (name) => `Ghi chú của ${name}`,
  noteTitle: (said, step) => `${said}\nBên bước ${n(step)}, trong bản ghi; bấm để sửa`,
  addNote: 'thêm ghi chú',
  addNoteTitle: 'Viết ghi chú: nó được giữ trong bản ghi, bên bước cuối cùng (n)',
  notePlaceholder: 'Phiên này có gì đáng biết?',
  noStepNote: 'Ghi chú đứng bên một bước, mà phiên này chưa có bước nào',
  moreNotes: (more) => `và ${n(more)} ghi chú nữa`,
  exportOf: (name) => `Xuất ${name}`,
  exportTitle: 'Một tệp chỉ có phiên này, cho kvarium hoặc chương trình khác (e)',
  removeOf: (name) => `Xóa ${name}`,
  removeTitle: 'Xóa khỏi đĩa (Delete)',
  liveStays: 'Nó đang được ghi: hãy kết thúc engine của nó trước',
  removed: (name, freed, reusable) =>
    `Đã xóa ${name}: trả lại ${bytes(freed)} cho đĩa${reusable > 0 ? `, ${bytes(reusable)} trong tệp của bản ghi để trống cho phần đến sau` : ''}.`,
  notChanged: 'Chưa có gì thay đổi: máy chủ không trả lời. Nó có đang chạy không?',
  import: 'Nhập một tệp …',
  importTitle:
    'Một tệp kvarium mà ai đó gửi cho bạn: nó được kiểm tra, giữ bên cạnh bản ghi, và chỉ được đọc. Hoặc thả nó vào bất kỳ đâu trên trang này',
  drop: 'Thả để nhập',
  dropAdvice: 'Một tệp kvarium có một phiên: nó được kiểm tra trước, vẫn là một tệp riêng, và chỉ được đọc.',
  noDrop: 'Ở đây không nhập được gì',
  keys: [
    { key: '↑ ↓', does: 'chọn' },
    { key: '↵', does: 'mở' },
    { key: '/', does: 'tìm' },
    { key: 'F2', does: 'đổi tên' },
    { key: 'n', does: 'ghi chú' },
    { key: 'e', does: 'xuất' },
    { key: 'Del', does: 'xóa' },
  ],
};

export const removal: Whole<typeof englishRemoval> = {
  title: (name) => `Xóa ${name}?`,
  what: (steps, operations, started, notes) =>
    `${steps} bước với ${operations} thao tác${notes > 0 ? ` và ${n(notes)} ghi chú` : ''}, được ghi từ ${started}.`,
  frees: (stored) => `Trả lại cho đĩa khoảng ${stored}.`,
  freesFile: 'Tệp của nó bên cạnh bản ghi sẽ mất. Tệp gốc mà nó được chép từ đó thì vẫn còn.',
  forGood: 'Không hoàn tác được.',
  exportFirst: 'Xuất trước đã …',
  keep: 'Giữ lại',
  remove: 'Xóa',
};

export const formats: Whole<typeof englishFormats> = {
  kvarium: { name: 'tệp kvarium', what: 'chỉ bản ghi; kvarium view mở nó ở bất kỳ đâu' },
  parquet: { name: 'Parquet', what: 'các bảng của SQL, cho DuckDB, pandas, Polars; một tệp ZIP' },
  jsonl: { name: 'JSONL', what: 'mỗi quyết định và thao tác một dòng, theo thứ tự' },
  perfetto: { name: 'trace cho Perfetto', what: 'các hàng và bộ đếm cho ui.perfetto.dev' },
  html: { name: 'trang HTML', what: 'mở từ đĩa và phát lại không cần máy chủ' },
};

export const exporting: Whole<typeof englishExporting> = {
  title: (name) => `Xuất ${name}`,
  format: 'Định dạng',
  steps: 'Các bước',
  from: 'từ',
  to: 'đến',
  wrongSteps: (last) => `các bước là 0 đến ${n(last)}, bước đầu không sau bước cuối`,
  text: 'Prompt và token',
  strips: { full: 'như đã được ghi', hash: 'bỏ đi; hash cho biết chỗ nào giống nhau', none: 'bỏ đi' },
  withText: 'Ai có tệp này đều đọc được những gì đã hỏi và trả lời.',
  withoutText: 'Tên của các request và ghi chú vẫn còn trong tệp: hãy để ý chúng nói gì.',
  soFar: 'Phiên đang trực tiếp: nó được xuất đến chỗ hiện có.',
  recorded: (stored) => `Bản ghi có ${stored}.`,
  cancel: 'Thôi',
  export: 'Xuất',
};

export const transfers: Whole<typeof englishTransfers> = {
  title: 'Các tệp đang chuyển',
  importOf: (name) => `Nhập ${name}`,
  exported: (name, format) => `${name} thành ${format}`,
  waiting: () => 'đang chờ tệp trước',
  making: (seconds) => `máy chủ đang viết … ${seconds} s`,
  checking: (seconds) => `máy chủ đang kiểm tra … ${seconds} s`,
  moving: (done, total, share) => `${done} trên ${total}, ${share}`,
  imported: 'Đã được nhận.',
  saved: (size) => `đã lưu, ${size}`,
  cancel: (name) => `Bỏ: ${name}`,
  gone: 'Máy chủ không trả lời: nó có đang chạy không? Chưa có kết quả gì.',
  givenUp: 'Đã bỏ.',
};

export const stage: Whole<typeof englishStage> = {
  opening: 'Đang mở phiên …',
  joining: 'Đang chờ trạng thái của engine …',
  seeking: (step) => `Đang tải bước ${n(step)} …`,
  noState: 'Phiên này không có bước nào.',
  failed: 'Không mở được phiên này.',
  back: 'Mọi phiên',
  cutOff: 'Tệp này không chứa một bản ghi trọn vẹn.',
  cutOffAdvice: 'Thiếu phần cuối: nó bị cắt, có lẽ trên đường đến đây. Hãy tải hoặc xuất lại.',
  linkLost: 'Mất kết nối với máy chủ. Trang tự thử lại; những gì đã tải vẫn xem được.',
  retryNow: 'Thử ngay',
  engineGone: 'Mất kết nối với engine: máy chủ đang chờ nó. Những gì nó đã làm đều được ghi.',
  wrongStep: (said) =>
    `Địa chỉ yêu cầu bước ${said}: bước là một số nguyên từ 0 trở lên. Phiên được mở mà không theo yêu cầu đó.`,
  wrongPart: (said) => `Địa chỉ có “${said}” mà trang này không có; trang hiện như thể địa chỉ không nói vậy`,
  wrongWish: (said) =>
    `Địa chỉ yêu cầu ${said}: text là none hoặc full, và rate là số từ 0.1 đến 60. Phiên được mở mà không theo yêu cầu đó.`,
  unreadable: (said) =>
    `Máy chủ trả lời điều mà trang này không đọc được: ${said === '' ? 'không có gì' : `“${said}”`}. Có phải nó thuộc phiên bản khác? Hãy tải lại trang.`,
  dismiss: 'Bỏ qua',
  newcomer: (name) => `Một phiên mới đang trực tiếp${name === '' ? '.' : `: ${name}.`}`,
  openIt: 'Mở phiên đó',
};
