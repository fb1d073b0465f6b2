// Real processes: every server here is one of test/fixtures/children.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  ConnectionLostError,
  type GatewayError,
  OverloadedError,
  StartFailedError,
  StoppedError,
} from '../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import { isInPieces, whole } from '../../../actors/mcp/jsonrpc/span.ts';
import { StdioLink, type StdioOptions } from '../../../actors/mcp/links/stdio/stdio-link.ts';
import { isGroupRunning } from '../../../actors/state/process-group.ts';
import { identityOf, isAlive } from '../../../actors/state/process-identity.ts';
import { fixtures, type Recorded, recordedLink, request } from '../../fixtures/children/recorded-link.ts';

const opened: Recorded[] = [];

function linkTo(script: string[], changes: Partial<StdioOptions> = {}): Recorded {
  const recorded = recordedLink(script, changes);
  opened.push(recorded);
  return recorded;
}

/** Opens the link and waits until the server is ready to misbehave. */
async function openTo(
  script: string[],
  changes: Partial<StdioOptions> = {},
): Promise<Recorded & { pid: number }> {
  const recorded = linkTo(script, changes);
  await recorded.link.open();
  const pid = recorded.link.pid ?? 0;
  await recorded.first();
  return { ...recorded, pid };
}

async function ended({ ends }: Recorded): Promise<void> {
  await vi.waitFor(() => expect(ends).toHaveLength(1), { timeout: 30_000, interval: 10 });
}

async function failureOf(
  changes: Partial<StdioOptions>,
): Promise<{ error: StartFailedError; recorded: Recorded }> {
  const recorded = linkTo(['echo.mjs'], changes);
  const error = await recorded.link.open().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StartFailedError);
  return { error: error as StartFailedError, recorded };
}

afterEach(async () => {
  for (const { link } of opened) link.kill();
  for (const recorded of opened.splice(0)) await recorded.link.close();
});

