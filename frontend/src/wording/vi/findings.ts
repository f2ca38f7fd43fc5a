/**
 * Danh sách phát hiện: `wording/findings.ts` in Vietnamese.
 *
 * Each sentence has the figures of the English one; what this page does not know stays in English.
 */

import { integer, percent } from '../../format';
import type { Evidence, Finding, Setting } from '../../store/generated/answers';
import type { findings as english } from '../findings';
import type { Whole } from '../whole';

const n = integer;
const share = (part: number): string => percent(part, 1);
const limit = (part: number): string => percent(part, 1, Number.isInteger(100 * part) ? 0 : 1);

type Measured = Readonly<Record<string, number>>;
type Said = (measured: Measured) => string;

const WHY_NEVER_HITS: Readonly<Record<string, Said>> = {
  off: () => 'prefix cache đang tắt',
  short: (m) => `phần ấy ngắn hơn một block ${n(m.block_size!)} slot, mà chỉ block đầy mới được cache`,
  other_key: () => 'mỗi request có cache salt hoặc LoRA riêng, nên token giống nhau vẫn là prefix khác nhau',
  evicted: (m) => `block đầu của chúng bị loại rồi được tính lại ${n(m.evicted_between!)} lần`,
};

function outOfMemory(m: Measured): string {
  const told: string[] = [];
  if (m.refused)
    told.push(`${n(m.refused)} request bị từ chối, lớn nhất cần ${n(m.needs!)} trên ${n(m.pool!)} block`);
  if (m.capacity)
    told.push(`${n(m.capacity)} request phải kết thúc vì một mình nó đã làm đầy pool ${n(m.pool!)} block`);
  if (m.failed) told.push(`forward của ${n(m.failed)} request không có đủ bộ nhớ`);
  return `hết bộ nhớ: ${told.join(', ')}`;
}

const TOLD: Readonly<Record<string, (finding: Finding) => string>> = {
  out_of_memory: ({ measured }) => outOfMemory(measured),
  thrashing: ({ measured: m }) =>
    `thrashing: ${n(m.requests!)} request đã tính lại ${n(m.again!)} token và chỉ được thêm ${n(m.gained!)} token giữa ${n(m.preemptions!)} cặp lần bị preempt`,
  evicted_then_wanted: ({ measured: m }) =>
    `bị loại rồi lại cần: ${n(m.blocks!)} block (${share(m.share!)} số block được gắn nhãn) được tính lại sau khi một lần cấp phát lấy chúng khỏi cache: ${n(m.tokens!)} token`,
  common_prefix_never_hits: (finding) => {
    const { measured: m, reason, told } = finding;
    const why = WHY_NEVER_HITS[reason ?? ''];
    if (why === undefined) return told;
    const others = m.groups! > 1 ? `; ${n(m.groups! - 1)} nhóm khác cũng vậy` : '';
    return `prefix chung không bao giờ trúng: ${n(m.requests_of_largest!)} request bắt đầu bằng cùng ${n(m.common_tokens!)} token, và không request nào tìm thấy token nào trong prefix cache: ${why(m)}${others}`;
  },
  slow_prompts: ({ measured: m }) =>
    `prompt dài chạy chậm khi tải hỗn hợp: ${n(m.prompts!)} trên ${n(m.of!)} prompt cần nhiều bước đã mất tổng cộng ${n(m.steps!)} bước, trong khi chỉ xét ngân sách thì ${n(m.steps_at_best!)} bước là đủ`,
  head_of_line_blocking: ({ measured: m }) =>
    `nghẽn đầu hàng: ${n(m.times!)} lần request đầu hàng thiếu block trong khi một request phía sau đã có thể vừa, tổng cộng ${n(m.steps!)} bước`,
  tail_waste: ({ measured: m }) =>
    `lãng phí ở đuôi: trung bình trong ${n(m.steps!)} bước, ${share(m.share!)} số slot đang dùng không được ghi, với block ${n(m.block_size!)} slot; với block ${n(m.block_size! / 2)} slot thì là ${share(m[`share_with_${m.block_size! / 2}`] ?? 0)}`,
  small_blocks: ({ measured: m }) =>
    `block nhỏ: ${n(m.allocated!)} block, mỗi block ${n(m.block_size!)} slot, đã được cấp phát cho ${n(m.tokens!)} token, và việc lập lịch chiếm ${share(m.schedule_share!)} thời gian của các bước`,
  oversized_reservations: ({ measured: m }) =>
    `giữ chỗ quá lớn: ${n(m.slots! - m.filled!)} trên ${n(m.slots!)} slot mà ${n(m.requests!)} request giữ chỗ (${share(m.unfilled_share!)}) không bao giờ được ghi`,
  unreachable: ({ measured: m }) =>
    `nhánh không tới được: ${n(m.blocks!)} trên ${n(m.cached!)} block được tính là cached không thể trúng, vì một block trước chúng đã bị loại`,
};

