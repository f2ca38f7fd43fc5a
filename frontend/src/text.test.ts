import { expect, test } from 'vitest';
import { text } from './text';

test('the figures of a reason are of the step that told it', () => {
  const reason = { kind: 'waiting', op: 0, request: 1, reason: 'blocks', needs: 19, free: 17 } as const;
  expect(text.waiting({ ...reason, step: 42 })).toBe('needs 19 blocks, 17 were free at step 42');
  expect(text.waiting({ ...reason, needs: 1, free: 1, step: 42 })).toBe(
    'needs 1 block, 1 was free at step 42',
  );
  expect(text.waiting(reason)).toBe('needs 19 blocks, 17 free');
});
