// `top` in a pseudo terminal, and through a pipe.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { apiServer, ask, eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { mainFile, runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const broken = fault('exits-at-once', {
  env: { TOKEN: 'hush-hush-4711' },
  restart: { intensity: 0, park_seconds: 300 },
});

/** A call that succeeds. */
const call = (url: string, server: string) =>
  ask(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mcp-server': server },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid","arguments":{}}}',
  });

const fail = (url: string) => ask(`${url}/servers/broken/start`, { method: 'POST' });

/**
 * Returns a free port below the range for outgoing connections, so that no connection takes it during a
 * restart.
 */
async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((done) => {
      probe.once('error', () => done(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
    });
    if (isFree) return port;
  }
}

const first = (lines: readonly string[]) => lines.map((line) => line.split(/\s+/)[0] ?? '');

describe('the command `top` in a terminal', () => {
  test('shows the servers on the alternate screen and follows their changes', async () => {
    const { url } = await startGateway({ servers: { calm: apiServer(), busy: apiServer() } });
    const terminal = new Terminal(['top', '--url', url, '--interval', '0.2']);
    const [head, counts, , titles, ...rows] = await terminal.waitForText(/^busy/);
    expect(head).toMatch(
      new RegExp(`^${url} {2}up \\d+s {2}[-\\d.]+ requests/s {2}0 in flight {2}0 sessions {2}0 listening$`),
    );
    expect(counts).toMatch(/^2 servers: 2 stopped {2}sorted by activity; s: next order, q: quit$/);
    expect(titles).toMatch(
      /^SERVER +STATE +REQ\/S +IN FLIGHT +WAITING +REQUESTS +FAILED +TOOL ERRORS +RESTARTS +UPTIME +P50 +P95/,
    );
    expect(first(rows)).toEqual(['busy', 'calm']);
    await call(url, 'calm');
    const after = await terminal.waitForText(/^calm +running +\S+ +0 +0 +1 +0 +0 +0 +\d+s +[\d.]+m?s/);
    expect(first(after.slice(4))).toEqual(['calm', 'busy']);
    expect(terminal.text).toContain('␛[32mrunning');
    terminal.type('s');
    expect(first((await terminal.waitForText(/sorted by id/)).slice(4))).toEqual(['busy', 'calm']);
    terminal.type('q');
    expect(await terminal.waitForExit()).toMatch(/ENDED 0\r\nTERMINAL AS BEFORE/);
  });

  test('shows a failed server first, in red, with the reason and the next start', async () => {
    const { url } = await startGateway({ servers: { busy: apiServer(), broken } });
    await call(url, 'busy');
    await fail(url);
    const terminal = new Terminal(['top', '--url', url, '--interval', '0.2'], { columns: 250 });
    const [, counts, , , top, reason] = await terminal.waitForText(/^broken/);
    expect(counts).toMatch(/^2 servers: 1 failed, 1 running /);
    expect(top).toMatch(/^broken +PARKED /);
    expect(reason).toMatch(/^ +next try in [45]m \d\ds: .*exited with code 4/);
    expect(terminal.text).toMatch(/␛\[1;97;41mPARKED/);
    expect(terminal.text).toContain('␛[1;97;41m1 failed␛[0m');
    expect(terminal.text).not.toContain('hush');
    terminal.type('q');
    await terminal.waitForExit();
  });

  test('fits the window, counts hidden servers, and redraws after a resize', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `server-${String(at).padStart(2, '0')}`);
    const { url } = await startGateway({ servers: Object.fromEntries(ids.map((id) => [id, apiServer()])) });
    const terminal = new Terminal(['top', '--url', url, '--interval', '0.2'], { rows: 12, columns: 50 });
    const lines = await terminal.waitForText(/^and 53 more$/);
    expect(lines).toHaveLength(12);
    expect(first(lines.slice(4, 11))).toEqual(ids.slice(0, 7));
    for (const line of lines) expect(line.length).toBeLessThan(50);
    terminal.resize(20, 70);
    expect(await terminal.waitForText(/^and 45 more$/)).toHaveLength(20);
    terminal.type('q');
    await terminal.waitForExit();
  });

  test.each([
    ['Ctrl-C', (terminal: Terminal) => terminal.type('\u0003')],
    ['SIGTERM', (terminal: Terminal) => process.kill(terminal.pid, 'SIGTERM')],
    ['SIGHUP', (terminal: Terminal) => process.kill(terminal.pid, 'SIGHUP')],
  ])('restores the terminal after %s', async (_, end) => {
    const { url } = await startGateway({ servers: { one: apiServer() } });
    const terminal = new Terminal(['top', '--url', url]);
    await terminal.waitForText(/^one/);
    end(terminal);
    expect(await terminal.waitForExit()).toMatch(/^␛\[\?1049lENDED 0\r\nTERMINAL AS BEFORE/);
    expect(terminal.text.match(/␛\[\?1049h␛\[\?25l/g)).toHaveLength(1);
    expect(terminal.text.match(/␛\[\?25h␛\[\?1049l/g)).toHaveLength(1);
  });

  test('restores the terminal during a suspension, and redraws afterwards', async () => {
    const { url } = await startGateway({ servers: { one: apiServer() } });
    const terminal = new Terminal(['top', '--url', url]);
    await terminal.waitForText(/^one/);
    terminal.type('\u001a');
    await eventually('the ordinary screen', () => terminal.text.endsWith('␛[?25h␛[?1049l'));
    // SIGCONT has no effect on a process that has not stopped yet.
    await eventually('the suspension', () => terminal.isSuspended);
    process.kill(terminal.pid, 'SIGCONT');
    await eventually('the window', () =>
      /␛\[\?1049h␛\[\?25l␛\[H.*one/s.test(terminal.text.split('␛[?1049l')[1] ?? ''),
    );
    terminal.type('q');
    expect(await terminal.waitForExit()).toMatch(/ENDED 0\r\nTERMINAL AS BEFORE/);
  });

  test('waits for a restarting gateway, with a notice', async () => {
    const servers = { one: apiServer(), two: apiServer() };
    const settings = { listen_addr: `127.0.0.1:${await lastingPort()}` };
    const before = await startGateway({ servers, settings });
    const terminal = new Terminal(['top', '--url', before.url, '--interval', '0.2'], { columns: 160 });
    await call(before.url, 'one');
    // The next gateway will show a shorter uptime.
    await terminal.waitForText(/up [2-9]s/);
    await before.stop();
    const lines = await terminal.waitForText(/^NO RESPONSE for \d+s, .* no gateway listens at /);
    expect(first(lines.slice(4))).toEqual(['one', 'two']);
    await startGateway({ servers, settings, folder: before.folder });
    const frameAfterRestart = await terminal.waitForText(/^the gateway restarted \d+s ago$/);
    expect(frameAfterRestart.join('\n')).not.toContain('NO RESPONSE');
    terminal.type('q');
    expect(await terminal.waitForExit()).toContain('TERMINAL AS BEFORE');
  });

  test('has no colours with NO_COLOR', async () => {
    const { url } = await startGateway({ servers: { one: apiServer() } });
    const terminal = new Terminal(['top', '--url', url], { env: { NO_COLOR: '1' } });
    await terminal.waitForText(/^one +stopped/);
    terminal.type('q');
    await terminal.waitForExit();
    expect(terminal.text).not.toMatch(/␛\[[\d;]*m/);
  });
});

describe('the command `top` without a terminal', () => {
  test('prints one plain frame with --once', async () => {
    const { url } = await startGateway({ servers: { one: apiServer(), broken } });
    await fail(url);
    const { code, stdout, stderr } = await runMain(['top', '--once', '--url', url]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('\u001b');
    expect(first(stdout.trimEnd().split('\n').slice(4))).toEqual(['broken', '', 'one']);
  });

  test('prints frames with rates until the reader closes the pipe', async () => {
    const { url } = await startGateway({ servers: { one: apiServer() } });
    const child = spawn(process.execPath, [mainFile, 'top', '--interval', '0.2', '--url', url], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    const closed = new Promise<number | null>((done) => child.once('exit', done));
    await eventually('two frames', () => stdout.split('SERVER ').length > 2);
    const calls = setInterval(() => void call(url, 'one'), 50);
    await eventually('a rate', () => /^one +running +[1-9]\d*\.\d/m.test(stdout)).finally(() =>
      clearInterval(calls),
    );
    expect(stdout).not.toContain('\u001b');
    child.stdout.destroy();
    expect([await closed, stderr]).toEqual([0, '']);
  });
});
