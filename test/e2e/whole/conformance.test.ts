// The public conformance suites through the gateway: all rows of scripts/conformance.mjs in a single run of
// that script. It installs missing suites first, which is slow and is printed.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const script = join(root, 'scripts', 'conformance.mjs');
const rowMs = 300_000;

interface Verdict {
  readonly row: string;
  /** Scenarios that failed unexpectedly, with the messages of the checks. */
  readonly unexpected: readonly { readonly scenario: string; readonly messages: readonly string[] }[];
  /** Reason if the row has no results. */
  readonly trouble?: string;
}

const rows = execFileSync(process.execPath, [script, '--list'], { encoding: 'utf8' }).trim().split('\n');
const verdicts = new Map<string, Verdict>();
let child: ChildProcess;
let end: Promise<unknown>;
let isEnded = false;
let output = '';
let onOutput = () => {};

beforeAll(() => {
  // Uses the existing build like all tests. Otherwise the script would build first.
  const env = { ...process.env, ACTOR_GATEWAY_DIST: process.env.ACTOR_GATEWAY_DIST ?? 'dist' };
  const started = spawn(process.execPath, [script, '--json', '--at-once', '3'], {
    env,
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child = started;
  started.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stderr.write(text);
  });
  createInterface({ input: started.stdout }).on('line', (line) => {
    const verdict = JSON.parse(line) as Verdict;
    verdicts.set(verdict.row, verdict);
    onOutput();
  });
  end = once(started, 'close').then(() => {
    isEnded = true;
    onOutput();
  });
});

afterAll(async () => {
  child.kill('SIGTERM');
  await end;
});

async function verdictOf(row: string): Promise<Verdict> {
  for (;;) {
    const verdict = verdicts.get(row);
    if (verdict !== undefined) return verdict;
    if (isEnded) throw new Error(`the run ended without a word on ${row}:\n${output.slice(-2000)}`);
    await new Promise<void>((resolve) => {
      onOutput = resolve;
    });
  }
}

test.each(rows)('all required scenarios of %s pass', { timeout: rowMs }, async (row) => {
  const { unexpected, trouble } = await verdictOf(row);
  expect(trouble).toBeUndefined();
  expect(unexpected.map(({ scenario, messages }) => [scenario, ...messages].join('\n  '))).toEqual([]);
});
