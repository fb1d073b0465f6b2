// Backlogs: bytes that wait for clients that read slowly (backlog.ts, readers.ts). The bytes are counted,
// leave in order and are then released. In total they stay within the limit. Without free capacity, stalled
// readers are disconnected, and active readers are not.

import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Share } from '../../../../actors/base/bounds/budget.ts';
import { BufferedBytes } from '../../../../actors/base/bounds/buffered-bytes.ts';
import { Backlog } from '../../../../src/http/listener/backlog.ts';
import { Reader, Readers } from '../../../../src/http/listener/readers.ts';

const KIB = 1024;

/** Pushes bytes, or reads up to `take` bytes. */
const steps = fc.array(
  fc.oneof(
    fc.record({
      push: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 16 * KIB, max: 40 * KIB })),
    }),
    fc.record({ take: fc.integer({ min: 1, max: 70 * KIB }) }),
  ),
  { maxLength: 80 },
);

const sizeOf = (buffers: Iterable<Buffer>) => [...buffers].reduce((sum, { length }) => sum + length, 0);

describe('a backlog', () => {
  test('returns the pushed bytes in order, counts them, and releases their memory', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), (stepList, endsWithClear) => {
        const readers = new Readers(64 * 1024 * KIB);
        const backlog = new Backlog(readers, new Reader(() => {}));
        const pushed: Buffer[] = [];
        const pieces: Buffer[] = [];
        let nextByte = 0;
        /** Reads and removes up to `maxBytes` bytes. Returns false if the backlog is empty. */
        const readPiece = (maxBytes: number) => {
          const piece = backlog.peek(maxBytes);
          if (piece === undefined) return false;
          expect(piece.length).toBeGreaterThan(0);
          expect(piece.length).toBeLessThanOrEqual(maxBytes);
          pieces.push(Buffer.from(piece));
          backlog.drop(piece.length);
          return true;
        };
        for (const step of stepList) {
          if ('push' in step) {
            const bytes = Buffer.alloc(step.push);
            // The values repeat after 251 bytes, which divides no block size: a misplaced block is detected.
            for (let at = 0; at < bytes.length; at += 1) bytes[at] = nextByte++ % 251;
            expect(backlog.push(bytes)).toBe(true);
            pushed.push(bytes);
          } else readPiece(step.take);
          expect(backlog.bytes).toBe(sizeOf(pushed) - sizeOf(pieces));
          expect(readers.waitingBytes).toBeGreaterThanOrEqual(0);
          expect(readers.waitingBytes === 0).toBe(backlog.bytes === 0);
        }
        if (endsWithClear) backlog.clear();
        else {
          while (readPiece(64 * KIB));
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
    // 10 MB in blocks of up to 64 KiB.
    expect(pieces).toBeLessThan(200);
  });
});

describe('buffered bytes', () => {
  test('are counted once per buffer, and never exceed the common limit', () => {
    const arbHolds = fc.array(fc.record({ holder: fc.nat(4), piece: fc.nat(5), isRelease: fc.boolean() }));
    fc.assert(
      fc.property(arbHolds, fc.integer({ min: 20 * KIB, max: 400 * KIB }), (list, total) => {
        const buffered = new BufferedBytes(total);
        const shares = Array.from({ length: 5 }, () => new Share());
        const pieces = Array.from({ length: 6 }, (_, at) => Buffer.alloc((at + 1) * 16 * KIB));
        /** The acquired pieces by holder. Several holders may share a piece. */
        const all: { holder: number; piece: Buffer }[] = [];
        for (const { holder, piece: at, isRelease } of list) {
          const share = shares[holder] as Share;
          const piece = pieces[at] as Buffer;
          const index = all.findIndex((entry) => entry.holder === holder && entry.piece === piece);
          if (isRelease && index >= 0) {
            buffered.releaseShared(piece, share);
            all.splice(index, 1);
          } else if (!isRelease && buffered.acquireShared(piece, share)) all.push({ holder, piece });
          const distinct = new Set(all.map((entry) => entry.piece));
          expect(buffered.used).toBe(sizeOf(distinct));
          expect(buffered.used).toBeLessThanOrEqual(total);
          for (const [number, { used }] of shares.entries()) {
            const heldPieces = all.filter((entry) => entry.holder === number).map((entry) => entry.piece);
            expect(used).toBe(sizeOf(heldPieces));
          }
        }
      }),
    );
  });
});

