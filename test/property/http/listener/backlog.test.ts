// Backlogs of slow clients: ordered, complete, counted, and bounded in total.

import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Share } from '../../../../actors/base/bounds/budget.ts';
import { BufferedBytes } from '../../../../actors/base/bounds/buffered-bytes.ts';
import { Backlog } from '../../../../src/http/listener/backlog.ts';
import { Reader, Readers } from '../../../../src/http/listener/readers.ts';

const KIB = 1024;

const steps = fc.array(
  fc.oneof(
    fc.record({
      push: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 16 * KIB, max: 40 * KIB })),
    }),
    fc.record({ take: fc.integer({ min: 1, max: 70 * KIB }) }),
  ),
  { maxLength: 80 },
);

describe('a backlog', () => {
  test('returns the pushed bytes in order, counts them, and releases all', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), (list, isCleared) => {
        const readers = new Readers(64 * 1024 * KIB);
        const backlog = new Backlog(readers, new Reader(() => {}));
        const pushed: Buffer[] = [];
        const pieces: Buffer[] = [];
        let next = 0;
        const take = (most: number) => {
          const piece = backlog.peek(most);
          if (piece === undefined) return false;
          expect(piece.length).toBeGreaterThan(0);
          expect(piece.length).toBeLessThanOrEqual(most);
          pieces.push(Buffer.from(piece));
          backlog.drop(piece.length);
          return true;
        };
        for (const step of list) {
          if ('push' in step) {
            const bytes = Buffer.alloc(step.push);
            for (let at = 0; at < bytes.length; at += 1) bytes[at] = next++ % 251;
            expect(backlog.push(bytes)).toBe(true);
            pushed.push(bytes);
          } else take(step.take);
          const [all, gone] = [pushed, pieces].map((list) =>
            list.reduce((sum, { length }) => sum + length, 0),
          );
          expect(backlog.bytes).toBe(Number(all) - Number(gone));
          expect(readers.waitingBytes).toBeGreaterThanOrEqual(0);
          expect(readers.waitingBytes === 0).toBe(backlog.bytes === 0);
        }
        if (isCleared) backlog.clear();
        else {
          while (take(64 * KIB));
          expect(Buffer.concat(pieces).equals(Buffer.concat(pushed))).toBe(true);
        }
        expect([backlog.bytes, readers.waitingBytes]).toEqual([0, 0]);
      }),
      { numRuns: 200 },
    );
  });

  test('combines many small pieces into few blocks', () => {
    const readers = new Readers(64 * 1024 * KIB);
    const backlog = new Backlog(readers, new Reader(() => {}));
    for (let at = 0; at < 100_000; at += 1) backlog.push(Buffer.alloc(100));
    let pieces = 0;
    for (let piece = backlog.peek(64 * KIB); piece !== undefined; piece = backlog.peek(64 * KIB)) {
      backlog.drop(piece.length);
      pieces += 1;
    }
    expect(pieces).toBeLessThan(200);
  });
});

describe('buffered bytes', () => {
  test('are counted once per buffer, and never exceed the total', () => {
    const holds = fc.array(fc.record({ holder: fc.nat(4), piece: fc.nat(5), isLettingGo: fc.boolean() }));
    fc.assert(
      fc.property(holds, fc.integer({ min: 20 * KIB, max: 400 * KIB }), (list, total) => {
        const buffered = new BufferedBytes(total);
        const shares = Array.from({ length: 5 }, () => new Share());
        const pieces = Array.from({ length: 6 }, (_, at) => Buffer.alloc((at + 1) * 16 * KIB));
        const all: { holder: number; piece: Buffer }[] = [];
        for (const { holder, piece: at, isLettingGo } of list) {
          const share = shares[holder] as Share;
          const piece = pieces[at] as Buffer;
          const index = all.findIndex((entry) => entry.holder === holder && entry.piece === piece);
          if (isLettingGo && index >= 0) {
            buffered.releaseShared(piece, share);
            all.splice(index, 1);
          } else if (!isLettingGo && buffered.acquireShared(piece, share)) all.push({ holder, piece });
          const distinct = new Set(all.map((entry) => entry.piece));
          expect(buffered.used).toBe([...distinct].reduce((sum, { length }) => sum + length, 0));
          expect(buffered.used).toBeLessThanOrEqual(total);
          for (const [number, { used: own }] of shares.entries())
            expect(own).toBe(
              all.reduce((sum, entry) => sum + (entry.holder === number ? entry.piece.length : 0), 0),
            );
        }
      }),
    );
  });
});

