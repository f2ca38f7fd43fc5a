import { expect, test } from 'vitest';
import { canonical } from './links';

test('a link is written in one way, as an export writes it', () => {
  for (const [asked, written] of [
    ['findings', 'findings'],
    ['why/evicted?op=9920', 'why/evicted?op=9920'],
    ['why/evicted?step=7&generation=3&block=42', 'why/evicted?block=42&generation=3&step=7'],
    ['why/preempted?step=090&of=a+b%26c', 'why/preempted?of=a%20b%26c&step=90'],
    ['why/leaks?baseline=0&step=90', 'why/leaks?step=90'],
    ['why/leaks?baseline=10', 'why/leaks?baseline=10'],
    ['why/memory', 'why/memory'],
    ['blocks/7/operations', null],
    ['why/constructor', null],
  ] as const)
    expect(canonical(asked), asked).toBe(written);
});
