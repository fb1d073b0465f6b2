import { expect, test } from 'vitest';
import { partLine } from '../../../../src/cli/views/part-views.ts';

test('what becomes of a node or a member is told in a line, and what it keeps for itself in none', () => {
  const line = (step: Omit<Parameters<typeof partLine>[0], 'n' | 'at' | 'part'>) =>
    partLine({ n: 1, at: '', part: 'ship', ...step });
  expect(line({ kind: 'entered' })).toBe('ship has begun');
  expect(line({ kind: 'left', taken: ['a', 'b'] })).toBe('ship is done, and leads to a, b');
  expect(line({ kind: 'left', taken: [] })).toBe('ship is done');
  expect(line({ kind: 'failed', reason: '404' })).toBe('ship has failed: 404');
  const until = '2026-11-24T14:50:37.123Z';
  expect(line({ kind: 'parked', waiting_for: 'approval', until })).toBe(
    'ship waits for approval until 2026-11-24T14:50:37Z',
  );
  expect(line({ kind: 'parked', waiting_for: 'time', until })).toBe('ship waits until 2026-11-24T14:50:37Z');
  expect(line({ kind: 'again', reason: '503', until })).toBe(
    'ship has failed, and is tried again at 2026-11-24T14:50:37Z: 503',
  );
  expect(line({ kind: 'turn', turn: 2 })).toBe('ship: turn 2');
  expect(line({ kind: 'dropped' })).toBe('ship is not needed any more');
  expect(line({ kind: 'kept' })).toBeUndefined();
});
