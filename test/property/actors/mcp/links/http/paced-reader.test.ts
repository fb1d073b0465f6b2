// A reader that yields to other work after a time slice (paced-reader.ts). With random data, chunks and
// handling times, lines arrive once and in order. No line starts in a slice that is used up.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BUDGET_MS, PacedReader } from '../../../../../../actors/mcp/links/http/paced-reader.ts';
import { SseParser } from '../../../../../../actors/mcp/links/sse/sse-parser.ts';
import { LineSplitter } from '../../../../../../actors/mcp/links/stdio/line-splitter.ts';

const parsers = {
  lines: (onLine: (line: string) => void) => {
    const events = { onLine: (line: Buffer) => onLine(line.toString()), onOversized: () => {} };
    const splitter = new LineSplitter(1000, events);
    return splitter.push.bind(splitter);
  },
  events: (onLine: (line: string) => void) => {
    const handler = {
      onEvent: (_: string, data: Buffer) => onLine(data.toString()),
      onOversizedEvent: () => {},
    };
    const parser = new SseParser(1000, { lastEventId: '', retryMs: undefined }, handler);
    return parser.feed.bind(parser);
  },
};

/** Writes a line in the format of each parser. */
const encodeLine = {
  lines: (text: string) => `${text}\n`,
  events: (text: string) => `data: ${text}\r\n\r\n`,
};

test.each(['lines', 'events'] as const)(
  '%s of a paced reader arrive once and in order, in limited time slices',
  async (kind) => {
    /** A line, and its handling time as a fraction of the time slice. */
    const lines = fc.array(
      fc.tuple(fc.stringMatching(/^[a-z]{1,9}$/), fc.constantFrom(0, 1 / 16, 1 / 4, 2)),
      {
        maxLength: 60,
      },
    );
    /** Number of pauses in all runs. */
    let pauses = 0;
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.array(fc.nat(), { maxLength: 8 }),
        fc.boolean(),
        async (all, cuts, isClosedEarly) => {
          const bytes = Buffer.from(all.map(([text]) => encodeLine[kind](text)).join(''));
          const borders = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
            (a, b) => a - b,
          );
          const chunks = borders.map((border, at) => bytes.subarray(borders[at - 1] ?? 0, border));
          const received: string[] = [];
          const late: string[] = [];
          let now = 0;
          /** Time that was used in the current slice. */
          let workedInSlice = 0;
          let isPaused = false;
          const pushChunks = () => {
            while (!isPaused) {
              const chunk = chunks.shift();
              if (chunk === undefined) return;
              reader.push(chunk);
            }
          };
          const source = {
            pause: () => {
              isPaused = true;
              pauses += 1;
            },
            resume: () => {
              isPaused = false;
              pushChunks();
            },
          };
          const consume = parsers[kind]((text) => {
            const ms = (all[received.length]?.[1] ?? 0) * BUDGET_MS;
            // The current line may exceed the slice, but no further line starts in it.
            if (workedInSlice >= BUDGET_MS) late.push(text);
            workedInSlice += ms;
            now += ms;
            received.push(text);
          });
          const reader = new PacedReader(source, consume, () => now);
          pushChunks();
          // A tick of the event loop starts a new slice.
          const waitTicksUntil = async (isDone: () => boolean) => {
            for (let tick = 0; !isDone(); tick += 1) {
              expect(tick).toBeLessThan(200);
              workedInSlice = 0;
              await new Promise((resolve) => setImmediate(resolve));
            }
          };
          await waitTicksUntil(() => chunks.length === 0);
          if (isClosedEarly) {
            // A closed connection is read completely without slices.
            workedInSlice = Number.NEGATIVE_INFINITY;
            reader.flush();
          } else {
            let isHandled = false;
            reader.end(() => {
              isHandled = true;
            });
            await waitTicksUntil(() => isHandled);
          }
          expect([received, late]).toEqual([all.map(([text]) => text), []]);
        },
      ),
      { numRuns: 200 },
    );
    // The runs are slow enough to test pauses.
    expect(pauses).toBeGreaterThan(50);
  },
);

test('a paced reader stays paused after its time slice if its owner has paused it', async () => {
  const calls: string[] = [];
  let now = 0;
  const source = { pause: () => calls.push('pause'), resume: () => calls.push('resume') };
  const reader = new PacedReader(
    source,
    (bytes) => {
      // Every byte uses up the slice.
      now += 2 * BUDGET_MS;
      return Math.min(1, bytes.length);
    },
    () => now,
  );
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  reader.push(Buffer.from('abc'));
  reader.pause();
  for (let ticks = 0; ticks < 4; ticks += 1) await nextTick();
  expect(calls).not.toContain('resume');
  reader.resume();
  expect(calls.at(-1)).toBe('resume');
});
