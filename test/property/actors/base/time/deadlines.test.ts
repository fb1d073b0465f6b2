// Lists of deadlines, whose entries have the same duration, on a simulated clock. Random steps add, renew and
// remove waits, and let time pass.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadlines, type TimedEntry } from '../../../../../actors/base/time/deadlines.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Duration of the waits in the list. */
const LIMIT_MS = 100;

/** Records its expirations. */
class Wait implements TimedEntry<Wait> {
  dueAt = 0;
  previous: Wait | undefined;
  next: Wait | undefined;
  readonly endedAt: number[] = [];
  whenExpired: () => void = () => {};

  expire(): void {
    this.endedAt.push(performance.now());
    this.whenExpired();
  }
}

test('each wait in a list of deadlines expires once, at its deadline, and never after its removal', () => {
  const anyStep = fc.oneof(
    fc.record({ do: fc.constant('add' as const) }),
    fc.record({ do: fc.constant('renew' as const), index: fc.nat() }),
    fc.record({ do: fc.constant('delete' as const), index: fc.nat() }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 150 }) }),
  );
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 100 }), (steps) => {
      vi.clearAllTimers();
      const deadlines = new Deadlines<Wait>(LIMIT_MS);
      const waits: Wait[] = [];
      /** Pending deadlines. */
      const deadlineOf = new Map<Wait, number>();
      const add = (wait: Wait) => {
        deadlines.add(wait, performance.now());
        deadlineOf.set(wait, performance.now() + LIMIT_MS);
      };
      const pass = (ms: number) => {
        vi.advanceTimersByTime(ms);
        for (const [wait, deadline] of deadlineOf) {
          if (deadline > performance.now()) {
            expect(wait.endedAt).toEqual([]);
            continue;
          }
          expect(wait.endedAt).toEqual([deadline]);
          deadlineOf.delete(wait);
        }
      };
      for (const step of steps) {
        const wait = 'index' in step ? waits[step.index % Math.max(1, waits.length)] : undefined;
        if (step.do === 'pass') pass(step.ms);
        else if (step.do === 'add') {
          const added = new Wait();
          waits.push(added);
          add(added);
        } else if (wait !== undefined) {
          deadlines.delete(wait);
          // Only a pending wait is renewed.
          if (deadlineOf.delete(wait) && step.do === 'renew') add(wait);
        }
      }
      pass(LIMIT_MS + 1);
      expect(deadlineOf.size).toBe(0);
      // No removed or expired wait expires later.
      pass(2 * LIMIT_MS);
      expect(waits.every(({ endedAt }) => endedAt.length <= 1)).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    }),
  );
});

test('a wait that expires may remove other waits and add new waits', () => {
  const deadlines = new Deadlines<Wait>(LIMIT_MS);
  const [first, second, third, added] = [new Wait(), new Wait(), new Wait(), new Wait()];
  for (const wait of [first, second, third]) deadlines.add(wait, performance.now());
  first.whenExpired = () => {
    deadlines.delete(second);
    deadlines.add(added, performance.now());
  };
  vi.advanceTimersByTime(150);
  expect([first, second, third, added].map(({ endedAt }) => endedAt)).toEqual([[100], [], [100], []]);
  vi.advanceTimersByTime(50);
  expect(added.endedAt).toEqual([200]);
});

test('a wait that is added while others expire does not delay earlier deadlines', () => {
  const deadlines = new Deadlines<Wait>(LIMIT_MS);
  const [first, second, late] = [new Wait(), new Wait(), new Wait()];
  deadlines.add(first, performance.now());
  vi.advanceTimersByTime(50);
  deadlines.add(second, performance.now());
  first.whenExpired = () => deadlines.add(late, performance.now());
  const startedAt = performance.now() - 50;
  vi.advanceTimersByTime(400);
  expect([first, second, late].map(({ endedAt: [at = 0] }) => at - startedAt)).toEqual([100, 150, 200]);
});

test('a wait whose callback throws does not block other waits', () => {
  const deadlines = new Deadlines<Wait>(LIMIT_MS);
  const [first, second] = [new Wait(), new Wait()];
  for (const wait of [first, second]) deadlines.add(wait, performance.now());
  first.whenExpired = () => {
    throw new Error('a fault');
  };
  expect(() => vi.advanceTimersByTime(100)).toThrow('a fault');
  vi.advanceTimersByTime(100);
  expect(second.endedAt).toHaveLength(1);
});