const EVIDENCE: Readonly<Record<string, Said>> = {
  thrashing: (m) =>
    `lại bị preempt vì r${m.victim_of}, ${n(m.steps!)} bước sau lần trước: ${n(m.again!)} token phải tính lại, được thêm ${n(m.gained!)}`,
  evicted_then_wanted: (m) =>
    `được tính lại, ${n(m.operations!)} thao tác sau khi bị loại ở op ${n(m.evicted_op!)}`,
  common_prefix_never_hits: (m) =>
    m.evicted_op === undefined
      ? `được đưa vào chạy với ${n(m.hit!)} trên ${n(m.tokens!)} token có trong prefix cache`
      : `block đầu của nó được tính lại: block ấy đã bị loại ở op ${n(m.evicted_op)}`,
  slow_prompts: (m) =>
    `${n(m.tokens!)} token của nó mất ${n(m.steps!)} bước (${n(m.ms!)} ms) trong khi ${n(m.steps_at_best!)} là đủ: nó được ${Math.round(100 * m.share!)} % ngân sách của các bước ấy, trong đó ${n(m.full_steps!)} bước hết ngân sách khi nó đang tính`,
  head_of_line_blocking: (m) =>
    `cần ${n(m.needs!)} block, đang trống ${n(m.free!)}: trong ${n(m.steps!)} bước có request phía sau đã có thể vừa, lúc đầu là r${m.fits} với prompt ${n(m.prompt_tokens!)} token`,
  out_of_memory: (m) => `bị từ chối: có thể cần ${n(m.needs!)} block, pool có ${n(m.has!)}`,
  tail_waste: (m) =>
    `${n(m.unused!)} trên ${n(m.slots!)} slot đang dùng không được ghi sau bước này, nhiều nhất trong mọi bước`,
  small_blocks: (m) =>
    `lập lịch ${m.schedule_ms!.toFixed(2)} ms bên cạnh forward ${m.forward_ms!.toFixed(2)} ms, cho ${n(m.tokens!)} token`,
  oversized_reservations: (m) =>
    `trả lại chỗ đã giữ gồm ${n(m.slots!)} slot, trong đó ${n(m.filled!)} đã được ghi`,
  unreachable: (m) =>
    `đang trống và giữ content ${n(m.content!)}, mà phần đầu của nó không block nào còn giữ`,
};

const LARGER = 'pool lớn hơn thì giữ được lâu hơn';
const FEWER = 'hoặc ít chuỗi cùng lúc hơn, để pool còn chỗ cho cache';

/** What sizes a pool: which of these it is depends on the engine, and what to do with it does not. */
const SIZES_POOL = ['num_gpu_blocks_override', 'gpu_memory_utilization', 'kv_cache_memory_bytes'];

