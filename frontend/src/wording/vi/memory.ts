/** Bộ nhớ của thiết bị: `wording/memory.ts` in Vietnamese. */

import type { memory as english } from '../memory';
import type { Whole } from '../whole';

export const memory: Whole<typeof english> = {
  title: 'Bộ nhớ thiết bị',
  told: 'Theo số liệu của chính bộ cấp phát, lúc engine bắt đầu',
  shares: {
    weights: 'trọng số',
    kv_cache: 'KV pool',
    activations: 'activation',
    graphs: 'CUDA graph',
    other: 'khác',
    free: 'trống',
  },
  titles: {
    weights: 'Các tham số của model',
    kv_cache: 'Key và value: các block trên bản đồ',
    activations: 'Đỉnh mà bước lớn nhất cần, đo bằng một lần chạy thử lúc khởi động',
    graphs: 'Các bước decode được ghi thành CUDA graph',
    other: 'Mã của kernel, vùng làm việc của thư viện, và những ai khác dùng thiết bị này',
    free: 'Phần chưa ai dùng',
  },
  notTold: 'không được cho biết',
  total: 'tất cả',
  none: 'Không có: runner này không có tensor, block của nó chỉ là con số.',
  part: (name, size, share) => `${name}: ${size}, ${share}`,
};
