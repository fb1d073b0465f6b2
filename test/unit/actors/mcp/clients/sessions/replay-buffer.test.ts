// Replay buffer for streams of a session, compared with a plain list that drops the oldest events.

import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ReplayBuffer } from '../../../../../../actors/mcp/clients/sessions/replay-buffer.ts';

interface Event {
  readonly stream: number;
  readonly number: number;
  readonly message: Buffer;
}

const KIB = 1024;
/** Size of an event: message and fixed overhead. */
const cost = ({ message }: Event) => message.length + 128;
const textOf = ({ number, message }: { number: number; message: unknown }) => [number, String(message)];

afterEach(() => {
  vi.useRealTimers();
});

test('a replay buffer stays within its byte limit, and returns the latest events of one stream only, in order', () => {
  const step = fc.record({
    do: fc.constantFrom('add', 'add', 'after'),
    stream: fc.integer({ min: 1, max: 3 }),
    // Large messages are stored by reference, small ones as copies.
    size: fc.oneof(fc.nat({ max: 60 }), fc.integer({ min: 16 * KIB, max: 18 * KIB })),
    from: fc.nat({ max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 130, max: 60 * KIB }), (list, limit) => {
      const buffer = new ReplayBuffer(new ReplayBudget(), { limitBytes: limit });
      const model: Event[] = [];
      const numbers = new Map<number, number>();
      const size = () => model.reduce((sum, event) => sum + cost(event), 0);
      for (const { do: what, stream, size: length, from } of list) {
        if (what === 'add') {
          const number = (numbers.get(stream) ?? 0) + 1;
          numbers.set(stream, number);
          const event = { stream, number, message: Buffer.alloc(length, number) };
          buffer.add(stream, number, event.message);
          model.push(event);
          while (size() > limit) model.shift();
        } else {
          const expected = model.filter((event) => event.stream === stream && event.number > from);
          expect(buffer.after(stream, from).map(textOf)).toEqual(expected.map(textOf));
        }
        expect(buffer.bytes).toBe(size());
        expect(buffer.bytes).toBeLessThanOrEqual(limit);
      }
    }),
    { numRuns: 300 },
  );
});

test('all replay buffers share one byte budget; the least recently used buffer is cleared first', () => {
  const replays = new ReplayBudget(64 * KIB);
  const [one, two, three] = [1, 2, 3].map(() => new ReplayBuffer(replays)) as [
    ReplayBuffer,
    ReplayBuffer,
    ReplayBuffer,
  ];
  for (const buffer of [one, two]) for (let at = 1; at <= 10; at += 1) buffer.add(1, at, Buffer.alloc(KIB));
  one.add(1, 11, Buffer.alloc(KIB));
  // The second buffer is now the least recently used.
  for (let at = 1; at <= 20; at += 1) three.add(1, at, Buffer.alloc(KIB));
  expect(two.after(1, 0)).toEqual([]);
  expect(one.after(1, 0)).toHaveLength(11);
  expect(three.after(1, 0)).toHaveLength(20);
  expect(replays.heldBytes.used).toBeLessThanOrEqual(64 * KIB);
  for (const buffer of [one, two, three]) buffer.clear();
  expect(replays.heldBytes.used).toBe(0);
});

test('a large message shared by many replay buffers counts once against the budget', () => {
  const replays = new ReplayBudget(256 * KIB);
  const message = Buffer.alloc(100 * KIB);
  const buffers = Array.from({ length: 50 }, () => new ReplayBuffer(replays));
  for (const buffer of buffers) buffer.add(1, 1, message);
  expect(replays.heldBytes.used).toBeLessThan(110 * KIB);
  for (const buffer of buffers) expect(buffer.after(1, 0)).toHaveLength(1);
  for (const buffer of buffers) buffer.clear();
  expect(replays.heldBytes.used).toBe(0);
});

test('a replay buffer drops the events of an ended stream after the time a client needs to reconnect', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const replays = new ReplayBudget();
  const buffer = new ReplayBuffer(replays);
  for (const stream of [1, 2]) buffer.add(stream, 1, Buffer.alloc(100 * KIB));
  buffer.end(1);
  vi.advanceTimersByTime(30_000);
  replays.sweep();
  expect(buffer.after(1, 0)).toHaveLength(1);
  vi.advanceTimersByTime(31_000);
  replays.sweep();
  expect(buffer.after(1, 0)).toEqual([]);
  expect(buffer.after(2, 0)).toHaveLength(1);
  expect(replays.heldBytes.used).toBe(100 * KIB + 128);
});

test('numbers of event streams are unique', () => {
  const buffer = new ReplayBuffer(new ReplayBudget());
  const numbers = Array.from({ length: 100 }, () => buffer.newStream());
  expect(new Set(numbers).size).toBe(100);
});
