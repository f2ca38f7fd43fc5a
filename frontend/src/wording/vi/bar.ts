/** Thanh trên cùng: `wording/bar.ts` in Vietnamese. */

import { integer, percent } from '../../format';
import type { Doubt } from '../../worker/protocol';
import type { bar as englishBar, engine as englishEngine, light as englishLight } from '../bar';
import type { Whole } from '../whole';

const n = integer;

export const bar: Whole<typeof englishBar> = {
  live: 'trực tiếp',
  replay: 'phát lại',
  interrupted: 'bị ngắt',
  interruptedTitle: 'Bản ghi có engine hoặc máy chủ biến mất không lời báo: phần cuối có thể thiếu',
  engineAway: 'engine —',
  engineAwayTitle: 'Mất kết nối: không biết engine ra sao',
  linkLost: 'mất máy chủ',
  connecting: 'đang kết nối',
  engineGone: 'mất kết nối, đang chờ',
  engineGoneTitle: 'Engine mất kết nối với máy chủ; phiên sẽ kết thúc nếu nó không quay lại',
  behind: (steps) => `chậm ${n(steps)}`,
  first: 'Bước đầu tiên',
  back: 'Lùi một bước',
  forward: 'Tới một bước',
  pause: 'Tạm dừng khung nhìn',
  play: 'Phát',
  follow: 'bám theo',
  end: 'cuối',
  followTitle: 'Số bước chậm hơn đầu trực tiếp: bám theo',
  endTitle: 'Đến bước cuối cùng',
  step: 'bước',
  used: (part, whole) => `đã dùng ${percent(part, whole)}`,
  usageTitle: (active, shared, cached, free, usable) =>
    `đang dùng ${n(active)} · dùng chung ${n(shared)} · trống, còn cache ${n(cached)} · trống ${n(free)}\n` +
    `đã dùng = (đang dùng + dùng chung) ÷ ${n(usable)} block dùng được, theo cách đếm của vLLM`,
  engineRuns: 'engine đang chạy',
  engineHeld: 'engine bị giữ',
  hold: 'giữ',
  release: 'thả',
  stepEngine: 'bước engine',
  stepEngineTitle: 'Cho engine chạy một bước',
  holdTitle: 'Giữ chính engine lại, với mọi người đang xem',
  releaseTitle: 'Cho engine chạy tiếp',
  resetCache: 'xóa cache',
  resetCacheTitle: 'Xóa prefix cache: không block nào giữ lại nội dung. Chỉ khi không có block nào đang dùng',
  sessions: 'Mọi phiên',
  theme: (to) => `Dùng giao diện ${to === 'light' ? 'sáng' : 'tối'}`,
  keys: 'Phím tắt',
};

export const engine: Whole<typeof englishEngine> = {
  reset: (blocks) =>
    blocks === 0 ? 'Prefix cache vốn đã trống.' : `Đã xóa prefix cache: ${n(blocks)} block mất nội dung.`,
  notReset: (why) => `Prefix cache không được xóa: ${why}.`,
};

function why(doubt: Doubt | null): string {
  switch (doubt?.kind) {
    case 'unreadable':
      return 'có một bản ghi không đọc được';
    case 'slow':
      return `trang này quá chậm: bản ghi ${n(doubt.first)} đến ${n(doubt.last)} bị bỏ qua với nó`;
    case 'less':
      return `trang này yêu cầu ít hơn: bản ghi ${n(doubt.first)} đến ${n(doubt.last)} bị bỏ qua với nó`;
    case 'lost':
      return `mất bản ghi ${n(doubt.first)} đến ${n(doubt.last)}: ${doubt.why}`;
    default:
      return 'chưa tính bản ghi nào';
  }
}

export const light: Whole<typeof englishLight> = {
  green: 'đã kiểm chứng',
  grey: 'chưa kiểm chứng',
  red: 'lỗi',
  waiting: 'đang chờ bước đầu tiên',
  waitingTitle: 'Engine chưa làm gì: chưa có gì để kiểm chứng.',
  greenTitle: (record) =>
    `Trang này đã tự tính lại bản ghi ${n(record)}, và digest trùng với digest mà engine gửi.`,
  withinTitle: (step, record) =>
    `Bên trong bước ${n(step)}: trang này đã tính bản ghi ${n(record)} đến hết, digest trùng nhau, rồi hoàn tác phần phía sau vị trí này.`,
  greyTitle: (doubt) => `Ở đây chưa có gì được kiểm chứng: ${why(doubt)}.`,
  redTitle: (record, message) => `Tại bản ghi ${n(record)}: ${message}`,
  alarm: (record) => `Bản sao này bị sai từ bản ghi ${n(record)}.`,
  alarmAdvice: 'Không thể tin những gì hiển thị từ đó trở đi. Đèn giữ màu đỏ cho đến khi tải lại trang.',
};