/** By the kind, its reason where there are several, and the setting. */
const ADVICE: Readonly<Record<string, string>> = {
  'out_of_memory pool': 'nhiều hơn, để pool lớn hơn',
  'out_of_memory failed pool': 'pool nhỏ hơn: chính forward không có đủ bộ nhớ bên cạnh nó',
  'out_of_memory num_gpu_blocks_override': 'hoặc đặt thẳng một pool nhiều block hơn',
  'out_of_memory max_model_len': 'hoặc request ngắn hơn',
  'out_of_memory kv_cache_dtype': 'hoặc fp8: mỗi số một byte, cùng bộ nhớ chứa được nhiều token hơn',
  'thrashing max_num_seqs': 'ít chuỗi cùng lúc hơn: chuỗi nào chạy cũng cần block của nó',
  'thrashing pool': 'hoặc pool lớn hơn',
  'evicted_then_wanted pool': LARGER,
  'evicted_then_wanted max_num_seqs': FEWER,
  'common_prefix_never_hits off enable_prefix_caching': 'true',
  'common_prefix_never_hits off memory_backend': 'paged: bộ nhớ liền không chia sẻ được block nào',
  'common_prefix_never_hits short block_size': 'block nhỏ hơn, hoặc đặt phần khác nhau ra sau phần chung',
  'common_prefix_never_hits other_key cache_salt':
    'một salt chung cho tất cả những ai được dùng chung prefix',
  'common_prefix_never_hits evicted pool': 'pool lớn hơn giữ được nó đến request tiếp theo',
  'common_prefix_never_hits evicted max_num_seqs': FEWER,
  'slow_prompts max_num_batched_tokens':
    'nhiều token hơn mỗi bước: phần decode để lại là phần chunk của prompt',
  'slow_prompts max_num_seqs': 'hoặc ít chuỗi decode bên cạnh chúng hơn',
  'head_of_line_blocking max_num_batched_tokens': 'chunk nhỏ hơn: prompt dài khi ấy bắt đầu với ít block hơn',
  'head_of_line_blocking scheduling_policy': 'hoặc priority, cho request ngắn đi trước request dài',
  'head_of_line_blocking pool': 'hoặc pool lớn hơn',
  'tail_waste block_size': 'block nhỏ hơn: một chuỗi lãng phí ít hơn một block',
  'small_blocks block_size': 'block lớn hơn: 16, thì 16 token mới phải xin một lần',
  'oversized_reservations memory_backend': 'paged: cần block nào cấp block ấy',
  'oversized_reservations reserve': 'hoặc exact, khi đã biết độ dài',
  'unreachable pool': 'pool lớn hơn, một chuỗi bị loại ít hơn',
  'unreachable free_order': 'lru: khi ấy một chuỗi được giải phóng từ đuôi, và mất đuôi trước',
};

function advice({ kind, reason, measured }: Finding, { name, advice: english }: Setting): string {
  const which = reason ?? (kind === 'out_of_memory' && measured.failed! > 0 ? 'failed' : '');
  const outright = english === 'or a pool of more blocks outright';
  const called = SIZES_POOL.includes(name) && !outright ? 'pool' : name;
  return ADVICE[`${kind} ${which} ${called}`] ?? ADVICE[`${kind} ${called}`] ?? english;
}

/** A message of the engine is told as it came. */
function evidenceTold({ kind }: Finding, { measured, told }: Evidence): string {
  const said = Object.keys(measured).length === 0 ? undefined : EVIDENCE[kind];
  return said?.(measured) ?? told;
}

function gap(told: string): string {
  const lost = /^records (\d+) to (\d+), which are lost$/.exec(told);
  if (lost !== null) return `các bản ghi từ ${lost[1]} đến ${lost[2]}, đã bị mất`;
  const before = /^what came before record (\d+), with which the recording begins$/.exec(told);
  if (before !== null) return `những gì trước bản ghi ${before[1]}, là chỗ bản ghi bắt đầu`;
  return told === 'common prefixes: text is not recorded' ? 'prefix chung: văn bản không được ghi' : told;
}

