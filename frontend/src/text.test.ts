import { expect, test } from 'vitest';
import { text } from './text';

test('the figures of a reason are of the step that told it', () => {
  const reason = { kind: 'waiting', op: 0, request: 1, reason: 'blocks', needs: 19, free: 17 } as const;
  expect(text.waiting({ ...reason, step: 42 })).toBe('needs 19 blocks; step 42 found 17 free');
  expect(text.waiting({ ...reason, needs: 1, free: 0, step: 42 })).toBe(
    'needs 1 block; step 42 found 0 free',
  );
  expect(text.waiting(reason)).toBe('needs 19 blocks, 17 free');
});