describe('without free capacity for buffered bytes', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A reader that has not read any bytes. */
  function waiting(readers: Readers, bytes: number) {
    const cut = vi.fn(() => {
      readers.noteCaughtUp(reader);
      readers.release(bytes, reader);
    });
    const reader = new Reader(cut);
    const isTaken = readers.acquire(bytes, reader);
    if (isTaken) readers.noteBehind(reader);
    return { reader, cut, isTaken };
  }

  test('the reader that has stalled longest is disconnected, and never an active reader', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const readers = new Readers(100);
    const stalled = waiting(readers, 30);
    const reading = waiting(readers, 30);
    vi.advanceTimersByTime(5_000);
    readers.noteBehind(reading.reader);
    expect(waiting(readers, 50).isTaken).toBe(true);
    expect(stalled.cut).toHaveBeenCalledOnce();
    expect(waiting(readers, 50).isTaken).toBe(false);
    expect(reading.cut).not.toHaveBeenCalled();
    expect(readers.waitingBytes).toBe(80);
  });

  test('a new reader gets the capacity of readers that read nothing for 250 ms', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const readers = new Readers(100);
    // System buffers accept some bytes immediately, then no more.
    const unread = [waiting(readers, 50), waiting(readers, 25)];
    vi.advanceTimersByTime(10);
    for (const { reader } of unread) readers.noteBehind(reader);
    vi.advanceTimersByTime(240);
    expect(waiting(readers, 50).isTaken).toBe(false);
    vi.advanceTimersByTime(10);
    expect(waiting(readers, 50).isTaken).toBe(true);
    expect(unread.map(({ cut }) => cut.mock.calls.length)).toEqual([1, 0]);
  });

  const comings = fc.array(
    fc.record({
      waitMs: fc.nat(120),
      bytes: fc.integer({ min: 1, max: 30 }),
      does: fc.constantFrom('reads', 'leaves it', 'reads, and then not'),
    }),
    { minLength: 10, maxLength: 80 },
  );

  test('no active reader is disconnected, and a new reader is refused only for readers that may be active', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    fc.assert(
      fc.property(comings, (list) => {
        const readers = new Readers(100);
        const all: (ReturnType<typeof waiting> & { does: string; since: number; bytes: number })[] = [];
        for (const { waitMs, bytes, does } of list) {
          vi.advanceTimersByTime(waitMs);
          const now = performance.now();
          for (const entry of all) {
            const isReading =
              entry.does === 'reads' || (entry.does !== 'leaves it' && now - entry.since < 1_500);
            if (isReading && entry.reader.isBehind) readers.noteBehind(entry.reader);
          }
          const entry = { ...waiting(readers, bytes), does, since: now, bytes };
          if (entry.isTaken) all.push(entry);
          const behind = all.filter(({ reader }) => reader.isBehind);
          expect(readers.waitingBytes).toBe(behind.reduce((sum, each) => sum + each.bytes, 0));
          expect(readers.waitingBytes).toBeLessThanOrEqual(100);
          for (const each of all) if (each.does === 'reads') expect(each.cut).not.toHaveBeenCalled();
          if (entry.isTaken) continue;
          for (const { reader } of behind)
            expect(now - reader.movedAt).toBeLessThan(reader.isConfirmed ? 1_000 : 250);
        }
      }),
    );
  });
});
