/** Những gì không làm được: `wording/notice.ts` in Vietnamese. */

import { integer } from '../../format';
import type { notice as english } from '../notice';
import { landmarks } from './transport';

const n = integer;

export const notice: typeof english = (told) => {
  switch (told.kind) {
    case 'noStep':
      return `Không có bước ${n(told.step)}: bước cuối cùng là ${n(told.last)}.`;
    case 'noLandmark': {
      const what = told.of === 'any' ? 'mốc nào' : `mốc nào loại “${landmarks.kinds[told.of]}”`;
      return `Không có ${what} ${told.direction > 0 ? 'về sau' : 'trước đó'}.`;
    }
    case 'noChange':
      return told.direction > 0 ? 'Về sau không gì thay đổi nó.' : 'Trước đó không gì thay đổi nó.';
    case 'notSaved':
      return `${told.lost === 1 ? 'Bước cuối đã thấy ở đây' : `${n(told.lost)} bước cuối đã thấy ở đây`} không được lưu: máy chủ kết thúc trước đó. Bản ghi kết thúc ở bước ${n(told.last)}.`;
    case 'notLoaded':
      return `Không tải được bước ${n(told.step)}: ${told.why}.`;
    case 'noEarlier':
      return `Không tải được các bản ghi trước đó: ${told.why}.`;
    case 'noTable':
      return `Không tải được bảng các bước: ${told.why}.`;
    case 'noSearch':
      return `Không tìm được điều gì thay đổi nó: ${told.why}.`;
  }
};
