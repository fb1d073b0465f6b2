// The public conformance suites through the gateway, each row of scripts/conformance.mjs once, in one run of that
// script. It installs the suites where they are not installed yet, which takes a while and says so.

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
  /** Scenarios that failed and may not, with what their checks said. */
  readonly unexpected: readonly { readonly scenario: string; readonly messages: readonly string[] }[];
  /** Why the row says nothing about its scenarios. */
  readonly trouble?: string;
}

const rows = execFileSync(process.execPath, [script, '--list'], { encoding: 'utf8' }).trim().split('\n');
const verdicts = new Map<string, Verdict>();
let child: ChildProcess;
let ended: Promise<unknown>;
let isEnded = false;
let said = '';
let heard = () => {};

beforeAll(() => {
  // The tests run on what is built, as all others do; the script on its own would build first.
  const env = { ...process.env, ACTOR_GATEWAY_DIST: process.env.ACTOR_GATEWAY_DIST ?? 'dist' };
  const started = spawn(process.execPath, [script, '--json', '--at-once', '3'], {
    env,
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child = started;
  started.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    process.stderr.write(text);
  });
  createInterface({ input: started.stdout }).on('line', (line) => {
    const verdict = JSON.parse(line) as Verdict;
    verdicts.set(verdict.row, verdict);
    heard();
  });
  ended = once(started, 'close').then(() => {
    isEnded = true;
    heard();
  });
});

afterAll(async () => {
  child.kill('SIGTERM');
  await ended;
});

async function verdictOf(row: string): Promise<Verdict> {
  for (;;) {
    const verdict = verdicts.get(row);
    if (verdict !== undefined) return verdict;
    if (isEnded) throw new Error(`the run ended without a word on ${row}:\n${said.slice(-2000)}`);
    await new Promise<void>((resolve) => {
      heard = resolve;
    });
  }
}

test.each(rows)('every scenario of %s that must pass does', { timeout: rowMs }, async (row) => {
  const { unexpected, trouble } = await verdictOf(row);
  expect(trouble).toBeUndefined();
  expect(unexpected.map(({ scenario, messages }) => [scenario, ...messages].join('\n  '))).toEqual([]);
});
