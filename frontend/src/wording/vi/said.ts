/** Bên cạnh văn bản của một request: `wording/said.ts` in Vietnamese. */

import { integer } from '../../format';
import type {
  beams as englishBeams,
  ending as englishEnding,
  odds as englishOdds,
  said as englishSaid,
} from '../said';
import type { Whole } from '../whole';
import { stop } from './stop';

const n = integer;

export const said: Whole<typeof englishSaid> = {
  prompt: 'Prompt',
  tokens: (count) => `${n(count)} token`,
  loading: 'Đang tải văn bản …',
  notRecorded: 'Văn bản của phiên này không được ghi (--record-text none hoặc hash, hoặc --strip-text).',
  nothingYet: 'chưa có gì',
  missing: (count) => (count === null ? 'một số token không được ghi' : `${n(count)} token không được ghi`),
  cutAfter: (count) => `còn ${n(count)} token`,
  cutBefore: (count) => `${n(count)} token trước chỗ này`,
  idsTitle: 'Các token không có văn bản, theo id',
  dropped: 'đã kết thúc',
};

export const odds: Whole<typeof englishOdds> = {
  shade: 'tô theo xác suất',
  scale: ['≥ 50 %', '20', '5', '1', '< 1'],
  scaleTitle: 'Xác suất mà model dành cho từng token, trước các penalty và temperature',
  token: (token) => `token ${token}`,
  rank: (rank) => `hạng ${n(rank)}`,
  logprob: (token, logprob) => `token ${token} · logprob ${logprob.toFixed(3)}`,
  several: (count) => `token đầu trong ${count} token cùng viết nên ký tự này`,
};

export const ending: Whole<typeof englishEnding> = (reason, by) => `${reason}${stop(by)}`;

export const beams: Whole<typeof englishBeams> = {
  title: 'Các beam',
  live: (count, width) => `${n(count)} trên ${n(width)}`,
  noneLives: 'Ở bước này không beam nào còn sống.',
  of: (parent) => `từ ${parent}`,
  answers: 'Câu trả lời',
  found: (count, wanted) => `đã tìm được ${n(count)}, cần ${n(wanted)}`,
  noneFound: 'Chưa tìm được câu trả lời nào.',
  rank: (rank) => `${rank + 1}.`,
  score: (score) => score.toFixed(3),
  scoreTitle: 'Tổng log xác suất của các token, chia cho độ dài lũy thừa length penalty',
  row: (tokens, reason, step) =>
    `${tokens === null ? '' : `${n(tokens)} token · `}${reason} ở bước ${n(step)}`,
  rest: 'không nằm trong các câu trả lời',
  width: 'số beam',
  wanted: 'số câu trả lời',
};
