// How the page asks for the sessions in sight: against a gateway of a few lines, on a clock of the test's own.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SessionWindow } from '../../../../src/inspector/page/tree/session-window.ts';
import type { SessionList, SessionRow } from '../../../../src/inspector/wire/feed-wire.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const TOTAL = 10_000;
const ANSWER_MS = 10;

/** Sessions 1 to TOTAL; the filter is a number that divides theirs. */
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
    await new Promise((done) => setTimeout(done, this.answerMs));
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

describe('the sessions in sight', () => {
  test('are asked for at once, again every second, and not any more when nobody looks', async () => {
    const gateway = new FakeGateway();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(gateway.asked).toHaveLength(0);
    gateway.window.want('', { first: 0, last: 3 });
    await vi.advanceTimersByTimeAsync(ANSWER_MS);
    expect(numbersIn(gateway, 0, 3)).toEqual([1, 2, 3]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(gateway.asked.length).toBe(4);
    gateway.window.want('', undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(gateway.asked.length).toBe(4);
    expect(vi.getTimerCount()).toBe(0);
    expect(numbersIn(gateway, 0, 1)).toEqual([undefined]);
  });

  test('show nothing that has passed another filter, while its number stays until the new one is known (WI3)', async () => {
    const gateway = new FakeGateway();
    gateway.window.want('2', { first: 0, last: 2 });
    await vi.advanceTimersByTimeAsync(1_000);
    gateway.window.want('5', { first: 0, last: 2 });
    expect([gateway.window.matching, gateway.window.indexOf(4)]).toEqual([TOTAL / 2, undefined]);
    expect(numbersIn(gateway, 0, 2)).toEqual([undefined, undefined]);
    await vi.advanceTimersByTimeAsync(100);
    expect(gateway.window.matching).toBe(TOTAL / 5);
    expect(numbersIn(gateway, 0, 2)).toEqual([5, 10]);
    expect([gateway.window.indexOf(10), gateway.window.indexOf(7)]).toEqual([1, undefined]);
  });

  test('stay as they were while the gateway cannot be reached, which is tried every two seconds', async () => {
    const gateway = new FakeGateway();
    gateway.window.want('', { first: 0, last: 2 });
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

  test('are there once the scrolling ends, however it went, for one question at a time and few of them (WI1, WI2)', async () => {
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
            gateway.window.want(filter, { first, last: first + size });
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
          gateway.window.want('', undefined);
          await vi.advanceTimersByTimeAsync(answerMs);
          expect(vi.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });
});
