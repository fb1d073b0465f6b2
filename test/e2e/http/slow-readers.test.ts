// Clients that read late or not at all: pending messages are stored once, are limited in total, and delay no
// other client. For each HTTP engine, with the built program.

import { connect, type Socket } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import {
  apiServer,
  ask,
  call,
  eventually,
  initialize,
  latch,
  message,
  post,
  rawPost,
} from '../../fixtures/clients/api-client.ts';
import { MIB, residentBytes } from '../../fixtures/clients/crowd.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';

const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** A request whose client reads nothing until the socket is resumed. */
async function unread(port: number, body: string): Promise<{ socket: Socket; isClosed: () => boolean }> {
  const session = await initialize(`http://127.0.0.1:${port}/mcp/api`);
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let isClosed = false;
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
  });
  socket.pause();
  socket.write(rawPost(body, session));
  return { socket, isClosed: () => isClosed };
}

const logTo = (bytes: number, before = 1) =>
  message('tools/call', { name: 'talk', arguments: { before, bytes }, _meta: { progressToken: 't' } });

describe.each(httpEnginesInTurn)('on %s', (http) => {
  test('a message of 15 MB for forty clients that do not read is stored in memory once', async () => {
    const { url, port, pid } = await startGateway({ http, servers: { api: apiServer() } });
    const gate = latch();
    const address = `${url}/mcp/api`;
    const inFlight = async () => (await ask(`${url}/servers/api`)).json.in_flight;
    const quiet = await initialize(address);
    await post(address, call('echo'), quiet);
    for (let client = 0; client < 40; client += 1) await unread(port, call('hold', { until: gate.path }));
    await eventually('all calls', async () => (await inFlight()) === 40);
    const before = residentBytes(pid);
    expect((await post(address, call('log', { bytes: 15_000_000 }), quiet)).status).toBe(200);
    expect((await post(address, call('echo'), quiet)).json.error).toBeUndefined();
    expect((residentBytes(pid) - before) / MIB).toBeLessThan(200);
    gate.open();
    await eventually('the end of the calls', async () => (await inFlight()) === 0);
  });

  test('pending bytes of all clients share a limit: stalled clients are cut off, and active clients are served', async () => {
    const { url, port, pid } = await startGateway({ http, servers: { api: apiServer() } });
    const address = `${url}/mcp/api`;
    const session = await initialize(address);
    await post(address, call('echo'), session);
    const before = residentBytes(pid);
    const clients: Awaited<ReturnType<typeof unread>>[] = [];
    for (let client = 0; client < 30; client += 1) {
      clients.push(await unread(port, logTo(15_000_000)));
      await eventually('the end of the call', async () => {
        return (await ask(`${url}/servers/api`)).json.in_flight === 0;
      });
    }
    expect((residentBytes(pid) - before) / MIB).toBeLessThan(290);
    // The same amount again fits only if stalled clients (without progress for a while) are cut off.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const answer = await post(address, logTo(15_000_000), session);
    expect(answer.text.length).toBeGreaterThan(15_000_000);
    for (const { socket } of clients) socket.resume();
    await eventually(
      'the ends of those cut off',
      () => clients.filter((client) => client.isClosed()).length > 8,
    );
  });

  test('two clients that read a hundred thousand small messages late delay no other client', async () => {
    const { url, port } = await startGateway({ http, servers: { api: apiServer() } });
    const address = `${url}/mcp/api`;
    const session = await initialize(address);
    await post(address, call('echo'), session);
    const of = async () => (await ask(`${url}/servers/api`)).json;
    const before = (await of()).requests;
    const late = [await unread(port, logTo(0, 100_000)), await unread(port, logTo(0, 100_000))];
    await eventually('the end of the calls', async () => {
      const { requests, in_flight } = await of();
      return requests === before + 2 && in_flight === 0;
    });
    let received = 0;
    let longest = 0;
    for (const { socket } of late) {
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1').split('\nevent: message\n').length - 1;
      });
      socket.resume();
    }
    await eventually('all of it', async () => {
      const since = performance.now();
      expect((await post(address, call('echo'), session)).json.error).toBeUndefined();
      longest = Math.max(longest, performance.now() - since);
      return received > 199_000;
    });
    // Removing single clients from a long list once delayed every call for seconds.
    expect(longest).toBeLessThan(2_000);
  });
});
