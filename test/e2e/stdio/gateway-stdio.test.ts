// gateway-stdio as a process: stdout, exit, the servers that it starts, and clients that send invalid input
// or do not read.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { callOnce, isAlive, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { configured, StdioWrapper, stdioFile } from '../../fixtures/gateway/stdio-gateway.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

/** Shorter than the grace period of calls in flight. */
const AT_ONCE_MS = 600;
/** The clients of the public SDK send SIGKILL after this time. */
const ENDS_WITHIN_MS = 4_000;

/** On a busy machine the exit may include a part of the start time. */
async function exitCodeWithin(wrapper: StdioWrapper, ms: number): Promise<number | null> {
  const began = performance.now();
  const code = await wrapper.exited;
  expect(performance.now() - began).toBeLessThan(ms + wrapper.startMs);
  return code;
}

/** Expects that all lines of stdout are JSON-RPC messages. */
function expectPure(wrapper: StdioWrapper): void {
  expect(wrapper.stdout === '' || wrapper.stdout.endsWith('\n')).toBe(true);
  for (const message of wrapper.messages) {
    expect(message.jsonrpc).toBe('2.0');
    expect('method' in message || 'result' in message || 'error' in message).toBe(true);
  }
}

describe('stdout of gateway-stdio', () => {
  test('contains only JSON-RPC messages, even if servers print other text, and stderr contains the log', async () => {
    const wrapper = new StdioWrapper(
      configured({
        servers: {
          noisy: fault('noisy', { env: { TOKEN: 'a-secret-token' } }),
          echo: fault('echo', { env: { SAY: 'my token is a-secret-token' } }),
          broken: { command: process.execPath, args: ['-e', 'console.log("{oops"); process.exit(3)'] },
        },
        settings: { log_level: 'trace' },
      }),
    );
    await wrapper.initialize();
    await wrapper.request(1, 'tools/list');
    const { result } = await wrapper.request(2, 'tools/call', {
      name: 'noisy__echo',
      arguments: { word: 'ä' },
    });
    expect(result.content[0].text).toBe('€ grüße 🎭 ä');
    await wrapper.request(3, 'tools/call', { name: 'echo__say', arguments: { stderr: 'a word' } });
    wrapper.child.stdin.end();
    expect(await wrapper.exited).toBe(0);
    expectPure(wrapper);
    expect(wrapper.stderr).toContain('a word');
    expect(wrapper.stderr).toContain('not an MCP message: Server v1.2 is listening');
    expect(wrapper.stderr).not.toContain('a-secret-token');
    expect(wrapper.stderr).not.toMatch(signsOfBugs);
  });

  test('is empty for a wrong configuration; all problems are on stderr', async () => {
    const wrapper = new StdioWrapper(
      configured({
        servers: { one: { comand: 'x' }, two: { url: 'ftp://x' } },
        settings: { log_level: 'loud' },
      }),
    );
    expect(await wrapper.exited).toBe(2);
    expect(wrapper.stdout).toBe('');
    expect(wrapper.stderr).toMatch(/log_level/);
    expect(wrapper.stderr).toMatch(/comand/);
    expect(wrapper.stderr).toMatch(/two\.url/);
  });
});

