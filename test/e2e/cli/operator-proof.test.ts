// Commands and foreign listeners on the port of the gateway: only the gateway of the folder receives the
// operator token, also while it boots or stops.

import { createServer, request, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { fixture } from '../../fixtures/clients/api-client.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { startGateway, temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { operatorTokenIn } from '../../fixtures/gateway/operator.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const env = { GATEWAY_API_KEY: '' };
const stubborn = { command: process.execPath, args: [fixture('stubborn.mjs')] };
let foreign: Server | undefined;

afterEach(() => {
  foreign?.closeAllConnections();
  foreign?.close();
});

/**
 * Listens on the port of the gateway once it is free, and relays requests to the port `relayTo`, if given.
 * Returns the headers of all received requests.
 */
async function takePort(port: number, relayTo?: number): Promise<string[]> {
  const received: string[] = [];
  const server = createServer((message, response) => {
    received.push(JSON.stringify(message.headers));
    if (relayTo === undefined) {
      response.end('{"ok":true}');
      return;
    }
    const { url = '', method = '', headers } = message;
    // Every path returns a proof. `/servers` has no effect, unlike command paths.
    const path = url === '/health' ? url : '/servers';
    const forwarded = request({ host: '127.0.0.1', port: relayTo, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.writeHead(502).end('{}'));
    message.pipe(forwarded);
  });
  foreign = server;
  for (;;) {
    const isTaken = await new Promise<boolean>((done) => {
      server.once('error', () => done(false));
      server.listen(port, '127.0.0.1', () => done(true));
    });
    if (isTaken) return received;
    await new Promise((done) => setTimeout(done, 20));
  }
}

test('a command sends no operator token to another program that takes the port of a stopping gateway', async () => {
  const port = await freePort();
  const gateway = await startGateway({
    servers: { stubborn },
    settings: { listen_addr: `127.0.0.1:${port}`, shutdown_seconds: 15 },
  });
  const token = operatorTokenIn(join(gateway.folder, '.gateway'));
  await fetch(`${gateway.url}/servers/stubborn/start`, { method: 'POST' });
  const exited = gateway.stop();
  const received = await takePort(port);
  expect(() => process.kill(gateway.pid, 0)).not.toThrow();
  const { code, stdout, stderr } = await runMain(
    ['reload', '--config', join(gateway.folder, 'gateway.yaml')],
    {
      env,
    },
  );
  expect(received).not.toEqual([]);
  expect(received.join('\n')).not.toContain(token);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    `http://127.0.0.1:${port} returned status 200, but not like a gateway; check the address\n`,
  );
  process.kill(gateway.pid, 'SIGKILL');
  await exited;
});

test('a command sends no operator token to a program that relays to the gateway or took its port before its start', async () => {
  const gateway = await startGateway({ servers: {} });
  const token = operatorTokenIn(join(gateway.folder, '.gateway'));
  const port = await freePort();
  const received = await takePort(port, gateway.port);
  // The gateway file now names the address of the relay.
  const config = writeConfiguration(gateway.folder, { settings: { listen_addr: `127.0.0.1:${port}` } });
  for (const args of [
    ['reload', '--config', config],
    ['reload', '--url', `http://localhost:${port}`],
    ['tools', 'call', 'files', 'read', '--config', config],
  ]) {
    const { code } = await runMain(args, { env, cwd: gateway.folder });
    expect([args, code]).toEqual([args, 1]);
  }
  expect(received.length).toBeGreaterThan(3);
  expect(received.join('\n')).not.toContain(token);
  await gateway.stop();
  await expect(
    startGateway({ servers: {}, folder: gateway.folder, settings: { listen_addr: `127.0.0.1:${port}` } }),
  ).rejects.toThrow('in use');
  expect((await runMain(['reload', '--config', config], { env })).code).toBe(1);
  expect(received.join('\n')).not.toContain(token);
});

describe('commands of the user who started the gateway act as the operator', () => {
  test.each(['127.0.0.1', 'localhost', '0.0.0.0', '[::]', '[::1]'])('at a gateway on %s', async (host) => {
    const folder = temporaryFolder();
    const port = await freePort();
    const gateway = await startGateway({ folder, servers: {}, settings: { listen_addr: `${host}:${port}` } });
    const config = join(folder, 'gateway.yaml');
    const { code, stderr } = await runMain(['reload', '--config', config], { env });
    expect([code, stderr]).toEqual([0, '']);
    await gateway.stop();
  });

  test('at a gateway on any free port', async () => {
    const gateway = await startGateway({ servers: {} });
    const { code, stderr } = await runMain(['reload', '--url', gateway.url], { env, cwd: gateway.folder });
    expect([code, stderr]).toEqual([0, '']);
    await gateway.stop();
  });
});

test('a command in another folder finds the operator token of the gateway at the given address', async () => {
  const gateway = await startGateway({});
  const { code, stderr } = await runMain(['reload', '--url', gateway.url], { env, cwd: temporaryFolder() });
  expect([code, stderr]).toEqual([0, '']);
  await gateway.stop();
});
