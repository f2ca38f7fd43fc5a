/** Các mép của khung: `wording/sizes.ts` in Vietnamese. */

import type { sizes as english } from '../sizes';
import type { Whole } from '../whole';

export const sizes: Whole<typeof english> = {
  label: (panel) => `Kích thước của ${panel}`,
  title: 'Kéo để đổi kích thước; bấm đúp để trở về kích thước mặc định',
  panels: {
    left: 'cột bên trái',
    playground: 'playground',
    inspector: 'khung chi tiết',
    timeline: 'dòng thời gian',
    queue: 'free queue',
  },
};
