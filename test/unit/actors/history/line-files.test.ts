// The bounded log of lines, on a real folder: any sequence of writes and restarts keeps the newest lines.

import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineFiles } from '../../../../actors/history/line-files.ts';

const options = { format: '{"version":1}', maxBytes: 1_000 };

const sizeOf = (folder: string) =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

/** Writes lines, or opens the folder again, possibly after a kill that left a torn line. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 1, arbitrary: fc.constant('torn' as const) },
  { weight: 1, arbitrary: fc.constant('restart' as const) },
);

test('a bounded log file returns its newest lines in order, and stays within its size limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-lines-'));
      try {
        let files = new LineFiles({ ...options, folder });
        const written: string[] = [];
        for (const each of steps) {
          if (typeof each === 'number') {
            const lines = Array.from({ length: each }, (_, index) => `line ${written.length + index}`);
            await files.append(`${lines.join('\n')}\n`);
            written.push(...lines);
            expect(sizeOf(folder)).toBeLessThanOrEqual(options.maxBytes);
            continue;
          }
          const newest = readdirSync(folder).sort().at(-1);
          if (each === 'torn' && newest !== undefined) appendFileSync(join(folder, newest), 'torn li');
          files = new LineFiles({ ...options, folder });
        }
        const lines = (await files.readLast(1_000)).filter((line) => !line.startsWith('torn'));
        expect(lines).toEqual(written.slice(written.length - lines.length));
        expect(lines.length).toBeGreaterThanOrEqual(Math.min(written.length, 20));
        expect((await files.readLast(2)).length).toBeLessThanOrEqual(2);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 40 },
  );
});
