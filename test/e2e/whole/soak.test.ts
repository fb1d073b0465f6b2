// A minute of everything at once, with faults in between. Hours of it are for `npm run soak`; the seed here is always the
// same, and begins with a kill, so that a change is to blame for what is new.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const MINUTES = 1;
const SEED = '39';

let stop = () => {};
afterAll(() => stop());

test('what must hold does, while everything is used, and everything that can fail fails', async () => {
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
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('everything held') });
  // There was something to go wrong.
  for (const seen of [/\d{3,} +calls answered/, /\d{3,} +attempts/, /\d +comments\n/, /\d +fault: kill\n/])
    expect(output).toMatch(seen);
}, 720_000);