describe('the command line of gateway-stdio', () => {
  const cases: [string, string[], RegExp][] = [
    ['neither a file nor an address', [], /one of --config <file>, --catalog <file> and --url <address>/],
    [
      'both',
      ['--config', 'x', '--url', 'http://x'],
      /'--url <address>' cannot be used with option '-c, --config <file>'/,
    ],
    [
      'a header with a file',
      ['--config', 'x', '--header', 'A: b'],
      /'--header <line>' cannot be used with option '-c, --config <file>'/,
    ],
    [
      'a server with an address',
      ['--url', 'http://x', '--server', 'a'],
      /'--server <id>' cannot be used with option '--url <address>'/,
    ],
    ['a header without a name', ['--url', 'http://x', '--header', 'hush-hush'], /Name: value/],
    ['a header twice', ['--url', 'http://x', '--header', 'A: hush-hush', '--header', 'A: b'], /twice/],
    ['a header of our own', ['--url', 'http://x', '--header', 'Accept: hush-hush'], /set by the gateway/],
    ['a bad header', ['--url', 'http://x', '--header', 'A: hush-hush\u0007'], /control characters/],
    [
      'a variable that is not set',
      ['--url', 'http://x', '--header', `A: \${NO_SUCH_VARIABLE}`],
      /is not set/,
    ],
    ['an address that is none', ['--url', 'hush-hush'], /http:\/\/ or https:\/\//],
    ['an unknown option', ['--headr=hush-hush'], /unknown option '--headr'/],
  ];
  test.each(cases)('rejects %s, exits with 2, and prints no value', async (_, args, message) => {
    const wrapper = new StdioWrapper(args);
    expect(await wrapper.exited).toBe(2);
    expect(wrapper.stdout).toBe('');
    expect(wrapper.stderr).toMatch(message);
    expect(wrapper.stderr).not.toContain('hush-hush');
  });

  test('rejects an unknown server in --server, and lists the known servers', async () => {
    const wrapper = new StdioWrapper(
      configured({ servers: { a: fault('echo'), b: fault('echo') } }, '--server', 'c'),
    );
    expect(await wrapper.exited).toBe(2);
    expect(wrapper.stderr).toContain('a, b');
  });

  test('prints a configuration entry for desktop clients with the names of variables, not their values', async () => {
    const args = configured({
      servers: { a: fault('echo', { env: { A: `\${SOME_TOKEN}`, B: `\${OTHER:-x}` } }) },
    });
    const env = { SOME_TOKEN: 'hush-hush' };
    const local = new StdioWrapper([...args, '--server', 'a', '--print-config'], env);
    expect(await local.exited).toBe(0);
    expect(JSON.parse(local.stdout)).toEqual({
      mcpServers: {
        'actor-gateway': {
          command: process.execPath,
          args: [stdioFile, ...args, '--server', 'a'],
          env: { SOME_TOKEN: `\${SOME_TOKEN}` },
        },
      },
    });
    const url = 'http://127.0.0.1:8080/mcp';
    const header = ['--header', `A: Bearer \${SOME_TOKEN}`, '--header', 'X-API-Key: hush-hush'];
    const remote = new StdioWrapper(['--url', url, ...header, '--print-config'], env);
    expect(await remote.exited).toBe(0);
    const entry = JSON.parse(remote.stdout).mcpServers['actor-gateway'];
    expect(entry.args.slice(1)).toEqual([
      '--url',
      url,
      '--header',
      `A: Bearer \${SOME_TOKEN}`,
      '--header',
      `X-API-Key: \${X_API_KEY}`,
    ]);
    expect(entry.env).toEqual({ SOME_TOKEN: `\${SOME_TOKEN}`, X_API_KEY: `\${X_API_KEY}` });
  });

  test('treats a variable whose value is still its own placeholder as unset', async () => {
    const env = { DESKTOP_KEY: `\${DESKTOP_KEY}` };
    const header = ['--header', `X-API-Key: \${DESKTOP_KEY}`];
    const bridge = new StdioWrapper(['--url', 'http://127.0.0.1:1/mcp', ...header], env);
    expect(await bridge.exited).toBe(2);
    expect(bridge.stderr).toMatch(/headers\.X-API-Key: .*DESKTOP_KEY is not set/);
    const servers = { echo: fault('echo', { env: { KEY: `\${DESKTOP_KEY}` } }) };
    const local = new StdioWrapper(configured({ servers }), env);
    expect(await local.exited).toBe(2);
    expect(local.stderr).toContain('DESKTOP_KEY is not set');
  });
});

test('gateway-stdio --url reports an unreachable URL without hints about the catalog or server ids', async () => {
  const wrapper = new StdioWrapper(['--url', 'http://127.0.0.1:1/mcp']);
  const { error } = await wrapper.initialize();
  expect(error.message).toContain('could not connect to http://127.0.0.1:1/mcp');
  expect(error.message).toContain('check the address');
  expect(error.message).not.toMatch(/catalog|\/servers\//);
});

describe('the end of gateway-stdio', () => {
  test('follows the end of stdin immediately if no call is running', async () => {
    const wrapper = new StdioWrapper(configured({ servers: { echo: fault('echo') } }));
    await wrapper.initialize();
    await wrapper.request(1, 'tools/list');
    const pid = await wrapper.call(2, 'echo__pid');
    wrapper.child.stdin.end();
    expect(await exitCodeWithin(wrapper, AT_ONCE_MS)).toBe(0);
    expect(isAlive(pid)).toBe(false);
  });

  test('follows the end of stdin after calls that were sent before have finished', async () => {
    const wrapper = new StdioWrapper(configured({ servers: { echo: fault('echo') } }, '--server', 'echo'));
    await wrapper.initialize();
    await wrapper.call(1, 'pid');
    wrapper.send({ id: 2, method: 'tools/call', params: { name: 'wait', arguments: { ms: 100 } } });
    wrapper.child.stdin.end('{"jsonrpc":"2.0","id":3,"method":"ping"}');
    expect(await wrapper.exited).toBe(0);
    expect((await wrapper.answer(2)).result.content[0].text).toBe('waited 100');
    expect((await wrapper.answer(3)).result).toEqual({});
  });

  test.concurrent.each(['stdin', 'SIGTERM', 'SIGINT', 'stdout'])(
    'by %s stops servers that ignore the end of their stdin, and fails unanswered calls',
    async (how) => {
      const wrapper = new StdioWrapper(
        configured({
          servers: { stubborn: fault('stubborn', { env: { GRANDCHILD: '1' } }), echo: fault('echo') },
        }),
      );
      await wrapper.initialize();
      await wrapper.request(1, 'tools/list');
      const pids: number[] = await wrapper.call(2, 'stubborn__pids');
      wrapper.send({ id: 3, method: 'tools/call', params: { name: 'echo__hang', arguments: {} } });
      wrapper.send({ id: 4, method: 'tools/call', params: { name: 'echo__count', arguments: { steps: 9 } } });
      await wrapper.answer(4);
      if (how === 'stdin') wrapper.child.stdin.end();
      else if (how !== 'stdout') wrapper.child.kill(how as NodeJS.Signals);
      else {
        wrapper.child.stdout.destroy();
        wrapper.send({ id: 5, method: 'ping' });
      }
      expect(await exitCodeWithin(wrapper, ENDS_WITHIN_MS)).toBe(0);
      expect(pids).toHaveLength(2);
      expect(pids.filter(isAlive)).toEqual([]);
      expectPure(wrapper);
      if (how === 'stdout') return;
      expect((await wrapper.answer(3)).error.message).toContain('stopped');
    },
  );

  test('by kill -9 leaves server processes, which the next start in the same folder kills', async () => {
    const folder = temporaryFolder();
    const servers = { stubborn: fault('stubborn') };
    const first = new StdioWrapper(configured({ folder, servers }));
    await first.initialize();
    await first.request(1, 'tools/list');
    const [pid] = await first.call(2, 'stubborn__pids');
    first.child.kill('SIGKILL');
    await first.exited;
    expect(isAlive(pid)).toBe(true);
    const second = new StdioWrapper(configured({ folder, servers }));
    await second.initialize();
    expect(isAlive(pid)).toBe(false);
    second.child.stdin.end();
    expect(await second.exited).toBe(0);
  });
});

test('of two gateway-stdio processes in the folder of a gateway, one can end without effect on the other or the gateway', async () => {
  const servers = { echo: fault('echo') };
  const gateway = await startGateway({ servers });
  const { folder } = gateway;
  const before = Number((await callOnce(gateway.url, 'echo', 'pid')).text);
  const both = [
    new StdioWrapper(configured({ folder, servers })),
    new StdioWrapper(configured({ folder, servers })),
  ];
  const pids = await Promise.all(
    both.map(async (wrapper) => {
      await wrapper.initialize();
      await wrapper.request(1, 'tools/list');
      return wrapper.call(2, 'echo__pid');
    }),
  );
  expect(new Set([before, ...pids]).size).toBe(3);
  both[0]?.child.stdin.end();
  expect(await both[0]?.exited).toBe(0);
  expect(isAlive(pids[0])).toBe(false);
  expect(await both[1]?.call(3, 'echo__pid')).toBe(pids[1]);
  expect(Number((await callOnce(gateway.url, 'echo', 'pid')).text)).toBe(before);
  both[1]?.child.stdin.end();
  expect(await both[1]?.exited).toBe(0);
  expect(await gateway.stop()).toBe(0);
});

describe('requests without a session over stdio', () => {
  const meta = {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  const listen = (id: string) => ({
    id,
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true }, ...meta },
  });

  test('are answered even while a session is open, and get no response if they are cancelled', async () => {
    const wrapper = new StdioWrapper(configured({ servers: { echo: fault('echo') } }));
    expect(await wrapper.request('d', 'server/discover', meta)).toMatchObject({
      result: { supportedVersions: expect.arrayContaining(['2026-07-28']) },
    });
    await wrapper.initialize();
    await wrapper.request('l', 'tools/list', meta);
    const cancelled = { name: 'echo__cancelled', arguments: {}, ...meta };
    // A request that is cancelled before the server runs is not sent. The session uses another process.
    await wrapper.request('c', 'tools/call', cancelled);
    const hang = { name: 'echo__hang', arguments: { label: 'h' }, ...meta };
    wrapper.send({ id: 'h', method: 'tools/call', params: hang });
    wrapper.send(listen('listening'));
    await until('the acknowledgement', () =>
      wrapper.messages.some(({ method }) => method === 'notifications/subscriptions/acknowledged'),
    );
    for (const requestId of ['h', 'listening', 'unknown'])
      wrapper.send({ method: 'notifications/cancelled', params: { requestId, ...meta } });
    await until('the cancellation at the server', async () => {
      const { result } = await wrapper.request(`c${performance.now()}`, 'tools/call', cancelled);
      return result.content[0].text === '[{"label":"h"}]';
    });
    expect(wrapper.messages.filter(({ id }) => id === 'h' || id === 'listening')).toEqual([]);
    expect(await wrapper.request('p', 'ping')).toMatchObject({ result: {} });
    wrapper.child.stdin.end();
    expect(await exitCodeWithin(wrapper, AT_ONCE_MS)).toBe(0);
    expectPure(wrapper);
  });

  test('complete immediately when the client closes stdin, if they are `subscriptions/listen`', async () => {
    const wrapper = new StdioWrapper(configured({ servers: { echo: fault('echo') } }));
    wrapper.send(listen('listening'));
    await until('the acknowledgement', () => wrapper.messages.length === 1);
    wrapper.child.stdin.end();
    expect(await exitCodeWithin(wrapper, AT_ONCE_MS)).toBe(0);
    expect(await wrapper.answer('listening')).toMatchObject({ result: { resultType: 'complete' } });
  });
});

describe('a client with invalid messages', () => {
  test('gets an error per line, and its valid messages are answered', async () => {
    const wrapper = new StdioWrapper(
      configured({ servers: { echo: fault('echo') }, settings: { limits: { body_bytes: 2048 } } }),
    );
    expect(await wrapper.request('early', 'ping')).toMatchObject({ result: {} });
    expect(await wrapper.request('none', 'tools/list')).toMatchObject({ error: { code: -32600 } });
    await wrapper.initialize();
    expect(await wrapper.request('again', 'initialize')).toMatchObject({ error: { code: -32600 } });
    const filler = 'x'.repeat(5000);
    const lines = [
      'no json',
      '',
      '  \r',
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
      '{"jsonrpc":"1.0","id":"old","method":"ping"}',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"text":"${filler}"}}`,
      `{"jsonrpc":"2.0","method":"tools/call","params":{"text":"${filler}"},"id":77}`,
      `{"jsonrpc":"2.0","id":"\\q","method":"x","params":"${filler}"}`,
      `{"jsonrpc":"2.0","id":"bell\u0007","method":"x","params":"${filler}"}`,
      `{"jsonrpc":"2.0","id":5,"result":"${filler}"}`,
      filler,
      '{"jsonrpc":"2.0","id":"last","method":"ping"}\r',
    ];
    wrapper.write(Buffer.concat([Buffer.from('\xff\xfe\n', 'latin1'), Buffer.from(`${lines.join('\n')}\n`)]));
    expect(await wrapper.answer('last')).toMatchObject({ result: {} });
    expect(await wrapper.answer('old')).toMatchObject({ error: { code: -32600 } });
    expect(await wrapper.answer('big')).toMatchObject({
      error: { code: -32600, message: expect.stringContaining('limits.body_bytes (2048)') },
    });
    expect(await wrapper.answer(77)).toMatchObject({ error: { code: -32600 } });
    const nameless = wrapper.messages.filter(({ id }) => id === null).map(({ error }) => error.code);
    expect(nameless.sort()).toEqual([-32600, -32600, -32600, -32600, -32600, -32700, -32700]);
    wrapper.child.stdin.end();
    expect(await wrapper.exited).toBe(0);
    expectPure(wrapper);
    expect(wrapper.stderr).not.toMatch(signsOfBugs);
  });
});

describe('a client that does not read', () => {
  const flooded = async (log: Record<string, unknown> = {}) => {
    const wrapper = new StdioWrapper(
      configured({ servers: { echo: fault('echo') }, settings: { limits: log } }, '--server', 'echo'),
    );
    await wrapper.initialize();
    await wrapper.call(1, 'pid');
    wrapper.child.stdout.pause();
    return wrapper;
  };

  test('pauses the reading of its requests, and receives all answers once it reads again', async () => {
    const wrapper = await flooded();
    const CALLS = 400;
    const bytes = 64 * 1024;
    // More than fits into the gateway.
    for (let n = 0; n < CALLS; n += 1)
      wrapper.send({ id: `big-${n}`, method: 'tools/call', params: { name: 'big', arguments: { bytes } } });
    const line = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x', params: 'y'.repeat(1000) });
    for (let n = 0; n < 20_000; n += 1) wrapper.write(`${line}\n`);
    await until('the full pipe', () => wrapper.child.stdin.writableLength > 1024 * 1024);
    expect(residentBytes(wrapper.pid)).toBeLessThan(400 * 1024 * 1024);
    wrapper.child.stdout.resume();
    await until('every answer', () => wrapper.stdout.includes(`"big-${CALLS - 1}"`), 60_000);
    expect(await wrapper.request('last', 'ping')).toMatchObject({ result: {} });
    wrapper.child.stdin.end();
    expect(await wrapper.exited).toBe(0);
    expect(wrapper.messages.filter(({ id }) => String(id).startsWith('big-'))).toHaveLength(CALLS);
  });

  test('ends the process with a message on stderr if a server keeps sending', async () => {
    const wrapper = await flooded({ message_bytes: 1024 * 1024 });
    const children = `/proc/${wrapper.pid}/task/${wrapper.pid}/children`;
    const pid = Number(readFileSync(children, 'latin1'));
    const flood = {
      name: 'flood',
      arguments: { messages: 2000, bytes: 100_000 },
      _meta: { progressToken: 1 },
    };
    wrapper.send({ id: 2, method: 'tools/call', params: flood });
    await until('the word', () => wrapper.stderr.includes('the client does not read its messages'));
    wrapper.child.stdout.resume();
    expect(await exitCodeWithin(wrapper, ENDS_WITHIN_MS)).toBe(1);
    expect(isAlive(pid)).toBe(false);
  });
});

function residentBytes(pid: number): number {
  const status = readFileSync(join('/proc', String(pid), 'status'), 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