describe('the end of a local server', () => {
  test('a server that answers the end of its stdin ends at once', async () => {
    const server = await openTo(['echo.mjs']);
    const closing = server.link.close();
    await vi.waitFor(() => expect(isGroupRunning(server.pid)).toBe(false), { timeout: 10_000, interval: 5 });
    const goneAt = performance.now();
    await closing;
    // The time a process takes to end is its own; nobody waits for the rest of its second.
    expect(performance.now() - goneAt).toBeLessThan(700);
    expect(server.messages).toEqual([{ ready: true }]);
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(server.ends).toEqual([expect.any(StoppedError)]);
    expect(server.link.pid).toBeUndefined();
    expect(server.order).toEqual(['spawn', 'message', 'reaped', 'end']);
  });

  test('one that ignores end and SIGTERM is asked both ways, a second each, and gone', async () => {
    const server = await openTo(['stubborn.mjs']);
    const start = performance.now();
    await server.link.close();
    const took = performance.now() - start;
    expect(took).toBeGreaterThan(1900);
    // Two graces of a second, and a machine that is busy; not a grace for each of its signals, and more.
    expect(took).toBeLessThan(8000);
    expect(server.messages).toEqual([{ ready: true }, { heard: 'end' }, { heard: 'SIGTERM' }]);
    expect(isGroupRunning(server.pid)).toBe(false);
  });

  test('kill ends it at once', async () => {
    const server = await openTo(['stubborn.mjs']);
    const start = performance.now();
    server.link.kill();
    await ended(server);
    // It was not asked first, which would take two seconds.
    expect(performance.now() - start).toBeLessThan(1900);
    expect(server.messages).not.toContainEqual({ heard: 'SIGTERM' });
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(server.order).toEqual(['spawn', 'message', 'reaped', 'end']);
  });

  test('kill drops the answers that are on their way', async () => {
    const server = await openTo(['echo.mjs']);
    for (let id = 1; id <= 200; id += 1) server.link.send(request(id, { size: 64 * 1024 }), id);
    await vi.waitFor(() => expect(server.messages.length).toBeGreaterThan(2), {
      timeout: 30_000,
      interval: 1,
    });
    server.link.kill();
    const count = server.messages.length;
    await ended(server);
    expect(count).toBeLessThan(201);
    expect(server.messages).toHaveLength(count);
  });

  test('kill cuts a graceful end short', async () => {
    const server = await openTo(['stubborn.mjs']);
    const start = performance.now();
    const closing = server.link.close();
    server.link.kill();
    await closing;
    expect(performance.now() - start).toBeLessThan(1900);
    expect(server.messages).not.toContainEqual({ heard: 'SIGTERM' });
    expect(server.ends).toHaveLength(1);
  });

  test('a stubborn grandchild is gone with its launcher', async () => {
    const server = await openTo(['launcher.mjs', 'stay']);
    const grandchild = identityOf(Number(server.messages[0]?.grandchild));
    expect(isAlive(grandchild)).toBe(true);
    await server.link.close();
    expect(isAlive(grandchild)).toBe(false);
    expect(isGroupRunning(server.pid)).toBe(false);
  });

  test('a grandchild that is left when its launcher exits by itself is ended, too', async () => {
    const server = await openTo(['launcher.mjs', 'leave']);
    const grandchild = Number(server.messages[0]?.grandchild);
    await ended(server);
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(isAlive({ pid: grandchild, startTime: undefined })).toBe(false);
    expect(server.ends[0]?.message).toContain('exited with code 0');
  });

  test('closing or killing in the tick of opening leaves nothing behind', async () => {
    for (const way of ['close', 'kill'] as const) {
      let pid = 0;
      const server = linkTo(['stubborn.mjs'], {
        onSpawn: (spawned) => {
          pid = spawned;
        },
      });
      const opening = server.link.open();
      void server.link[way]();
      await expect(opening).rejects.toBeInstanceOf(StoppedError);
      await server.link.close();
      expect(pid).toBeGreaterThan(1);
      expect(isGroupRunning(pid)).toBe(false);
      expect(server.ends).toHaveLength(1);
    }
  });

  test('a link that was closed before it was opened starts nothing', async () => {
    const server = linkTo(['echo.mjs']);
    await server.link.close();
    await expect(server.link.open()).rejects.toBeInstanceOf(StoppedError);
    expect(server.order).toEqual(['end']);
  });

  test('a server that exits says why, and its last words are kept', async () => {
    const server = linkTo(['exits-at-once.mjs'], {
      env: { TOKEN: 'top-secret' },
      redactor: new Redactor(['top-secret']),
    });
    await server.link.open();
    await ended(server);
    expect(server.ends[0]).toMatchObject({ code: 'ERR_CONNECTION_LOST' });
    expect(server.ends[0]?.message).toMatch(
      /exited with code 3; .*fatal: no key given, TOKEN is \[redacted\]$/,
    );
    expect(server.link.stderrTail).toEqual(['fatal: no key given, TOKEN is [redacted]']);
    expect(server.stderr).toEqual(server.link.stderrTail);
  });

  test('a Node program that ends by an error tells the error, and not the version of Node', async () => {
    const server = linkTo(['no-such-script.mjs']);
    await server.link.open();
    await ended(server);
    expect(server.ends[0]?.message).toMatch(
      /exited with code 1; its last error on stderr: Error: Cannot find module '.*no-such-script\.mjs'$/,
    );
    expect(server.link.stderrTail.at(-1)).toBe(`Node.js ${process.version}`);
  });

  test('fifty links leave no listener and no process behind', async () => {
    const count = (): number =>
      process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    const before = count();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on('warning', onWarning);
    for (let round = 0; round < 5; round += 1) {
      const servers = Array.from({ length: 10 }, () => linkTo(['exits-at-once.mjs']));
      await Promise.all(servers.map(({ link }) => link.open()));
      await Promise.all(servers.map(ended));
    }
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect(count()).toBe(before);
  });
});

