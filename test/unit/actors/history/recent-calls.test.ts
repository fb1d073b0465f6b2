// Recent calls: both rings in one list, compared with a list of all calls.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  callOutcomes,
  lineOf,
  parseLine,
  type RecordedCall,
} from '../../../../actors/history/call-record.ts';
import { RecentCalls } from '../../../../actors/history/recent-calls.ts';

const ALL = 4_096;
const NOTEWORTHY = 1_024;

const requestWith = (n: number, isFailure: boolean) => ({
  ms: 1,
  server: `server-${n % 3}`,
  tool: n % 2 === 0 ? 'even' : null,
  method: 'tools/call',
  outcome: isFailure ? ('tool' as const) : ('ok' as const),
  bytes: n,
  client: null,
  session: null,
  code: undefined,
  origin: { requestId: `request-${n}`, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` },
});

test('the list of recent calls contains the last calls, and older ones only if they failed', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 6_000 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 50, max: 900 }),
      (total, every, limit) => {
        const recent = new RecentCalls();
        const expected: number[] = [];
        for (let n = 1; n <= total; n += 1) recent.record(requestWith(n, n % every === 0));
        const failures = Array.from({ length: total }, (_, index) => index + 1).filter(
          (n) => n % every === 0,
        );
        const kept = new Set(failures.slice(-NOTEWORTHY));
        for (let n = total; n > 0; n -= 1) if (n > total - ALL || kept.has(n)) expected.push(n);
        const pages: number[] = [];
        let before: number | undefined;
        do {
          const { calls, nextBefore } = recent.list({ limit, before });
          pages.push(...calls.map(({ n }) => n));
          const details = calls.filter(({ requestId }) => requestId !== null).map(({ n }) => n);
          expect(details).toEqual(calls.map(({ n }) => n).filter((n) => kept.has(n)));
          before = nextBefore ?? undefined;
        } while (before !== undefined);
        expect(pages).toEqual(expected);
        const failed = recent.list({ limit: 9_999, outcomes: new Set(['tool']) }).calls.map(({ n }) => n);
        expect(failed).toEqual(expected.filter((n) => n % every === 0));
      },
    ),
    { numRuns: 12 },
  );
});

test('after a restore, recent calls are listed as before, and the call numbers continue', () => {
  const first = new RecentCalls();
  for (let n = 1; n <= 5_000; n += 1) first.record(requestWith(n, n % 7 === 0));
  const second = new RecentCalls();
  second.restore(first.allBetween(0, 5_000), first.noteworthyBetween(0, first.noteworthyCount));
  const everything = { limit: 9_999 };
  expect(second.list(everything)).toEqual(first.list(everything));
  second.record(requestWith(1, false));
  expect(second.list({ limit: 1 }).calls[0]?.n).toBe(5_001);
});

test('a slow call keeps its request id and trace, and is found by the filter for slow calls', () => {
  const recent = new RecentCalls();
  recent.record({ ...requestWith(1, false), ms: 5_000 });
  recent.record(requestWith(2, false));
  const slow = recent.list({ limit: 10, outcomes: new Set(), includesSlow: true }).calls;
  expect(slow.map(({ n, requestId, trace }) => [n, requestId, trace])).toEqual([
    [1, 'request-1', 'a'.repeat(32)],
  ]);
});

const text = fc.option(fc.string({ maxLength: 200 }), { nil: null });
const recordedCall: fc.Arbitrary<RecordedCall> = fc.record({
  n: fc.nat(),
  at: fc.nat({ max: 4_000_000_000_000 }),
  ms: fc.double({ min: 0, max: 1e9, noNaN: true }),
  server: text,
  tool: text,
  method: fc.string({ maxLength: 200 }),
  outcome: fc.constantFrom(...callOutcomes),
  bytes: fc.nat(),
  client: text,
  session: text,
  requestId: text,
  trace: text,
  code: text,
});

test('a recorded call is stored as one line and parsed to the same record; invalid lines are ignored', () => {
  fc.assert(
    fc.property(recordedCall, fc.nat(), (call, cut) => {
      const line = lineOf(call);
      expect(line).not.toContain('\n');
      expect(parseLine(line)).toEqual({ ...call, ms: call.ms === 0 ? 0 : call.ms });
      expect(parseLine(line.slice(0, cut % line.length))).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(() => parseLine(json)).not.toThrow();
    }),
  );
});
