// A minute of mixed load with faults. `npm run soak` runs it for hours. The seed here is fixed and starts
// with a kill, so that new failures come from a change.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const MINUTES = 1;
const SEED = '39';

let stop = () => {};
afterAll(() => stop());

test('the soak test runs mixed load with injected faults, and no invariant is violated', async () => {
  const script = join(root, 'test', 'soak', 'run.mjs');
  const args = [script, '--minutes', String(MINUTES), '--seed', SEED];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  stop = () => child.kill('SIGTERM');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  const [code] = await once(child, 'close');
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('all invariants held') });
  // Calls, attempts, comments and faults occurred.
  for (const pattern of [/\d{3,} +calls answered/, /\d{3,} +attempts/, /\d +comments\n/, /\d +fault: kill\n/])
    expect(output).toMatch(pattern);
}, 720_000);