describe('a server that cannot be started', () => {
  test('a program that is not on the PATH is named, and the PATH', async () => {
    const { error, recorded } = await failureOf({ command: 'no-such-program', env: { PATH: '/nowhere' } });
    expect(error.message).toMatch(/could not start "no-such-program" in .*\/nowhere.*PATH under `env:`/);
    expect(recorded.ends).toEqual([error]);
    expect(recorded.order).toEqual(['end']);
  });

  test('a missing file, folder or interpreter and a missing right are told apart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
    try {
      const plain = join(folder, 'plain');
      writeFileSync(plain, '#!/no/such/interpreter\n', { mode: 0o600 });
      expect((await failureOf({ command: plain })).error.message).toContain('may not be executed');
      chmodSync(plain, 0o700);
      expect((await failureOf({ command: plain })).error.message).toContain('interpreter');
      expect((await failureOf({ command: `${folder}/none` })).error.message).toContain('no such file');
      expect((await failureOf({ command: folder })).error.message).toContain('it is a folder');
      const { error } = await failureOf({ cwd: join(folder, 'none') });
      expect(error.message).toContain(`in ${join(folder, 'none')}: that folder does not exist`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('neither arguments nor secrets are shown', async () => {
    const { error } = await failureOf({
      command: 'no-such-program',
      args: ['--key', 'in-the-arguments'],
      env: { PATH: '/with/top-secret/in' },
      redactor: new Redactor(['top-secret']),
    });
    expect(JSON.stringify({ ...error, message: error.message, cause: error.cause })).not.toMatch(
      /top-secret|in-the-arguments/,
    );
    const { error: large } = await failureOf({ args: ['top-secret'.repeat(300_000)] });
    expect(large.message).toContain('larger than the system allows');
    expect(large.message).not.toContain('top-secret');
  });
});

describe('messages of a local server', () => {
  test('two hundred parallel answers of 64 KB all arrive', async () => {
    const server = await openTo(['echo.mjs']);
    for (let id = 1; id <= 200; id += 1) server.link.send(request(id, { size: 64 * 1024 }), id);
    await vi.waitFor(() => expect(server.messages).toHaveLength(201), { timeout: 30_000 });
    const answers = server.messages.slice(1) as { id: number; result: { text: string } }[];
    expect(answers.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
    expect(answers.every(({ result }) => result.text.length === 64 * 1024)).toBe(true);
  });

  test('large and small requests arrive whole and in order, with line breaks turned into spaces', async () => {
    const server = await openTo(['echo.mjs'], { maxMessageBytes: 8 * 1024 * 1024 });
    const sizes = [0, 70_000, 10, 3_000_000, 1, 65_536, 2];
    for (const [at, size] of sizes.entries()) server.link.send(request(at, { pad: 'p'.repeat(size) }), at);
    server.link.send(Buffer.from('{"id":7,\r\n"method":"x",\n"params":{"a":"b\\n"}}'), 7);
    await vi.waitFor(() => expect(server.messages).toHaveLength(9), { timeout: 30_000 });
    const answers = server.messages.slice(1) as { id: number; result: { got: { pad: string; a: string } } }[];
    expect(answers.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(answers.slice(0, 7).map(({ result }) => result.got.pad.length)).toEqual(sizes);
    expect(answers[7]?.result.got.a).toBe('b\n');
    expect(server.link.queuedBytes).toBe(0);
    // The large one was never put together.
    expect(server.large.map((message) => isInPieces(message) && whole(message).length)).toEqual([3_000_062]);
  });

  test('only well-formed answers come in pieces; what else is large goes the way of all lines', async () => {
    const seen: string[] = [];
    const end = await new Promise<GatewayError>((onEnd) => {
      const options = { command: process.execPath, args: ['large-lines.mjs'], cwd: fixtures };
      const env = { PATH: process.env.PATH ?? '' };
      const redactor = new Redactor([]);
      const onNoise = (line: string) => seen.push(`noise ${line.slice(0, 10)}`);
      const link = new StdioLink(
        { ...options, env, redactor, onNoise, maxMessageBytes: 1024 * 1024 },
        {
          onMessage: (bytes) => seen.push(`message ${bytes.length} ${bytes.toString('latin1', 0, 27)}`),
          onLargeAnswer: (answer) =>
            seen.push(`answer ${answer.rawId} ${isInPieces(answer.message)} ${answer.bytes.length}`),
          onOversized: () => {},
          onUndelivered: () => {},
          onEnd,
        },
      );
      void link.open();
    });
    expect(end).toBeInstanceOf(ConnectionLostError);
    expect(seen).toEqual([
      'answer 1 true 400046',
      'answer 2 true 400056',
      'message 400072 {"jsonrpc":"2.0","method":"',
      'message 400061 {"jsonrpc":"2.0","id":3,"me',
      `message 400022 ${'{"id":4,"result":"'.padEnd(27, 'x')}`,
      'noise no message',
      'answer 5 true 400021',
      'noise {"id":6,"r',
    ]);
  });

  test('noise is told and never an error; split characters, CRLF and a huge line are handled', async () => {
    const server = linkTo(['noisy.mjs'], {
      env: { TOKEN: 'top-secret' },
      redactor: new Redactor(['top-secret']),
    });
    await server.link.open();
    await ended(server);
    expect(server.messages).toEqual([
      { jsonrpc: '2.0', method: 'grüße', params: { text: '€ 🎭' } },
      [{ jsonrpc: '2.0', method: 'batch' }],
    ]);
    expect(server.oversized).toEqual([{ size: 10 * 1024 * 1024 + 54, id: '41' }]);
    expect(server.link.noiseLines).toBe(5);
    expect(server.noise).toEqual([
      'Server v1.2 is listening',
      '',
      '   ',
      expect.stringMatching(/^token \[redacted\] b{100,200}…$/),
      '{"unfinished":',
    ]);
    expect(server.ends[0]?.message).toContain('exited with code 0');
  });

  test('a flood on stderr stalls nobody and is kept short', async () => {
    const server = await openTo(['floods-stderr.mjs']);
    await server.link.close();
    expect(server.link.stderrTail).toHaveLength(50);
    expect(server.link.stderrTail.at(-1)).toBe('line 199999 of the flood');
    expect(server.stderr.length).toBeLessThan(2000);
    const told = server.stderr.map((line) =>
      Number(/^\[(\d+) more lines? not shown\]$/.exec(line)?.[1] ?? 1),
    );
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(200_000);
  });

  test('what a paused link holds back comes after resume', async () => {
    const server = await openTo(['echo.mjs']);
    server.link.pause();
    server.link.send(request(1), 1);
    server.link.send(request(2), 2);
    const other = await openTo(['echo.mjs']);
    other.link.send(request(1), 1);
    await vi.waitFor(() => expect(other.messages).toHaveLength(2), { timeout: 30_000 });
    expect(server.messages).toHaveLength(1);
    server.link.resume();
    await vi.waitFor(() => expect(server.messages).toHaveLength(3), { timeout: 30_000 });
  });
});

describe('a server that does not read', () => {
  const megabyte = 1024 * 1024;

  test('is sent no more than the bound; calls beyond it are refused as not carried out', async () => {
    const server = await openTo(['deaf.mjs'], { maxQueuedBytes: 4 * megabyte });
    for (let id = 1; id <= 10; id += 1) server.link.send(request(id, { pad: 'p'.repeat(megabyte) }), id);
    expect(server.undelivered).toEqual([]);
    await vi.waitFor(() => expect(server.undelivered).toHaveLength(7), { timeout: 30_000 });
    expect(server.link.queuedBytes).toBeLessThanOrEqual(4 * megabyte);
    expect(server.undelivered.map(({ call }) => call)).toEqual([4, 5, 6, 7, 8, 9, 10]);
    for (const { error, wasCarriedOut } of server.undelivered) {
      expect(error).toBeInstanceOf(OverloadedError);
      expect(wasCarriedOut).toBe(false);
    }
  });

  test('calls that never left are given back when it dies, those that may have left are not', async () => {
    const server = await openTo(['deaf.mjs']);
    for (let id = 1; id <= 4; id += 1) server.link.send(request(id, { pad: 'p'.repeat(megabyte) }), id);
    await vi.waitFor(() => expect(server.link.queuedBytes).toBeGreaterThan(0), { timeout: 30_000 });
    // The first fills the pipe; another that waits is taken back and not reported.
    await new Promise((resolve) => setImmediate(resolve));
    server.link.forget(3);
    process.kill(server.pid, 'SIGKILL');
    await ended(server);
    expect(server.undelivered.map(({ call }) => call)).toEqual([2, 4]);
    expect(server.undelivered.every(({ wasCarriedOut }) => !wasCarriedOut)).toBe(true);
    expect(server.order.at(-1)).toBe('end');
    server.link.send(request(9), 9);
    await vi.waitFor(() => expect(server.undelivered).toHaveLength(3), { timeout: 30_000 });
  });

  test('a closed stdin is no unhandled EPIPE: the server is ended', async () => {
    const server = await openTo(['deaf.mjs', 'closed']);
    for (let id = 1; id <= 50; id += 1) server.link.send(request(id, { pad: 'p'.repeat(10_000) }), id);
    await ended(server);
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(server.ends[0]).toMatchObject({ code: 'ERR_CONNECTION_LOST' });
  });

  test('an exit in the middle of writing crashes nothing, and every answer given before arrives', async () => {
    for (let round = 0; round < 5; round += 1) {
      const server = await openTo(['echo.mjs', '20']);
      for (let id = 1; id <= 500; id += 1) server.link.send(request(id, { pad: 'p'.repeat(5000) }), id);
      await ended(server);
      expect(server.messages).toHaveLength(21);
      expect(server.ends[0]?.message).toContain('exited with code 7');
      expect(server.order.at(-1)).toBe('end');
    }
  });
});
