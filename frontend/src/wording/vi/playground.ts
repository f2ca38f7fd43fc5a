/** Playground: `wording/playground.ts` in Vietnamese. The prompts that it offers stay: the models' own language is English. */

import { integer } from '../../format';
import { playground as english, type Part } from '../playground';
import type { Whole } from '../whole';

const n = integer;

const partOf = (request: number, part: Part): string =>
  part === 'best' ? `câu trả lời tốt nhất của r${request}` : `r${request}${part === 'first' ? '.0' : ''}`;

export const playground: Whole<typeof english> = {
  prompt: 'Prompt',
  placeholder: 'Viết một prompt. Ctrl+Enter để gửi, ↑ để lấy lại prompt trước.',
  system: 'System prompt',
  systemPlaceholder: 'Điều nói với model trước tiên (có thể để trống)',
  chat: 'chat template',
  chatTitle: 'Đặt prompt vào chat template của model, như lời của người dùng',
  follows: (request, part) => `tiếp theo ${partOf(request, part)}`,
  unfollow: 'Thay vào đó, bắt đầu một cuộc trò chuyện mới',
  titles: {
    n: 'Bao nhiêu chuỗi trả lời cùng một prompt; chúng dùng chung block. Với beam search: số câu trả lời',
    max_tokens: 'Số token nhiều nhất mà mỗi chuỗi lấy mẫu',
    temperature: '0: mỗi lần lấy token có xác suất cao nhất',
    top_k: 'Chỉ k token có xác suất cao nhất; 0: tất cả',
    top_p: 'Chỉ các token có xác suất cao nhất với tổng đạt p; 1: tất cả',
    min_p: 'Chỉ các token có xác suất ít nhất bằng mức này, so với token cao nhất; 0: tất cả',
    seed: 'Cùng seed thì cho cùng token; để trống: mỗi lần một seed khác',
    repetition_penalty: 'Lớn hơn 1: token đã có trong prompt và đầu ra bớt khả năng xuất hiện; 1: tắt',
    presence_penalty: 'Trừ vào logit của mỗi token đã có trong đầu ra; 0: tắt',
    frequency_penalty: 'Trừ vào logit của một token mỗi lần nó đã có trong đầu ra; 0: tắt',
    logit_bias: 'Cộng vào logit của token, từ −100 đến 100: id: số, cách nhau bằng dấu phẩy',
    stop: 'Các văn bản làm chuỗi kết thúc, mỗi dòng một văn bản; \\n là xuống dòng, \\t là tab',
    stop_token_ids: 'Các token id làm chuỗi kết thúc, cách nhau bằng dấu phẩy hoặc dấu cách',
    min_tokens: 'Trước khi đủ số token này, chỉ độ dài mới làm chuỗi kết thúc',
    ignore_eos: 'Đi tiếp đến token cuối, kể cả khi model muốn kết thúc',
    logprobs:
      'Cho biết xác suất của mỗi token được lấy, và của bấy nhiêu token có xác suất cao nhất; 0: chỉ token được lấy',
    beam_width: 'Ở mỗi bước giữ bấy nhiêu beam, theo xác suất của mọi token của chúng',
    length_penalty:
      'Điểm được chia cho độ dài lũy thừa số này: lớn hơn 0 thì ưu tiên câu trả lời dài, nhỏ hơn 0 thì ưu tiên câu ngắn',
    early_stopping:
      'Khi nào tìm kiếm kết thúc: khi có n câu trả lời (true), khi khó có câu tốt hơn (false), hoặc khi không thể có câu nào tốt hơn (never)',
    priority: 'Số nhỏ hơn thì chạy sớm hơn, nếu engine lập lịch theo độ ưu tiên',
    cache_salt: 'Với salt khác thì cùng các token lại là một prefix khác: không dùng chung gì với chúng',
    lora_name: 'Tên của adapter là một phần của hash các block; runner này không có tensor để thích ứng',
  },
  more: 'Lấy mẫu',
  reset: 'Đặt lại',
  resetTitle: 'Mọi ô trở về như lúc đầu',
  groups: {
    draw: 'Lấy mẫu ra sao',
    end: 'Khi nào kết thúc',
    beam: 'Beam search',
    told: 'Logprobs, hàng đợi và cache',
  },
  placeholders: {
    stop: 'mỗi dòng một văn bản',
    stop_token_ids: '13, 2',
    logit_bias: '42: -5, 7: 100',
    seed: 'tùy ý',
    logprobs: 'tắt',
    beam_width: 'tắt',
    cache_salt: 'không',
    lora_name: 'không',
  },
  earlyStopping: { '': 'false', true: 'true', never: 'never' },
  reasons: {
    drawsNothing: 'beam search không lấy mẫu, nó lấy các phần tiếp theo có xác suất cao nhất',
    notTaken: 'beam search không nhận',
    noBeams: 'chỉ khi có beam_width',
    noLogits: 'null runner không có logit',
    noAdapters: (runner) => `runner ${runner} không nạp adapter`,
    fcfs: 'engine này phục vụ theo thứ tự đến (đổi bằng --scheduling-policy priority)',
    noCache: 'engine này không có prefix cache',
  },
  rest: (fields, why) => `${fields.join(', ')}: ${why}.`,
  send: 'Gửi',
  sending: 'Đang gửi …',
  sendKey: 'Ctrl ↵',
  presets: 'Thử',
  presetNames: { samples: '3 mẫu', long: 'prompt dài', system: 'system prompt dùng chung' },
  presetTitles: {
    samples: 'Một prompt, ba câu trả lời: chúng dùng chung block của prompt, và sao chép block cuối khi ghi',
    long: 'Nhiều block cùng lúc, thành từng chunk nếu ngân sách token nhỏ',
    system: 'Gửi đi, đổi câu hỏi, gửi lại: lần thứ hai tìm thấy block của lần đầu',
  },
  rules: {
    whole: (low, high) => `số nguyên từ ${n(low)} đến ${n(high)}`,
    wholeFrom: (low) => `số nguyên, ít nhất là ${n(low)}`,
    between: (low, high) => `số từ ${low} đến ${high}`,
    atMost: (other, most) => `nhiều nhất là ${other} = ${n(most)}`,
    stops: (most, longest) => `nhiều nhất ${n(most)} văn bản, mỗi văn bản nhiều nhất ${n(longest)} ký tự`,
    ids: 'các token id cách nhau bằng dấu phẩy hoặc dấu cách',
    pairs: 'id: số, cách nhau bằng dấu phẩy, mỗi số từ −100 đến 100',
    temperature: 'số, 0 trở lên',
    topP: 'số lớn hơn 0 và nhiều nhất là 1',
  },
  mustBe: (field, rule, typed) => `${field} phải là ${rule}, không phải ${typed}.`,
  noPrompt: 'Hãy viết một prompt trước.',
  replay: 'Engine của phiên này đã kết thúc: không gửi gì cho nó được.',
  replayAdvice: 'Những gì đã gửi nằm ở block table, sự kiện và khung chi tiết.',
  notLinked: 'Engine không kết nối: những gì gửi lúc này sẽ bị từ chối.',
  held: 'Engine đang bị giữ: request chờ đến khi nó được thả.',
  noAnswer: 'Máy chủ không trả lời. Những gì bạn đã gõ vẫn còn đây.',
  refused: (why) => `Bị từ chối: ${why}.`,
  sent: 'Đã gửi',
  none: 'Những gì bạn gửi sẽ hiện ở đây, cùng block và văn bản của nó khi lớn dần.',
  abort: 'Hủy',
  followUp: (request, part) =>
    part === 'all' ? 'Hỏi tiếp' : part === 'best' ? 'Hỏi tiếp câu tốt nhất' : `Hỏi tiếp r${request}.0`,
  followUpTitle: (part) =>
    `Tiếp tục với ${part === 'all' ? 'cuộc trò chuyện này' : part === 'best' ? 'câu trả lời tốt nhất' : 'mẫu đầu tiên'}: token của nó, cùng các block, được dùng lại`,
  waitingForStep: 'đã gửi; sẽ xuất hiện cùng bước tiếp theo của engine',
  notHere: 'chưa có ở bước đang hiện',
  waits: (why) => `đang chờ: ${why}`,
  preempted: (why) => `bị preempt: ${why}`,
  prefill: (done, all) => `prefill ${n(done)} / ${n(all)}`,
  prefilling: 'prefill',
  decoding: 'đang decode',
  finished: (reason) => `đã xong${reason === null ? '' : ` · ${reason}`}`,
  aborted: 'bị hủy',
  blocks: (all, shared) =>
    shared === 0 ? `${n(all)} block` : `${n(all)} block: ${n(shared)} dùng chung, ${n(all - shared)} riêng`,
  tokens: (prompt, sampled) => `${n(prompt)} + ${n(sampled)} token`,
  rate: (rate) => `${rate < 100 ? rate.toPrecision(3) : n(rate)} token/s`,
  announce: (request, state) => `r${request}: ${state}`,
  samples: english.samples,
};
