/** Tên các khung: `panels` of the catalogue in Vietnamese. */

import type { English } from '../../text';
import type { Whole } from '../whole';

export const panels: Whole<English['panels']> = {
  tables: 'block table',
  scheduler: 'scheduler',
  playground: 'playground',
  map: 'bản đồ',
  tree: 'cây prefix',
  events: 'sự kiện',
  sql: 'sql',
  findings: 'phát hiện',
  queue: 'Free queue',
  runs: 'Dải trống',
  waiting: 'Đang chờ',
  timeline: 'Dòng thời gian',
  block: 'Block',
  request: 'Request',
  session: 'Phiên',
  left: 'Block table, scheduler và playground',
  centre: 'Bản đồ và danh sách',
  inspector: 'Chi tiết',
  biography: 'Tiểu sử',
  story: 'Diễn biến',
};
