// Links to local servers, tested with the real processes of test/fixtures/children.

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
import { isInPieces, toBuffer } from '../../../actors/mcp/jsonrpc/span.ts';
import { StdioLink, type StdioLinkOptions } from '../../../actors/mcp/links/stdio/stdio-link.ts';
import { isGroupRunning } from '../../../actors/state/process-group.ts';
import { identityOf, isAlive } from '../../../actors/state/process-identity.ts';
import { fixtures, type RecordedLink, recordedLink, request } from '../../fixtures/children/recorded-link.ts';

const opened: RecordedLink[] = [];

function linkTo(script: string[], changes: Partial<StdioLinkOptions> = {}): RecordedLink {
  const recorded = recordedLink(script, changes);
  opened.push(recorded);
  return recorded;
}

/** Opens the link. Returns when the server is ready. */
async function openTo(
  script: string[],
  changes: Partial<StdioLinkOptions> = {},
): Promise<RecordedLink & { pid: number }> {
  const recorded = linkTo(script, changes);
  await recorded.link.open();
  const pid = recorded.link.pid ?? 0;
  await recorded.waitForFirstMessage();
  return { ...recorded, pid };
}

/** Blocks until the link has reported that it ended. */
async function waitForEnd({ ends }: RecordedLink): Promise<void> {
  await vi.waitFor(() => expect(ends).toHaveLength(1), { timeout: 30_000, interval: 10 });
}