export const findings: Whole<typeof english> = {
  look: 'Tìm lại',
  lookTitle: 'Đọc lại cả bản ghi, đến lúc này',
  first: 'Tìm',
  asking: (seconds) => `đang đọc cả bản ghi … ${n(seconds)} s`,
  cancel: 'Hủy',
  cancelled: 'Chưa tìm gì.',
  count: (findings) => `${n(findings)} phát hiện`,
  asOf: (step) => `tính đến bước ${n(step)}`,
  read: (steps, operations) => `${n(steps)} bước, ${n(operations)} thao tác`,
  grown: (steps) => `${n(steps)} bước từ đó`,
  failed: 'Không có được các phát hiện',
  status: (status) => `mã ${status}`,
  none: 'Không tìm thấy điều nào trong những điều đã tìm.',
  notRecorded: 'Không được ghi, nên không nói gì về:',
  faults: {
    'out of memory at gpu_memory_utilization': 'Hết bộ nhớ ở gpu_memory_utilization',
    'long prompts slow under mixed load': 'Prompt dài chạy chậm khi tải hỗn hợp',
    'prefix cache off, or prefixes too short, or evicted between':
      'Tỉ lệ trúng thấp: prefix cache tắt, prefix quá ngắn, hoặc bị loại giữa chừng',
    'many short requests at a small or large block size': 'Nhiều request ngắn với block size nhỏ hoặc lớn',
  },
  others: 'Lỗi khác',
  without: 'Đã tìm và không thấy:',
  from: 'tính là phát hiện từ',
  now: (value) => `hiện là ${value}`,
  evidence: (kept, all) => (kept < all ? `${n(kept)} mạnh nhất trên ${n(all)} sự kiện` : `${n(all)} sự kiện`),
  all: (count) => `cả ${n(count)}`,
  fewer: 'bớt',
  why: 'vì sao?',
  whyTitle: 'Hỏi vì sao',
  go: 'Đến đó',
  selectRequest: 'Chọn request này',
  selectBlock: 'Chọn block này',
  kinds: {
    out_of_memory: 'hết bộ nhớ',
    thrashing: 'thrashing',
    evicted_then_wanted: 'bị loại rồi lại cần',
    common_prefix_never_hits: 'prefix chung không bao giờ trúng',
    slow_prompts: 'prompt dài chạy chậm',
    head_of_line_blocking: 'nghẽn đầu hàng',
    tail_waste: 'lãng phí ở đuôi',
    small_blocks: 'block nhỏ',
    oversized_reservations: 'giữ chỗ quá lớn',
    unreachable: 'nhánh không tới được',
  },
  thresholds: {
    requests: (least) => `${n(least)} request`,
    preemptions: (least) => `${n(least)} lần bị preempt`,
    blocks: (least) => `${n(least)} block`,
    prompts: (least) => `${n(least)} prompt`,
    steps: (least) => `${n(least)} bước`,
    share: (least) => limit(least),
    times_as_many_steps: (least) => `gấp ${n(least)} lần số bước mà ngân sách cần`,
    full_steps_share: (least) => `hết ngân sách trong ${limit(least)} số bước ấy`,
    steps_in_one_wait: (least) => `${n(least)} bước của một lần chờ`,
    block_size_at_most: (most) => `block ${n(most)} slot hoặc nhỏ hơn`,
    schedule_share: (least) => `${limit(least)} thời gian của các bước`,
    unfilled_share: (least) => `${limit(least)} không bao giờ được ghi`,
    share_of_cached: (least) => `${limit(least)} số được tính là cached`,
  },
  measured: {
    refused: 'bị từ chối',
    capacity: 'kết thúc vì thiếu block',
    failed: 'forward thiếu bộ nhớ',
    preempted: 'lần bị preempt',
    needs: 'block cần, nhiều nhất',
    pool: 'block của pool',
    preemptions: 'lần bị preempt tốn hơn được',
    preemptions_in_all: 'tổng số lần bị preempt',
    requests: 'request',
    requests_of_largest: 'request bắt đầu giống nhau, nhiều nhất',
    again: 'token phải tính lại',
    gained: 'token được thêm',
    blocks: 'block',
    contents: 'content',
    labelled: 'block được gắn nhãn',
    share: 'tỉ lệ',
    tokens: 'token',
    groups: 'phần đầu chung',
    common_tokens: 'token chung',
    evicted_between: 'bị loại giữa chừng',
    block_size: 'block size',
    prompts: 'prompt chậm',
    of: 'trên số prompt dài',
    steps: 'bước',
    steps_at_best: 'bước, tốt nhất',
    times: 'lần',
    unused_mean: 'slot không được ghi, trung bình',
    slots_mean: 'slot đang dùng, trung bình',
    schedule_share: 'phần thời gian dành cho lập lịch',
    allocated: 'block được cấp phát',
    slots: 'slot giữ chỗ',
    filled: 'slot được ghi',
    unfilled_share: 'không bao giờ được ghi',
    cached: 'block được tính là cached',
    share_of_cached: 'tỉ lệ trong số đó',
  },
  shareWith: (size) => `tỉ lệ với block ${n(size)} slot`,
  told: (finding) => TOLD[finding.kind]?.(finding) ?? finding.told,
  evidenceTold,
  advice,
  gap,
};
