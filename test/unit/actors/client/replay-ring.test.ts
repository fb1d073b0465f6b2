// What a session keeps of its streams: against a plain list that is cut from the front.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  eventId,
  parseEventId,
  ReplayRing,
  type StoredEvent,
} from '../../../../actors/client/replay-ring.ts';

test('never holds more bytes than its limit, and gives back the newest of a stream, in order, and of no other (R2)', () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('add' as const),
      stream: fc.integer({ min: 1, max: 3 }),
      size: fc.nat({ max: 60 }),
    }),
    fc.record({
      do: fc.constantFrom('forget', 'after'),
      stream: fc.integer({ min: 1, max: 3 }),
      from: fc.nat({ max: 20 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 200 }), (list, limit) => {
      const ring = new ReplayRing(limit);
      let model: StoredEvent[] = [];
      const numbers = new Map<number, number>();
      const size = () => model.reduce((sum, { message }) => sum + message.length, 0);
      for (const one of list) {
        if (one.do === 'add' && 'size' in one) {
          const number = (numbers.get(one.stream) ?? 0) + 1;
          numbers.set(one.stream, number);
          const event = { stream: one.stream, number, message: Buffer.alloc(one.size) };
          ring.add(event);
          model.push(event);
          while (size() > limit) model.shift();
        } else if (one.do === 'forget') {
          ring.forget(one.stream);
          model = model.filter(({ stream }) => stream !== one.stream);
        } else if ('from' in one) {
          const kept = model.filter(({ stream, number }) => stream === one.stream && number > one.from);
          expect(ring.after(one.stream, one.from)).toEqual(kept);
        }
        expect(ring.bytes).toBe(size());
        expect(ring.bytes).toBeLessThanOrEqual(limit);
      }
    }),
    { numRuns: 500 },
  );
});

test('no stream gets the number of another (R1)', () => {
  const ring = new ReplayRing();
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
