// What a session keeps of its streams: against a plain list that is cut from the front.

import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import {
  eventId,
  parseEventId,
  ReplayRing,
} from '../../../../../../actors/mcp/clients/sessions/replay-ring.ts';

interface Event {
  readonly stream: number;
  readonly number: number;
  readonly message: Buffer;
}

const KIB = 1024;
/** What an event takes beside its message. */
const cost = ({ message }: Event) => message.length + 128;
const textOf = ({ number, message }: { number: number; message: unknown }) => [number, String(message)];

afterEach(() => {
  vi.useRealTimers();
});

test('never holds more bytes than its limit, and gives back the newest of a stream, in order, and of no other (RR2)', () => {
  const step = fc.record({
    do: fc.constantFrom('add', 'add', 'after'),
    stream: fc.integer({ min: 1, max: 3 }),
    // What is large is kept as it is, and what is small as a copy.
    size: fc.oneof(fc.nat({ max: 60 }), fc.integer({ min: 16 * KIB, max: 18 * KIB })),
    from: fc.nat({ max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 130, max: 60 * KIB }), (list, limit) => {
      const ring = new ReplayRing(new ReplayBudget(), limit);
      const model: Event[] = [];
      const numbers = new Map<number, number>();
      const size = () => model.reduce((sum, event) => sum + cost(event), 0);
      for (const { do: what, stream, size: length, from } of list) {
        if (what === 'add') {
          const number = (numbers.get(stream) ?? 0) + 1;
          numbers.set(stream, number);
          const event = { stream, number, message: Buffer.alloc(length, number) };
          ring.add(stream, number, event.message);
          model.push(event);
          while (size() > limit) model.shift();
        } else {
          const kept = model.filter((event) => event.stream === stream && event.number > from);
          expect(ring.after(stream, from).map(textOf)).toEqual(kept.map(textOf));
        }
        expect(ring.bytes).toBe(size());
        expect(ring.bytes).toBeLessThanOrEqual(limit);
      }
    }),
    { numRuns: 300 },
  );
});

test('all rings together hold no more than is allowed for all; the one longest out of use gives way', () => {
  const replays = new ReplayBudget(64 * KIB);
  const [one, two, three] = [1, 2, 3].map(() => new ReplayRing(replays)) as [
    ReplayRing,
    ReplayRing,
    ReplayRing,
  ];
  for (const ring of [one, two]) for (let at = 1; at <= 10; at += 1) ring.add(1, at, Buffer.alloc(KIB));
  one.add(1, 11, Buffer.alloc(KIB));
  // By now the second has been out of use for longest.
  for (let at = 1; at <= 20; at += 1) three.add(1, at, Buffer.alloc(KIB));
  expect(two.after(1, 0)).toEqual([]);
  expect(one.after(1, 0)).toHaveLength(11);
  expect(three.after(1, 0)).toHaveLength(20);
  expect(replays.held.taken).toBeLessThanOrEqual(64 * KIB);
  for (const ring of [one, two, three]) ring.clear();
  expect(replays.held.taken).toBe(0);
});

test('a large message that many keep is counted once', () => {
  const replays = new ReplayBudget(256 * KIB);
  const message = Buffer.alloc(100 * KIB);
  const rings = Array.from({ length: 50 }, () => new ReplayRing(replays));
  for (const ring of rings) ring.add(1, 1, message);
  expect(replays.held.taken).toBeLessThan(110 * KIB);
  for (const ring of rings) expect(ring.after(1, 0)).toHaveLength(1);
  for (const ring of rings) ring.clear();
  expect(replays.held.taken).toBe(0);
});

test('of a stream that has ended nothing is kept for longer than a client needs to come back (RR3)', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const replays = new ReplayBudget();
  const ring = new ReplayRing(replays);
  for (const stream of [1, 2]) ring.add(stream, 1, Buffer.alloc(100 * KIB));
  ring.end(1);
  vi.advanceTimersByTime(30_000);
  replays.sweep();
  expect(ring.after(1, 0)).toHaveLength(1);
  vi.advanceTimersByTime(31_000);
  replays.sweep();
  expect(ring.after(1, 0)).toEqual([]);
  expect(ring.after(2, 0)).toHaveLength(1);
  expect(replays.held.taken).toBe(100 * KIB + 128);
});

test('no stream gets the number of another (RR1)', () => {
  const ring = new ReplayRing(new ReplayBudget());
  const numbers = Array.from({ length: 100 }, () => ring.newStream());
  expect(new Set(numbers).size).toBe(100);
});

test('an event id names its stream and number, and comes back as it went', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (stream, number) => {
      expect(parseEventId(eventId(stream, number))).toEqual({ stream, number });
    }),
  );
});

test.each([
  '',
  '1',
  '-',
  '1-',
  '-1',
  '1-2-3',
  'a-1',
  '1-1\n',
  ' 1-1',
  '1.0-1',
  `${'1'.repeat(16)}-1`,
  '１-1',
])('the id %j is none of ours', (id) => {
  expect(parseEventId(id)).toBeUndefined();
});
