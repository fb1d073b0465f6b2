import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadlines, type TimedEntry } from '../../../../../actors/base/time/deadlines.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

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
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const) }),
    fc.record({ do: fc.constant('renew' as const), which: fc.nat() }),
    fc.record({ do: fc.constant('delete' as const), which: fc.nat() }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 150 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      vi.clearAllTimers();
      const deadlines = new Deadlines<Wait>(100);
      const waits: Wait[] = [];
      /** Deadlines of the pending waits. */
      const pendingUntil = new Map<Wait, number>();
      const add = (wait: Wait) => {
        deadlines.add(wait, performance.now());
        pendingUntil.set(wait, performance.now() + 100);
      };
      const pass = (ms: number) => {
        vi.advanceTimersByTime(ms);
        for (const [wait, at] of pendingUntil) {
          if (at > performance.now()) {
            expect(wait.endedAt).toEqual([]);
            continue;
          }
          expect(wait.endedAt).toEqual([at]);
          pendingUntil.delete(wait);
        }
      };
      for (const one of steps) {
        const wait = 'which' in one ? waits[one.which % Math.max(1, waits.length)] : undefined;
        if (one.do === 'pass') pass(one.ms);
        else if (one.do === 'add') {
          const added = new Wait();
          waits.push(added);
          add(added);
        } else if (wait !== undefined) {
          deadlines.delete(wait);
          if (pendingUntil.delete(wait) && one.do === 'renew') add(wait);
        }
      }
      pass(101);
      expect(pendingUntil.size).toBe(0);
      pass(200);
      expect(waits.every(({ endedAt }) => endedAt.length <= 1)).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    }),
  );
});

test('a wait that expires may remove other waits and add new waits', () => {
  const deadlines = new Deadlines<Wait>(100);
  const [first, second, third, fresh] = [new Wait(), new Wait(), new Wait(), new Wait()];
  for (const wait of [first, second, third]) deadlines.add(wait, performance.now());
  first.whenExpired = () => {
    deadlines.delete(second);
    deadlines.add(fresh, performance.now());
  };
  vi.advanceTimersByTime(150);
  expect([first, second, third, fresh].map(({ endedAt }) => endedAt)).toEqual([[100], [], [100], []]);
  vi.advanceTimersByTime(50);
  expect(fresh.endedAt).toEqual([200]);
});

test('a wait that is added while others expire does not delay earlier deadlines', () => {
  const deadlines = new Deadlines<Wait>(100);
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
  const deadlines = new Deadlines<Wait>(100);
  const [first, second] = [new Wait(), new Wait()];
  for (const wait of [first, second]) deadlines.add(wait, performance.now());
  first.whenExpired = () => {
    throw new Error('a fault');
  };
  expect(() => vi.advanceTimersByTime(100)).toThrow('a fault');
  vi.advanceTimersByTime(100);
  expect(second.endedAt).toHaveLength(1);
});