/** Opens a link that cannot start its server. Returns the error. */
async function failToOpen(
  changes: Partial<StdioLinkOptions>,
): Promise<{ error: StartFailedError; recorded: RecordedLink }> {
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

describe('closing a link to a local server', () => {
  test('returns as soon as the server has exited after its stdin was closed', async () => {
    const server = await openTo(['echo.mjs']);
    const closing = server.link.close();
    await vi.waitFor(() => expect(isGroupRunning(server.pid)).toBe(false), { timeout: 10_000, interval: 5 });
    const exitedAt = performance.now();
    await closing;
    // The close takes as long as the process needs, not the full grace period of 1 s.
    expect(performance.now() - exitedAt).toBeLessThan(700);
    expect(server.messages).toEqual([{ ready: true }]);
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(server.ends).toEqual([expect.any(StoppedError)]);
    expect(server.link.pid).toBeUndefined();
    expect(server.order).toEqual(['spawn', 'message', 'reaped', 'end']);
  });

  test('closes stdin, sends SIGTERM after a second, and kills the server after another second if it still runs', async () => {
    const server = await openTo(['stubborn.mjs']);
    const start = performance.now();
    await server.link.close();
    const took = performance.now() - start;
    expect(took).toBeGreaterThan(1900);
    // Two grace periods of 1 s, plus tolerance for a busy machine.
    expect(took).toBeLessThan(8000);
    expect(server.messages).toEqual([{ ready: true }, { heard: 'end' }, { heard: 'SIGTERM' }]);
    expect(isGroupRunning(server.pid)).toBe(false);
  });

  test('with kill stops the server immediately', async () => {
    const server = await openTo(['stubborn.mjs']);
    const start = performance.now();
    server.link.kill();
    await waitForEnd(server);
    // Less than the two grace periods of 1 s.
    expect(performance.now() - start).toBeLessThan(1900);
    expect(server.messages).not.toContainEqual({ heard: 'SIGTERM' });
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(server.order).toEqual(['spawn', 'message', 'reaped', 'end']);
  });

  test('with kill drops pending responses', async () => {
    const server = await openTo(['echo.mjs']);
    for (let id = 1; id <= 200; id += 1) server.link.send(request(id, { size: 64 * 1024 }), id);
    await vi.waitFor(() => expect(server.messages.length).toBeGreaterThan(2), {
      timeout: 30_000,
      interval: 1,
    });
    server.link.kill();
    const count = server.messages.length;
    await waitForEnd(server);
    expect(count).toBeLessThan(201);
    expect(server.messages).toHaveLength(count);
  });

  test('with kill interrupts a graceful close', async () => {
    const server = await openTo(['stubborn.mjs']);
    const start = performance.now();
    const closing = server.link.close();
    server.link.kill();
    await closing;
    expect(performance.now() - start).toBeLessThan(1900);
    expect(server.messages).not.toContainEqual({ heard: 'SIGTERM' });
    expect(server.ends).toHaveLength(1);
  });

  test('ends a server that was started by a launcher such as npx, even if it ignores SIGTERM', async () => {
    const server = await openTo(['launcher.mjs', 'stay']);
    const grandchild = identityOf(Number(server.messages[0]?.grandchild));
    expect(isAlive(grandchild)).toBe(true);
    await server.link.close();
    expect(isAlive(grandchild)).toBe(false);
    expect(isGroupRunning(server.pid)).toBe(false);
  });

  test('happens when its launcher exits, and ends the server process that remains', async () => {
    const server = await openTo(['launcher.mjs', 'leave']);
    const grandchild = Number(server.messages[0]?.grandchild);
    await waitForEnd(server);
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(isAlive({ pid: grandchild, startTime: undefined })).toBe(false);
    expect(server.ends[0]?.message).toContain('exited with code 0');
  });

  test('by close or kill in the same tick as the opening leaves no process behind', async () => {
    for (const method of ['close', 'kill'] as const) {
      let pid = 0;
      const server = linkTo(['stubborn.mjs'], {
        onSpawn: (spawned) => {
          pid = spawned;
        },
      });
      const opening = server.link.open();
      void server.link[method]();
      await expect(opening).rejects.toBeInstanceOf(StoppedError);
      await server.link.close();
      expect(pid).toBeGreaterThan(1);
      expect(isGroupRunning(pid)).toBe(false);
      expect(server.ends).toHaveLength(1);
    }
  });

  test('before opening prevents the start', async () => {
    const server = linkTo(['echo.mjs']);
    await server.link.close();
    await expect(server.link.open()).rejects.toBeInstanceOf(StoppedError);
    expect(server.order).toEqual(['end']);
  });
});

describe('a local server that exits', () => {
  test('is reported with the exit cause and its last stderr lines', async () => {
    const server = linkTo(['exits-at-once.mjs'], {
      env: { TOKEN: 'top-secret' },
      redactor: new Redactor(['top-secret']),
    });
    await server.link.open();
    await waitForEnd(server);
    expect(server.ends[0]).toMatchObject({ code: 'ERR_CONNECTION_LOST' });
    expect(server.ends[0]?.message).toMatch(
      /exited with code 3; .*fatal: no key given, TOKEN is \[redacted\]$/,
    );
    expect(server.link.stderrTail).toEqual(['fatal: no key given, TOKEN is [redacted]']);
    expect(server.stderr).toEqual(server.link.stderrTail);
  });

  test('is reported with the error of its Node program, not with the Node version in its last line', async () => {
    const server = linkTo(['no-such-script.mjs']);
    await server.link.open();
    await waitForEnd(server);
    expect(server.ends[0]?.message).toMatch(
      /exited with code 1; its last error on stderr: Error: Cannot find module '.*no-such-script\.mjs'$/,
    );
    expect(server.link.stderrTail.at(-1)).toBe(`Node.js ${process.version}`);
  });

  test('leaves no process event listener and causes no Node warning, even after fifty servers', async () => {
    const count = (): number =>
      process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    const before = count();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on('warning', onWarning);
    for (let round = 0; round < 5; round += 1) {
      const servers = Array.from({ length: 10 }, () => linkTo(['exits-at-once.mjs']));
      await Promise.all(servers.map(({ link }) => link.open()));
      await Promise.all(servers.map(waitForEnd));
    }
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect(count()).toBe(before);
  });
});

describe('a local server that cannot be started', () => {
  test('is reported with the program and the PATH if the program is not found', async () => {
    const { error, recorded } = await failToOpen({ command: 'no-such-program', env: { PATH: '/nowhere' } });
    expect(error.message).toMatch(/could not start "no-such-program" in .*\/nowhere.*PATH under `env:`/);
    expect(recorded.ends).toEqual([error]);
    expect(recorded.order).toEqual(['end']);
  });

  test('is reported with different messages for a missing file, folder, interpreter or permission', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
    try {
      const plain = join(folder, 'plain');
      writeFileSync(plain, '#!/no/such/interpreter\n', { mode: 0o600 });
      expect((await failToOpen({ command: plain })).error.message).toContain('may not execute it');
      chmodSync(plain, 0o700);
      expect((await failToOpen({ command: plain })).error.message).toContain('interpreter');
      expect((await failToOpen({ command: `${folder}/none` })).error.message).toContain(
        'file does not exist',
      );
      expect((await failToOpen({ command: folder })).error.message).toContain('it is a folder');
      const { error } = await failToOpen({ cwd: join(folder, 'none') });
      expect(error.message).toContain(`in ${join(folder, 'none')}: that folder does not exist`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('is reported without arguments and secrets', async () => {
    const { error } = await failToOpen({
      command: 'no-such-program',
      args: ['--key', 'in-the-arguments'],
      env: { PATH: '/with/top-secret/in' },
      redactor: new Redactor(['top-secret']),
    });
    expect(JSON.stringify({ ...error, message: error.message, cause: error.cause })).not.toMatch(
      /top-secret|in-the-arguments/,
    );
    const { error: large } = await failToOpen({ args: ['top-secret'.repeat(300_000)] });
    expect(large.message).toContain('larger than the system allows');
    expect(large.message).not.toContain('top-secret');
  });
});

describe('messages of a local server', () => {
  test('include all of two hundred parallel responses of 64 KB', async () => {
    const server = await openTo(['echo.mjs']);
    for (let id = 1; id <= 200; id += 1) server.link.send(request(id, { size: 64 * 1024 }), id);
    await vi.waitFor(() => expect(server.messages).toHaveLength(201), { timeout: 30_000 });
    const answers = server.messages.slice(1) as { id: number; result: { text: string } }[];
    expect(answers.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
    expect(answers.every(({ result }) => result.text.length === 64 * 1024)).toBe(true);
  });

  test('arrive whole and in order, small and large, with line breaks replaced by spaces', async () => {
    const server = await openTo(['echo.mjs'], { maxMessageBytes: 8 * 1024 * 1024 });
    const sizes = [0, 70_000, 10, 3_000_000, 1, 65_536, 2];
    for (const [id, size] of sizes.entries()) server.link.send(request(id, { pad: 'p'.repeat(size) }), id);
    server.link.send(Buffer.from('{"id":7,\r\n"method":"x",\n"params":{"a":"b\\n"}}'), 7);
    await vi.waitFor(() => expect(server.messages).toHaveLength(9), { timeout: 30_000 });
    const answers = server.messages.slice(1) as { id: number; result: { got: { pad: string; a: string } } }[];
    expect(answers.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(answers.slice(0, 7).map(({ result }) => result.got.pad.length)).toEqual(sizes);
    expect(answers[7]?.result.got.a).toBe('b\n');
    expect(server.link.queuedBytes).toBe(0);
    // The large message is never assembled.
    expect(server.large.map((message) => isInPieces(message) && toBuffer(message).length)).toEqual([
      // The text of 3,000,000 characters and 62 bytes around it.
      3_000_062,
    ]);
  });

  test('arrive in pieces if they are large, valid responses; other large messages arrive as a line', async () => {
    const lines: string[] = [];
    const end = await new Promise<GatewayError>((onEnd) => {
      const options = { command: process.execPath, args: ['large-lines.mjs'], cwd: fixtures };
      const env = { PATH: process.env.PATH ?? '' };
      const redactor = new Redactor([]);
      const onNoise = (line: string) => lines.push(`noise ${line.slice(0, 10)}`);
      const link = new StdioLink(
        { ...options, env, redactor, onNoise, maxMessageBytes: 1024 * 1024 },
        {
          onMessage: (bytes) => lines.push(`message ${bytes.length} ${bytes.toString('latin1', 0, 27)}`),
          onLargeAnswer: (answer) =>
            lines.push(`answer ${answer.rawId} ${isInPieces(answer.message)} ${answer.bytes.length}`),
          onOversized: () => {},
          onUndelivered: () => {},
          onEnd,
        },
      );
      void link.open();
    });
    expect(end).toBeInstanceOf(ConnectionLostError);
    expect(lines).toEqual([
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

  test('are separated from other output on stdout, which is logged and is no error', async () => {
    const server = linkTo(['noisy.mjs'], {
      env: { TOKEN: 'top-secret' },
      redactor: new Redactor(['top-secret']),
    });
    await server.link.open();
    await waitForEnd(server);
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

  test('continue during a flood on stderr, which is truncated', async () => {
    const server = await openTo(['floods-stderr.mjs']);
    await server.link.close();
    expect(server.link.stderrTail).toHaveLength(50);
    expect(server.link.stderrTail.at(-1)).toBe('line 199999 of the flood');
    expect(server.stderr.length).toBeLessThan(2000);
    const stderrLines = server.stderr.map((line) =>
      Number(/^\[(\d+) more lines? not shown\]$/.exec(line)?.[1] ?? 1),
    );
    expect(stderrLines.reduce((sum, count) => sum + count, 0)).toBe(200_000);
  });

  test('are held by a paused link and delivered after resume', async () => {
    const server = await openTo(['echo.mjs']);
    server.link.pause();
    server.link.send(request(1), 1);
    server.link.send(request(2), 2);
    const unpaused = await openTo(['echo.mjs']);
    unpaused.link.send(request(1), 1);
    await vi.waitFor(() => expect(unpaused.messages).toHaveLength(2), { timeout: 30_000 });
    expect(server.messages).toHaveLength(1);
    server.link.resume();
    await vi.waitFor(() => expect(server.messages).toHaveLength(3), { timeout: 30_000 });
  });
});

describe('a local server that does not read', () => {
  const megabyte = 1024 * 1024;

  test('receives calls up to the queue limit; further calls are rejected as not executed', async () => {
    const server = await openTo(['deaf.mjs'], { maxQueuedBytes: 4 * megabyte });
    for (let id = 1; id <= 10; id += 1) server.link.send(request(id, { pad: 'p'.repeat(megabyte) }), id);
    expect(server.undelivered).toEqual([]);
    await vi.waitFor(() => expect(server.undelivered).toHaveLength(7), { timeout: 30_000 });
    expect(server.link.queuedBytes).toBeLessThanOrEqual(4 * megabyte);
    expect(server.undelivered.map(({ call }) => call)).toEqual([4, 5, 6, 7, 8, 9, 10]);
    for (const { error, mayHaveRun } of server.undelivered) {
      expect(error).toBeInstanceOf(OverloadedError);
      expect(mayHaveRun).toBe(false);
    }
  });

  test('whose process is killed has only its unsent calls reported as undelivered', async () => {
    const server = await openTo(['deaf.mjs']);
    for (let id = 1; id <= 4; id += 1) server.link.send(request(id, { pad: 'p'.repeat(megabyte) }), id);
    await vi.waitFor(() => expect(server.link.queuedBytes).toBeGreaterThan(0), { timeout: 30_000 });
    // The first call fills the pipe, so it was possibly sent. The other calls stay in the queue.
    await new Promise((resolve) => setImmediate(resolve));
    server.link.forget(3);
    process.kill(server.pid, 'SIGKILL');
    await waitForEnd(server);
    expect(server.undelivered.map(({ call }) => call)).toEqual([2, 4]);
    expect(server.undelivered.every(({ mayHaveRun }) => !mayHaveRun)).toBe(true);
    expect(server.order.at(-1)).toBe('end');
    server.link.send(request(9), 9);
    await vi.waitFor(() => expect(server.undelivered).toHaveLength(3), { timeout: 30_000 });
  });

  test('but closes its stdin is terminated, without an unhandled EPIPE', async () => {
    const server = await openTo(['deaf.mjs', 'closed']);
    for (let id = 1; id <= 50; id += 1) server.link.send(request(id, { pad: 'p'.repeat(10_000) }), id);
    await waitForEnd(server);
    expect(isGroupRunning(server.pid)).toBe(false);
    expect(server.ends[0]).toMatchObject({ code: 'ERR_CONNECTION_LOST' });
  });

  test('may exit during a write: the gateway does not crash, and earlier responses arrive', async () => {
    for (let round = 0; round < 5; round += 1) {
      const server = await openTo(['echo.mjs', '20']);
      for (let id = 1; id <= 500; id += 1) server.link.send(request(id, { pad: 'p'.repeat(5000) }), id);
      await waitForEnd(server);
      expect(server.messages).toHaveLength(21);
      expect(server.ends[0]?.message).toContain('exited with code 7');
      expect(server.order.at(-1)).toBe('end');
    }
  });
});
