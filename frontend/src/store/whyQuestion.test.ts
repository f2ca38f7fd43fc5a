import { expect, test } from 'vitest';
import { linkOf, ofStep, type Question, questionOf } from './whyQuestion';

const QUESTIONS: readonly (readonly [string, Question])[] = [
  ['evicted?op=9920', { kind: 'evicted', op: 9920 }],
  ['evicted?block=42&generation=3&step=90', { kind: 'evicted', block: 42, generation: 3, step: 90 }],
  ['preempted?of=r17', { kind: 'preempted', of: 'r17' }],
  ['waits?of=r17&step=0', { kind: 'waits', of: 'r17', step: 0 }],
  ['missed?of=a%26b+c', { kind: 'missed', of: 'a&b c' }],
  ['memory', { kind: 'memory' }],
  ['leaks?baseline=10&step=90', { kind: 'leaks', baseline: 10, step: 90 }],
];

test('a question and its link say the same', () => {
  for (const [link, question] of QUESTIONS) {
    expect(linkOf(question)).toBe(link);
    expect(questionOf(link)).toEqual(question);
  }
});

test('what is no question is none', () => {
  for (const link of [
    '',
    'findings',
    'constructor',
    'evicted',
    'evicted?op=1&step=2',
    'evicted?op=-1',
    'evicted?op=1&op=2',
    'evicted?generation=1',
    'preempted',
    'preempted?of=',
    'memory?of=r1',
    'memory?step=1e3',
    'leaks?baseline=ten',
  ])
    expect(questionOf(link), link).toBeNull();
});

test('a question is asked of another step, but for what an operation was', () => {
  expect(linkOf(ofStep({ kind: 'waits', of: 'r1', step: 3 }, 9))).toBe('waits?of=r1&step=9');
  expect(linkOf(ofStep({ kind: 'evicted', op: 3 }, 9))).toBe('evicted?op=3');
});
