/** Năm ghi chú của lần xem đầu: `wording/tour.ts` in Vietnamese. */

import type { tour as english } from '../tour';
import type { Whole } from '../whole';

export const tour: Whole<typeof english> = {
  notes: {
    bar: [
      'Khung nhìn có đồng hồ riêng',
      'Phím Space tạm dừng, phím . và , đi từng bước, End theo đầu trực tiếp. Trong lúc đó engine vẫn chạy. Đèn bên phải xanh khi trang này đã tự tính lại mọi bản ghi và thấy đúng.',
    ],
    map: [
      'Mọi block của KV cache',
      'Mỗi ô là một block, màu là trạng thái; ô vừa thay đổi thì sáng lên. Bấm vào ô để chọn; w và s để phóng to, thu nhỏ, f để đưa nó vào khung nhìn.',
    ],
    tables: [
      'Ai đang giữ block nào',
      'Mỗi hàng là một chuỗi đang chạy, mỗi thẻ là một block của nó, theo thứ tự. Màu tím là dùng chung, kèm số nơi đang giữ. Trỏ vào một block ở bất kỳ đâu, nó sáng lên ở mọi nơi.',
    ],
    timeline: [
      'Tất cả những gì đã xảy ra',
      'Bộ nhớ đang dùng và số token theo từng bước, cùng các lần loại bỏ, sao chép và preempt. Kéo để lùi thời gian; n đến mốc tiếp theo.',
    ],
    inspector: [
      'Mọi điều về thứ đang được chọn',
      'Nội dung, nơi giữ và tiểu sử của một block, hoặc một request đã làm gì và vì sao phải chờ. ? liệt kê mọi phím, Ctrl+K tìm lệnh theo tên.',
    ],
  },
  label: 'Giới thiệu',
  of: (at, count) => `${at} trên ${count}`,
  next: 'Tiếp',
  back: 'Lùi',
  done: 'Xong',
  skip: 'Bỏ qua',
};