describe('if no buffer capacity is free', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Adds a reader for which `bytes` wait. `isAccepted` is false if no capacity was free for them. */
  function startReader(readers: Readers, bytes: number) {
    const disconnect = vi.fn(() => {
      readers.noteCaughtUp(reader);
      readers.release(bytes, reader);
    });
    const reader = new Reader(disconnect);
    const isAccepted = readers.acquire(bytes, reader);
    if (isAccepted) readers.noteBehind(reader);
    return { reader, disconnect, isAccepted };
  }

  test('the reader that has stalled longest is disconnected, and never an active reader', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const readers = new Readers(100);
    const stalled = startReader(readers, 30);
    const reading = startReader(readers, 30);
    vi.advanceTimersByTime(5_000);
    readers.noteBehind(reading.reader);
    expect(startReader(readers, 50).isAccepted).toBe(true);
    expect(stalled.disconnect).toHaveBeenCalledOnce();
    expect(startReader(readers, 50).isAccepted).toBe(false);
    expect(reading.disconnect).not.toHaveBeenCalled();
    // The bytes of `reading` (30) and of the accepted new reader (50).
    expect(readers.waitingBytes).toBe(80);
  });

  test('a new reader gets the capacity of readers that read nothing for 250 ms', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const readers = new Readers(100);
    // The progress at 10 ms does not count: system buffers accept some bytes without a reader.
    const unread = [startReader(readers, 50), startReader(readers, 25)];
    vi.advanceTimersByTime(10);
    for (const { reader } of unread) readers.noteBehind(reader);
    vi.advanceTimersByTime(240);
    expect(startReader(readers, 50).isAccepted).toBe(false);
    vi.advanceTimersByTime(10);
    expect(startReader(readers, 50).isAccepted).toBe(true);
    expect(unread.map(({ disconnect }) => disconnect.mock.calls.length)).toEqual([1, 0]);
  });

  /** New readers, with preceding pauses. A reader reads always, never, or for 1.5 s. */
  const arbReaders = fc.array(
    fc.record({
      waitMs: fc.nat(120),
      bytes: fc.integer({ min: 1, max: 30 }),
      behaviour: fc.constantFrom('reads', 'leaves it', 'reads, and then not'),
    }),
    { minLength: 10, maxLength: 80 },
  );

  test('a new reader is refused only if all others read recently; a reader that always reads is never disconnected', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    fc.assert(
      fc.property(arbReaders, (readerList) => {
        const readers = new Readers(100);
        const all: (ReturnType<typeof startReader> & { behaviour: string; since: number; bytes: number })[] =
          [];
        for (const { waitMs, bytes, behaviour } of readerList) {
          vi.advanceTimersByTime(waitMs);
          const now = performance.now();
          for (const entry of all) {
            const isReading =
              entry.behaviour === 'reads' || (entry.behaviour !== 'leaves it' && now - entry.since < 1_500);
            if (isReading && entry.reader.isBehind) readers.noteBehind(entry.reader);
          }
          const entry = { ...startReader(readers, bytes), behaviour, since: now, bytes };
          if (entry.isAccepted) all.push(entry);
          const behind = all.filter(({ reader }) => reader.isBehind);
          expect(readers.waitingBytes).toBe(behind.reduce((sum, each) => sum + each.bytes, 0));
          expect(readers.waitingBytes).toBeLessThanOrEqual(100);
          for (const each of all)
            if (each.behaviour === 'reads') expect(each.disconnect).not.toHaveBeenCalled();
          // A refusal requires that every reader read recently: within 1 s, or 250 ms before its first read.
          if (entry.isAccepted) continue;
          for (const { reader } of behind)
            expect(now - reader.movedAt).toBeLessThan(reader.isConfirmed ? 1_000 : 250);
        }
      }),
    );
  });
});
