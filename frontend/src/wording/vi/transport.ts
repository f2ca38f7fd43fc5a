/** Đi lại của khung nhìn: `wording/transport.ts` in Vietnamese. */

import { clock, integer, moment } from '../../format';
import type {
  go as englishGo,
  landmarks as englishLandmarks,
  pace as englishPace,
  transport as englishTransport,
} from '../transport';
import type { Whole } from '../whole';

const n = integer;

/** Thời gian của phiên, và giờ thực. */
const both = (ns: number, startUtcUs: number): string =>
  `thời gian phiên ${clock(ns)} · giờ thực ${moment(startUtcUs + ns / 1000).slice(11)}`;

export const transport: Whole<typeof englishTransport> = {
  operationBack: 'Lùi một thao tác',
  operationOn: 'Tới một thao tác',
  stalled: 'đang tải',
  stalledTitle: 'Khung nhìn chờ các bản ghi đang trên đường đến; nó sẽ đi tiếp từ chỗ này',
  within: (done, of) => `thao tác ${n(done)} trên ${n(of)}`,
  withinTitle: (done, of, operation) =>
    done === 0
      ? `Bên trong bước, trước thao tác đầu tiên trong ${n(of)} thao tác: chỉ những gì đã quyết định trước đó có hiệu lực`
      : `Bên trong bước, sau thao tác ${n(operation)}: đã áp dụng ${n(done)} trên ${n(of)} thao tác`,
};

export const pace: Whole<typeof englishPace> = {
  title:
    'Khung nhìn phát nhanh đến đâu. “Như đã diễn ra” giữ đúng thời gian đã ghi, kể cả các quãng nghỉ; × là nhanh gấp bấy nhiêu lần, không ' +
    'nghỉ quá một giây; số bước và số thao tác mỗi giây thì không theo thời gian',
  groups: {
    recorded: 'như đã diễn ra',
    times: 'gấp bao nhiêu lần tốc độ đã ghi, bỏ bớt quãng nghỉ dài',
    steps: 'từng bước',
    operations: 'từng thao tác',
  },
  name: (pace) => {
    if (pace.kind === 'recorded') return 'như đã diễn ra';
    if (pace.kind === 'times') return `× ${pace.factor < 1 ? pace.factor : n(pace.factor)}`;
    return `${n(pace.rate)} ${pace.kind === 'steps' ? 'bước' : 'thao tác'}/s`;
  },
};

export const go: Whole<typeof englishGo> = {
  told: (reading, typed, extent) => {
    const { lastStep: step, lastRecord: record, lastOp: op, lastTime: ns, startUtcUs: utc } = extent;
    if (reading.kind === 'wrong') return go.wrong(reading.why, typed.trim(), { step, record, op, ns, utc });
    const { to } = reading;
    if (to.kind === 'step') return go.step(to.step);
    if (to.kind === 'operation') return go.operation(to.operation);
    return to.kind === 'record' ? go.record(to.record) : go.time(to.time, utc);
  },
  notInPart: (step, from, to) =>
    `Trang này không có bước ${n(step)}: nó giữ các bước từ ${n(from)} đến ${n(to)}.`,
  title: 'Đến một bước, thao tác, bản ghi hoặc thời điểm',
  here: (ns, startUtcUs) => `Khung nhìn đang ở ${both(ns, startUtcUs)}.`,
  forms: (step, record, op, ns, startUtcUs) =>
    [
      [String(step), 'một bước'],
      [`op ${op}`, 'ngay sau một thao tác, bên trong bước của nó'],
      [`r${record}`, 'một bản ghi'],
      [clock(ns), 'thời gian của phiên: có phần lẻ, đơn vị (12.5s, 3m) hoặc dấu cộng (+1:02)'],
      [
        moment(startUtcUs + ns / 1000).slice(11),
        'giờ thực, theo múi giờ của trình duyệt; phía trước có thể ghi ngày',
      ],
    ] as never,
  step: (step) => `bước ${n(step)}`,
  operation: (operation) => `thao tác ${n(operation)}`,
  record: (record) => `bản ghi ${n(record)}`,
  time: both,
  enter: '↵ để đến',
  wrong: (why, typed, last) => {
    switch (why) {
      case 'form':
        return `Không hiểu “${typed}”. Có thể viết một trong các dạng sau:`;
      case 'number':
        return `Bước là một số nguyên từ 0 đến ${n(Math.max(0, last.step))}. Thời điểm thì có đơn vị: 12.5s.`;
      case 'step':
        return `Bước cuối cùng là ${n(Math.max(0, last.step))}.`;
      case 'record':
        return `Bản ghi cuối cùng là ${n(Math.max(0, last.record))}.`;
      case 'operation':
        return last.op < 0 ? 'Chưa có thao tác nào.' : `Thao tác cuối cùng là ${n(last.op)}.`;
      case 'time':
        return `Phiên kết thúc lúc ${clock(last.ns)}.`;
      case 'clock':
        return `Phiên kéo dài từ ${moment(last.utc)} đến ${moment(last.utc + last.ns / 1000)}.`;
    }
  },
};

export const landmarks: Whole<typeof englishLandmarks> = {
  label: 'Các mốc',
  choose: 'Phím n và N đi đến những mốc nào',
  next: 'Mốc tiếp theo',
  previous: 'Mốc trước',
  kinds: {
    any: 'mọi mốc',
    evict: 'loại bỏ',
    copy: 'sao chép',
    preempted: 'preempt',
    refused: 'từ chối',
    violation: 'vi phạm',
    gap: 'khoảng mất',
    note: 'ghi chú',
  },
  counts: {
    evict: (count) => `${n(count)} lần loại bỏ`,
    copy: (count) => `${n(count)} lần sao chép`,
    preempted: (count) => `${n(count)} lần preempt`,
    refused: (count) => `${n(count)} request bị từ chối`,
    violation: (count) => `${n(count)} vi phạm`,
    gap: (count) => `mất ${n(count)} bản ghi`,
    note: () => 'ghi chú',
  },
  at: (what, step) => `${what} · bước ${n(step)}`,
  click: 'bấm để đến',
};
