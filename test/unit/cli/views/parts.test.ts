import { expect, test } from 'vitest';
import { partLine } from '../../../../src/cli/views/parts.ts';

test('each step of a flow node or fleet member is shown as one line, and internal steps are not shown', () => {
  const line = (step: Omit<Parameters<typeof partLine>[0], 'n' | 'at' | 'part'>) =>
    partLine({ n: 1, at: '', part: 'ship', ...step });
  expect(line({ kind: 'entered' })).toBe('ship has started');
  expect(line({ kind: 'left', taken: ['a', 'b'] })).toBe('ship is done, continuing with a, b');
  expect(line({ kind: 'left', taken: [] })).toBe('ship is done');
  expect(line({ kind: 'failed', reason: '404' })).toBe('ship has failed: 404');
  const until = '2026-11-24T14:50:37.123Z';
  expect(line({ kind: 'parked', waiting_for: 'approval', until })).toBe(
    'ship waits for approval until 2026-11-24T14:50:37Z',
  );
  expect(line({ kind: 'parked', waiting_for: 'time', until })).toBe('ship waits until 2026-11-24T14:50:37Z');
  expect(line({ kind: 'again', reason: '503', until })).toBe(
    'ship has failed and is retried at 2026-11-24T14:50:37Z: 503',
  );
  expect(line({ kind: 'turn', turn: 2 })).toBe('ship: turn 2');
  expect(line({ kind: 'dropped' })).toBe('ship is no longer needed');
  expect(line({ kind: 'kept' })).toBeUndefined();
});
