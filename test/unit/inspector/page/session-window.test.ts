// Requests for visible sessions, with a simulated gateway and clock.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SessionWindow } from '../../../../src/inspector/page/tree/session-window.ts';
import type { SessionList, SessionRow } from '../../../../src/inspector/wire/feed.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const TOTAL = 10_000;
const ANSWER_MS = 10;

/** Gateway with the sessions 1 to TOTAL. The filter is a divisor of the session number. */
class FakeGateway {
  readonly asked: {
    readonly at: number;
    readonly from: number;
    readonly count: number;
    readonly filter: string;
  }[] = [];
  changes = 0;
  open = 0;
  mostOpen = 0;
  isDown = false;
  answerMs = ANSWER_MS;
  readonly window = new SessionWindow(
    (from, count, filter) => this.#answer(from, count, filter),
    () => {
      this.changes += 1;
    },
  );

  async #answer(from: number, count: number, filter: string): Promise<SessionList> {
    this.asked.push({ at: performance.now(), from, count, filter });
    this.open += 1;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    await new Promise((resolve) => setTimeout(resolve, this.answerMs));
    this.open -= 1;
    if (this.isDown) throw new Error('down');
    const step = filter === '' ? 1 : Number(filter);
    const matching = Math.floor(TOTAL / step);
    const length = Math.max(0, Math.min(count, matching - from));
    const sessions = Array.from(
      { length },
      (_, index) => ({ number: (from + index + 1) * step }) as SessionRow,
    );
    return { at: Date.now(), total: TOTAL, matching, from, sessions };
  }
}

const numbersIn = ({ window }: FakeGateway, first: number, last: number) =>
  Array.from({ length: last - first }, (_, index) => window.row(first + index)?.number);

describe('the visible sessions of the inspector', () => {
  test('are requested immediately, then every second, and no longer once hidden', async () => {
    const gateway = new FakeGateway();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(gateway.asked).toHaveLength(0);
    gateway.window.setRange('', { first: 0, last: 3 });
    await vi.advanceTimersByTimeAsync(ANSWER_MS);
    expect(numbersIn(gateway, 0, 3)).toEqual([1, 2, 3]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(gateway.asked.length).toBe(4);
    gateway.window.setRange('', undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(gateway.asked.length).toBe(4);
    expect(vi.getTimerCount()).toBe(0);
    expect(numbersIn(gateway, 0, 1)).toEqual([undefined]);
  });

  test('show no rows of the previous filter after a change, but the previous count until the response arrives', async () => {
    const gateway = new FakeGateway();
    gateway.window.setRange('2', { first: 0, last: 2 });
    await vi.advanceTimersByTimeAsync(1_000);
    gateway.window.setRange('5', { first: 0, last: 2 });
    expect([gateway.window.matching, gateway.window.indexOf(4)]).toEqual([TOTAL / 2, undefined]);
    expect(numbersIn(gateway, 0, 2)).toEqual([undefined, undefined]);
    await vi.advanceTimersByTimeAsync(100);
    expect(gateway.window.matching).toBe(TOTAL / 5);
    expect(numbersIn(gateway, 0, 2)).toEqual([5, 10]);
    expect([gateway.window.indexOf(10), gateway.window.indexOf(7)]).toEqual([1, undefined]);
  });

  test('stay unchanged while the gateway is unreachable, with a retry every two seconds', async () => {
    const gateway = new FakeGateway();
    gateway.window.setRange('', { first: 0, last: 2 });
    await vi.advanceTimersByTimeAsync(100);
    gateway.isDown = true;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(gateway.asked.length).toBeLessThanOrEqual(2 + 10);
    expect(numbersIn(gateway, 0, 2)).toEqual([1, 2]);
    gateway.isDown = false;
    const before = gateway.window.at;
    await vi.advanceTimersByTimeAsync(2_100);
    expect(gateway.window.at).toBeGreaterThan(before);
  });

  test('are complete after any scrolling, with few requests, one at a time', async () => {
    const move = fc.record({
      first: fc.nat(TOTAL + 50),
      size: fc.integer({ min: 0, max: 400 }),
      filter: fc.constantFrom('', '2', '7', '5000'),
      pauseMs: fc.nat(40),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(move, { minLength: 1, maxLength: 40 }),
        fc.constantFrom(1, 10, 300),
        async (moves, answerMs) => {
          const gateway = new FakeGateway();
          gateway.answerMs = answerMs;
          for (const { first, size, filter, pauseMs } of moves) {
            gateway.window.setRange(filter, { first, last: first + size });
            await vi.advanceTimersByTimeAsync(pauseMs);
          }
          await vi.advanceTimersByTimeAsync(2 * answerMs + 100);
          const { first, size, filter } = moves.at(-1) ?? { first: 0, size: 0, filter: '' };
          const step = filter === '' ? 1 : Number(filter);
          const matching = Math.floor(TOTAL / step);
          const last = Math.max(first, Math.min(first + Math.min(size, 200), matching));
          const expected = Array.from({ length: last - first }, (_, index) => (first + index + 1) * step);
          expect(numbersIn(gateway, first, last)).toEqual(expected);
          expect(gateway.window.matching).toBe(matching);
          expect(gateway.mostOpen).toBe(1);
          for (const { count } of gateway.asked) expect(count).toBeLessThanOrEqual(200);
          const gaps = gateway.asked.slice(1).map(({ at }, index) => at - (gateway.asked[index]?.at ?? at));
          expect(Math.min(...gaps, 50)).toBeGreaterThanOrEqual(50);
          gateway.window.setRange('', undefined);
          await vi.advanceTimersByTimeAsync(answerMs);
          expect(vi.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });
});
