/** Các câu trả lời cho *vì sao*: `wording/why.ts` in Vietnamese. */

import { duration, integer } from '../../format';
import type { Whole } from '../whole';
import type { why as english } from '../why';

const n = integer;

export const why: Whole<typeof english> = {
  gone: 'Máy chủ không trả lời: nó có đang chạy không?',
  ended: 'Câu hỏi đã bị dừng.',
  noSession: 'Chưa mở phiên nào.',
  notInPage:
    'Trang này không có câu trả lời cho câu hỏi ấy: chỉ có những câu đã được trả lời lúc xuất trang. Với chính bản ghi, `kvarium why` trả lời được tất cả.',

  instead: (step) => `Xem câu trả lời gần nhất, của bước ${n(step)}`,
  insteadAny: 'Xem câu trả lời đang có',

  title: 'Vì sao',
  questions: 'Các câu hỏi',
  names: {
    evicted: 'bị đuổi',
    preempted: 'bị ngắt',
    waits: 'chờ',
    missed: 'trượt',
    memory: 'bộ nhớ',
    leaks: 'rò rỉ',
  },
  asks: {
    evicted: 'Vì sao block {life} bị đuổi khỏi cache?',
    evictedOp: 'Vì sao có lần đuổi này, operation {op}?',
    preempted: 'Vì sao {who} bị preempt?',
    waits: 'Vì sao {who} phải chờ?',
    missed: 'Vì sao prefix của {who} trượt cache?',
    memory: 'Bộ nhớ đi đâu?',
    leaks: 'Có gì bị rò rỉ không?',
  },
  ask: 'vì sao?',
  askTitle: 'Vì sao? Những gì bản ghi biết về nguyên nhân (y)',
  askOf: {
    evicted: 'Vì sao nó bị đuổi khỏi cache?',
    preempted: 'Vì sao nó bị preempt?',
    waits: 'Vì sao nó phải chờ?',
    missed: 'Vì sao prefix của nó trượt cache?',
    memory: 'Bộ nhớ đi đâu?',
    leaks: 'Có gì bị rò rỉ không?',
  },
  upTo: (step) => `lần cuối tính đến bước ${n(step)}`,
  after: (step) => `sau bước ${n(step)}`,
  asOf: (step) => `hỏi lúc bước ${n(step)}`,
  again: 'hỏi lại',
  againAt: (step) => `hỏi tại bước ${n(step)}`,
  close: 'Đóng câu trả lời',
  asking: (seconds) => `đang hỏi … ${n(seconds)} s`,
  stop: 'Dừng',
  notSo: 'Không phải vậy, hoặc không được ghi',
  tooMany: 'Quá nhiều câu hỏi cùng lúc',
  tooLong: 'Câu hỏi đã bị dừng',
  noAnswer: 'Không có câu trả lời',
  unknown: 'không được ghi',
  nobodyKnown: 'một request không được ghi',
  more: (count) => `${n(count)} nữa`,
  goThere: (step, op) => `Đến bước ${n(step)}, operation ${n(op)}, và chọn điều đã xảy ra ở đó`,
  goToRecord: (record) => `Đến bản ghi ${n(record)}`,
  place: (step, op) => `bước ${n(step)}, op ${n(op)}`,
  span: (count, ns) => `${n(count)} bước (${duration(ns)})`,

  eviction: {
    allocate: (needed) => `{who} lấy ${n(needed)} block trong bước này, và đây là một trong số đó.`,
    head: (needed) => `{who} lấy ${n(needed)} block trong bước này, và block này đứng đầu hàng đợi trống.`,
    reset: 'Prefix cache bị xóa.',
    failed_step: 'Lượt forward lẽ ra tính nội dung của nó đã hỏng.',
    unscheduled: 'Request của nó bị preempt ngay trong bước vừa xếp lịch cho nó.',
    otherwise: (cause) => `Nguyên nhân là ${cause}.`,
    when: 'lúc',
    lost: 'mất',
    content: (content) => `nội dung ${n(content)}`,
    asked: 'do ai',
    command: (name, by) => `${name}, bởi ${by}`,
    unnamed: 'một người không tên',
    queue: 'hàng đợi trống',
    length: (length) => `có ${n(length)} block`,
    first: 'block này đứng đầu',
    before: (before) => `${n(before)} block đứng trước nó`,
    taken: (taken) => `${n(taken)} trong số đó cũng bị lấy trong bước này`,
    passedOver: (count) => `${n(count)} bị bỏ qua`,
    queueTitle: (length, before) =>
      `Hàng đợi trống, đầu ở bên trái: ${n(length)} block, ${n(before)} đứng trước block này`,
    empty: (behind) => `${n(behind)} block sau nó không có nội dung: lấy một trong số đó thì không mất gì`,
    queueHead: 'đầu hàng',
    held: (content) => `giữ nội dung ${n(content)}`,
    heldNothing: 'không giữ gì',
    inUse: 'nó đang được dùng, không ở trong hàng đợi trống',
    idle: 'nằm không',
    idleSince: (operation) => `từ ${operation} của nó tại {at}`,
    hits: 'hit',
    hit: (times) => `${n(times)} lần trong đời này`,
    neverHit: 'không lần nào trong đời này',
    copies: 'còn trong',
    copiesTold: 'block {lives}: nên không mất gì',
    noCopy: 'không block nào khác: nó đã rời cache',
    wanted: 'lại cần đến',
    notWanted: (through) => `không ai, tính đến bản ghi ${n(through)}`,
    wantedBy: (times) => `${n(times)} lần:`,
    hows: { missed: 'trượt', computed: 'tính lại', hit: 'hit' },
    missed: 'bởi {who} tại {at}',
    resumed: 'khi nó chạy tiếp sau khi bị preempt',
    recomputed: 'được tính lại trong block {life} tại {at}',
    computed: 'bởi {who} trong block {life} tại {at}: nó đã trượt một block đứng trước',
    hitIn: 'bởi {who} trong block {life} tại {at}',
  },

  holders: {
    running: 'ai đang chạy',
    runs: 'ai đang chạy',
    requests: 'theo request',
    row: (held, alone) => `${n(held)} block, ${n(alone)} giữ riêng`,
    rowTitle: (held, entries, alone, unused) =>
      `${n(held)} block qua ${n(entries)} mục bảng; ${n(alone)} trong số đó không ai khác giữ, nên preempt nó thì chừng ấy được trả lại; ${n(unused)} slot trong đó chưa được ghi`,
    preempted: 'bị preempt ở đây',
    all: (count) => `Hiện tất cả ${n(count)}`,
  },

  preemption: {
    itself: (free, pool) =>
      `Chính nó cần thêm block, ${n(free)} trong ${n(pool)} còn trống, và đến lượt nó phải nhường.`,
    needed: (needs, free, pool) => `{who} cần ${n(needs)} block, và ${n(free)} trong ${n(pool)} còn trống.`,
    gotNone: (free, pool) =>
      `Nó bị preempt vì {who}, mà rốt cuộc không được block nào; ${n(free)} trong ${n(pool)} còn trống.`,
    policies: {
      fcfs: 'Đến trước phục vụ trước: request bắt đầu sau cùng phải nhường trước.',
      priority: 'Theo độ ưu tiên: request ít gấp nhất phải nhường trước.',
    },
    thrashes: (again, gained) =>
      `Nó thrash: từ lần preempt trước, nó tính lại ${n(again)} token mà chỉ được thêm ${n(gained)}.`,
    notThrashing: (again, gained) =>
      `không: từ lần preempt trước, nó tính lại ${n(again)} token và được thêm ${n(gained)}`,
    thrashing: 'thrash',
    cost: 'cái giá',
    lost: (tokens) => `mất ${n(tokens)} token đã tính`,
    gaveBack: 'block',
    entries: (entries, freed, released) =>
      `${n(entries)} mục bảng: ${n(freed)} block trở về, ${n(released)} còn được nơi khác giữ`,
    others: 'cùng nhường',
    earlier: 'trước đó',
    times: (times) => `${n(times)} lần:`,
    first: 'chưa lần nào',
    earlierOne: (lost) => `{at} vì {who}, mất ${n(lost)} token`,
    after: 'sau đó',
    resumed: (steps, hit, tokens) =>
      `chạy tiếp sau ${n(steps)} bước, tại {at}: ${n(hit)} trong ${n(tokens)} token vẫn còn trong prefix cache`,
    ended: (how, steps) => `${how} sau ${n(steps)} bước, tại {at}`,
    waits: 'vẫn chờ, đến hết phần được ghi',
  },

  wait: {
    blocks: (needs, free) => `Nó cần ${n(needs)} block, và ${n(free)} còn trống.`,
    fragmentation: (needs, free, largest) =>
      `Nó cần ${n(needs)} block liền nhau: dãy dài nhất trong ${n(free)} block trống có ${n(largest)}.`,
    budget: 'Số token của bước đã dùng hết.',
    max_num_seqs: 'Số sequence đang chạy đã đến mức cho phép.',
    behind: 'Nó đứng sau {who}.',
    otherwise: (reason) => `Nguyên nhân là ${reason}.`,
    none: 'Từ lúc nó chờ, không có nguyên nhân riêng nào được ghi.',
    loggedAt: 'nguyên nhân là như được ghi tại {at}',
    states: { waiting: 'được gửi đến', preempted: 'bị preempt' },
    sinceAt: (count) => `tại {at}, ${n(count)} bước trước`,
    ahead: 'trước nó',
    next: 'không ai: nó là người kế tiếp',
    head: 'đầu hàng',
    free: 'trống lúc này',
    tokens: 'token',
    sequences: 'sequence',
    blocksOf: (free, pool) => `${n(free)} trong ${n(pool)} block`,
    ofMost: (sequences, most) => `${n(sequences)} đang chạy, nhiều nhất ${n(most)}`,
    ofBudget: (tokens, budget) => `${n(tokens)} trong ${n(budget)} được tính trong bước này`,
    preempted: 'bị preempt',
    preemptedTold: '{who} trong bước này: bước như thế không nhận ai vào',
  },

  miss: {
    off: 'Prefix cache đang tắt: enable_prefix_caching là false.',
    shortAll: (size) => `Prompt của nó ngắn hơn một block ${n(size)} token: chỉ block đầy mới vào cache.`,
    short: (left, size) =>
      `${n(left)} token sau phần hit chưa đủ một block ${n(size)} token: chỉ block đầy mới vào cache.`,
    cap: (left) =>
      `Mọi block của nó đều ở trong cache. Block cuối, ${n(left)} token, vẫn phải tính: token cuối luôn được tính, và một block chỉ hit nguyên vẹn.`,
    evicted: 'Nó đã ở trong cache và bị đuổi: block {life}, block cuối cùng giữ nó, đã mất nó.',
    evictedUnknown: 'Nó đã ở trong cache, rồi bị mất.',
    unlabelled: 'Nó đang được tính: {who} giữ nó trong một block chưa đầy, mà chỉ block đầy mới vào cache.',
    other_key: 'Cùng những token ấy ở trong cache với {theirs}; request này có {own}.',
    diverges: (token) => `Trong cache là một văn bản khác: hai bên tách nhau ở token ${n(token)}.`,
    divergesUnknown: (hit) => `Sau ${n(hit)} token đầu của nó, cache chỉ biết một văn bản khác.`,
    never_seen: (hit) =>
      hit > 0
        ? `Chưa từng gặp: chưa có gì khác bắt đầu bằng ${n(hit)} token đầu của nó từng ở trong cache.`
        : 'Chưa từng gặp: chưa có gì bắt đầu như nó từng ở trong cache.',
    not_recorded:
      'Điều đó không được ghi: không biết gì đã ở trong cache trước khi bắt đầu ghi, hoặc trong khoảng trống.',
    admitted: 'được nhận',
    resumed: 'khi nó chạy tiếp sau khi bị preempt',
    hit: 'hit',
    ofTokens: (hit, tokens) => `${n(hit)} trong ${n(tokens)} token`,
    line: (hit, first, end, tokens) =>
      `Prompt: ${n(hit)} token hit, block bị trượt từ ${n(first)} đến ${n(end)}, trong ${n(tokens)}`,
    missed: 'trượt',
    block: (place, first, last) => `block ${n(place)} của nó: token ${n(first)} đến ${n(last)}`,
    nothing: 'không có gì lẽ ra tìm được',
    hash: 'hash',
    capped: 'nó kết thúc bằng token cuối, luôn phải tính: có hit cũng không được dùng',
    lost: 'mất',
    lostAt: (cause) => `{life} tại {at} (${cause})`,
    lostFor: (cause) => `{life} tại {at} (${cause}, cho {who})`,
    labelled: 'được gắn nhãn',
    kept: (count) => `${n(count)} bước trước đó`,
    whyEvicted: 'vì sao nó bị đuổi?',
    behind: 'phía sau',
    behindTold: (count) =>
      `${n(count)} block của nó vẫn ở trong cache: chỉ khi hit block này mới đến được đó`,
    filling: 'đang đầy dần',
    filled: (filled, size) =>
      `block {life} của {who}: ${n(filled)} trong ${n(size)} slot đã ghi, được gắn nhãn tại {at}`,
    otherKeys: 'khóa khác',
    noKeys: 'không có khóa thêm',
    key: { lora: 'LoRA', cache_salt: 'salt' },
    nearest: 'gần nhất',
    agrees: (agree, within) =>
      within > 0
        ? `giống nhau ${n(agree)} token; ${n(within)} token cuối trong đó, nằm giữa một block, thì vô ích`
        : `giống nhau ${n(agree)} token, đến đúng chỗ bắt đầu một block`,
    heldBy: 'lúc đó do block {life} giữ',
    gone: 'lúc đó đã mất',
    goneAt: 'lúc đó đã mất, tại {at}',
    labelledBy: 'được {who} gắn nhãn tại {at}',
    own: 'request này',
    cached: 'bản trong cache',
    from: (first) => `từ token ${n(first)}`,
    parts: (own, cached) => `token ${own} ở đây, ${cached} ở kia`,
    others: 'những lần khác',
  },

  memory: {
    told: (pool, used) => `${n(used)} trong ${n(pool)} block đang được dùng.`,
    unused: 'chưa ghi',
    unusedOf: (unused, slots, share) => `${n(unused)} trong ${n(slots)} slot đang dùng (${share})`,
    tails: (tails, reserved) => `trong ${n(tails)} block, ${n(reserved)} trong số đó trống hoàn toàn`,
    sharing: 'dùng chung',
    saves: (saved, entries, share) => `tiết kiệm ${n(saved)} trong ${n(entries)} block (${share})`,
    duplicates: 'trùng',
    duplicatesTold: (count) => `${n(count)} block giữ nội dung mà một block khác cũng giữ`,
    pins: 'pin',
    pinned: (pins, on) => `${n(pins)} pin trên ${n(on)} block`,
    nobody: 'Không request nào giữ block.',
  },

  leak: {
    none: 'Không có gì rò rỉ: mọi block đang dùng đều được giữ cho một request trong engine, hoặc bởi một pin.',
    some: (leaking, fresh, baseline) =>
      `${n(leaking)} block được giữ mà không cho ai, ${n(fresh)} trong số đó sau bước ${n(baseline)} chưa như vậy.`,
    used: 'đang dùng',
    usedThen: (used, pool, before, baseline) =>
      `${n(used)} trong ${n(pool)} block; ${n(before)} sau bước ${n(baseline)}`,
    baseline: 'mốc',
    baselineTold: (step) => `sau bước ${n(step)}; đánh dấu A nếu muốn mốc khác`,
    pins: 'pin',
    foreign: (pins) => `${n(pins)} pin của một engine khác: không phải rò rỉ`,
    violation: 'vi phạm',
    hows: {
      entry: 'mục bảng của những request không còn trong engine',
      pin: 'pin của những lần chép đã chạy',
      count: 'số đếm mà không có mục bảng hay pin nào ứng với nó',
    },
    entry: (position) => `mục ${n(position)} của {who}`,
    ofSequence: (sequence) => `sequence ${n(sequence)}`,
    old: 'đã có ở mốc',
    cut: (shown) => `chỉ kể ${n(shown)} cái đầu`,
  },
};
