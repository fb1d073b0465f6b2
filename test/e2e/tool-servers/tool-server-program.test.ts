// The shared code of the tool servers as a process: responses, protection against clients, and exit.

import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';

const root = resolve(import.meta.dirname, '../../..');
// Inside the project, so that Node finds the packages.
const folder = mkdtempSync(join(root, 'node_modules/.tool-program-'));
const program = join(folder, 'tool-program.mjs');
const running = new Set<Line>();

beforeAll(() =>
  build({
    entryPoints: [join(root, 'test/fixtures/tool-servers/tool-program.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  }),
);
afterAll(() => {
  for (const line of running) line.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly content: readonly { text: string }[]; readonly isError?: boolean };
}

/** The program, and a client that reads and writes lines when the test requests it. */
class Line {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
  readonly messages: Message[] = [];
  stderr = '';
  #rest = '';

  constructor() {
    this.child = spawn(process.execPath, [program]);
    running.add(this);
    this.child.stderr.on('data', (text) => {
      this.stderr += text;
    });
    this.child.stdin.on('error', () => {});
    this.ended = once(this.child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const clientInfo = { name: 'test', version: '1' };
    this.send(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.send(undefined, 'notifications/initialized');
  }

  send(id: number | undefined, method: string, params: object = {}): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  }

  call(id: number, name: string, args: object, more: object = {}): void {
    this.send(id, 'tools/call', { name, arguments: args, ...more });
  }

  read(): void {
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const [end = '', ...lines] = text.split('\n');
      this.#rest += end;
      for (const line of lines) {
        this.messages.push(JSON.parse(this.#rest));
        this.#rest = line;
      }
    });
  }

  ids(): readonly number[] {
    return this.messages.flatMap(({ id }) => id ?? []).sort((a, b) => a - b);
  }

  rssBytes(): number {
    const [, kilobytes] =
      /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.child.pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  }
}

const idsUpTo = (count: number) => Array.from({ length: count + 1 }, (_, id) => id);

describe('a tool server', () => {
  test('answers all requests sent before stdin was closed, even if the client reads late', async () => {
    const line = new Line();
    for (let id = 1; id <= 40; id += 1) line.call(id, 'text', { length: 7_000 });
    line.child.stdin.end();
    await delay(700);
    line.read();
    expect((await line.ended)[0]).toBe(0);
    await eventually('the end of its answers', () => line.ids().length === 41);
    expect(line.ids()).toEqual(idsUpTo(40));
  });

  test('handles no request while the client does not read, and all of them afterwards', async () => {
    const line = new Line();
    let id = 0;
    for (let round = 0; round < 10; round += 1) {
      for (let i = 0; i < 20; i += 1) line.call(++id, 'text', { length: 1024 * 1024 });
      await delay(100);
    }
    expect(line.rssBytes()).toBeLessThan(200 * 1024 * 1024);
    line.read();
    await eventually('all answers', () => line.ids().length === id + 1, 80_000);
    expect(line.ids()).toEqual(idsUpTo(id));
    expect(line.stderr).toBe('');
    line.child.stdin.end();
    expect((await line.ended)[0]).toBe(0);
  });

  test('exits after SIGTERM even if a file operation hangs', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const line = new Line();
    line.read();
    // A pipe that no process writes to replaces a hanging disk.
    line.call(1, 'open', { path });
    await eventually('it runs', () => line.ids().includes(0));
    await delay(200);
    line.child.kill('SIGTERM');
    expect(await line.ended).toEqual([null, 'SIGKILL']);
  });

  test('lets running calls clean up before it exits', async () => {
    const path = join(folder, 'tidy');
    const line = new Line();
    line.read();
    line.call(1, 'tidy', { path }, { _meta: { progressToken: 1 } });
    await eventually('it runs', () =>
      line.messages.some(({ method }) => method === 'notifications/progress'),
    );
    line.child.kill('SIGTERM');
    expect((await line.ended)[0]).toBe(0);
    expect(existsSync(path)).toBe(true);
  });

  test('returns the text of an expected error, but only a reference to the log for an internal error', async () => {
    const line = new Line();
    line.read();
    line.call(1, 'fail', { isExpected: true });
    line.call(2, 'fail', { isExpected: false });
    line.call(3, 'fail', { isExpected: true, more: 1 });
    await eventually('the answers', () => line.ids().length === 4);
    const textOf = (wanted: number) =>
      line.messages.find(({ id }) => id === wanted)?.result?.content[0]?.text ?? '';
    expect(textOf(1)).toBe('Try another one.');
    const [, reference = ''] =
      /^fail failed inside its server\..* reference (\w{8})\.$/.exec(textOf(2)) ?? [];
    expect(line.stderr).toContain(reference);
    expect(line.stderr).toContain('a secret of the inside');
    expect(textOf(3)).toContain('more');
    line.child.stdin.end();
    await line.ended;
  });

  test('logs invalid messages on stderr, without control sequences', async () => {
    const line = new Line();
    line.read();
    line.child.stdin.write('{"jsonrpc": \u001b]0;owned\u0007\u009b31m\u202e}\n');
    await eventually('the line on stderr', () => line.stderr.includes('\n'));
    expect(line.stderr).toMatch(/^tool-program: .*\\u001b\]0;owned\\u0007.*\n$/);
    line.call(1, 'fail', { isExpected: false });
    await eventually('the stack', () => line.stderr.includes('a secret of the inside\n    at '));
    line.child.stdin.end();
    await line.ended;
  });

  test('runs 4 calls at a time and queues 256; any further call is rejected immediately', async () => {
    const line = new Line();
    line.read();
    for (let id = 1; id <= 261; id += 1) line.call(id, 'tidy', { path: join(folder, 'never') });
    await eventually('the refusal', () => line.ids().includes(261));
    expect(line.ids()).toEqual([0, 261]);
    for (let id = 5; id <= 260; id += 1) line.send(undefined, 'notifications/cancelled', { requestId: id });
    line.call(300, 'text', { length: 1 });
    for (let id = 1; id <= 4; id += 1) line.send(undefined, 'notifications/cancelled', { requestId: id });
    await eventually('the next', () => line.ids().includes(300));
    line.child.kill('SIGTERM');
    await line.ended;
  });
});
