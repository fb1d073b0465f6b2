// A command sends the operator token only to the gateway of the state folder, on the connection over which
// the gateway has proved that it knows the token.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findOperatorToken, openOperatorToken } from '../../../../actors/state/operator-token.ts';
import { formatListenAddr } from '../../../../config/gateway-file/listen-addr.ts';
import { ApiClient } from '../../../../src/cli/api/client.ts';
import { findOperatorKey, requestStateFolder } from '../../../../src/cli/api/operator-key.ts';
import { listen } from '../../../../src/http/listener/listen.ts';
import type { HeaderList } from '../../../../src/http/listener/seam.ts';
import { proofHeaders } from '../../../../src/http/operator-proof.ts';

let folder = '';
let token = '';
const endings: (() => void)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'actor-gateway-key-'));
  ({ token } = openOperatorToken(folder));
});
afterEach(() => {
  for (const end of endings.splice(0)) end();
  rmSync(folder, { recursive: true, force: true });
});

interface Peer {
  readonly port: number;
  /** Received requests with keys, in order. */
  readonly requests: (readonly [path: string, key: string | undefined])[];
}

/** Starts a listener that responds like a gateway with this token. */
async function startGateway(
  host: string,
  prefer: 'uws' | 'node' = 'node',
  own = token,
  port = 0,
): Promise<Peer> {
  const requests: [string, string | undefined][] = [];
  const listener = await listen({
    host,
    port,
    prefer,
    maxBodyBytes: 1_000,
    handler: (received, reply) => {
      requests.push([received.path, received.headers['x-api-key']]);
      reply.send(200, proofHeaders(received, own, listener.address, folder), '{}');
      return undefined;
    },
  });
  endings.push(() => listener.close());
  return { port: listener.address.port, requests };
}

/** Starts a foreign listener; `headersFor` returns the response headers for a nonce. */
async function startForeign(
  host: string,
  headersFor: (nonce: string) => Promise<Record<string, string>> = async () => ({}),
  port = 0,
  closesAfterProof = false,
): Promise<Peer> {
  const requests: [string, string | undefined][] = [];
  const server = createServer(async ({ url = '', headers }, response) => {
    requests.push([url, headers['x-api-key'] as string | undefined]);
    response.writeHead(200, {
      ...(await headersFor(String(headers['x-operator-nonce']))),
      ...(closesAfterProof ? { connection: 'close' } : {}),
    });
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** Sends a request like a command that uses the state folder. */
async function ask(host: string, port: number): Promise<void> {
  const url = new URL(`http://${host}:${port}`);
  await new ApiClient({ url, key: findOperatorKey(url, folder) }).request('POST', 'admin/reload', 5_000);
}

const requestsAfterProof = (): Peer['requests'] => [
  ['/health', undefined],
  ['/admin/reload', token],
];
const anonymous: Peer['requests'] = [
  ['/health', undefined],
  ['/admin/reload', undefined],
];

/** Returns a listener's proof for a nonce. */
function relay(host: string, port: number, nonce: string): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    const clientRequest = request(
      { host, port, path: '/health', headers: { 'x-operator-nonce': nonce } },
      (answer) => {
        const { 'x-operator-proof': proof } = answer.headers;
        answer
          .resume()
          .on('end', () => resolve(proof === undefined ? {} : { 'x-operator-proof': String(proof) }));
      },
    );
    clientRequest.on('error', reject).end();
  });
}

describe.each(['uws', 'node'] as const)('a gateway on %s', (prefer) => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', 'localhost'],
    ['::1', '[::1]'],
    ['0:0:0:0:0:0:0:1', '[::1]'],
    ['localhost', 'localhost'],
    ['0.0.0.0', '127.0.0.1'],
    ['0.0.0.0', 'localhost'],
    ['::', '[::1]'],
    ['::', '127.0.0.1'],
    ['::', 'localhost'],
  ])(
    'the operator token is sent to a gateway that listens on %s and is contacted at %s',
    async (host, contacted) => {
      const gateway = await startGateway(host, prefer);
      await ask(contacted, gateway.port);
      expect(gateway.requests).toEqual(requestsAfterProof());
    },
  );
});

describe('a foreign listener does not receive the operator token', () => {
  test('if it sends no proof, like old versions of the gateway', async () => {
    const foreign = await startForeign('127.0.0.1');
    await ask('127.0.0.1', foreign.port);
    expect(foreign.requests).toEqual(anonymous);
  });

  test.each(['', 'x', 'a'.repeat(43), 'é'.repeat(43)])('with the wrong proof %j', async (proof) => {
    const latin1 = Buffer.from(proof).toString('latin1');
    const foreign = await startForeign('127.0.0.1', async () => ({ 'x-operator-proof': latin1 }));
    await ask('127.0.0.1', foreign.port);
    expect(foreign.requests).toEqual(anonymous);
  });

  test('if it is a gateway with another token', async () => {
    const other = await startGateway('127.0.0.1', 'node', `agop_${'b'.repeat(43)}`);
    await ask('127.0.0.1', other.port);
    expect(other.requests).toEqual(anonymous);
  });

  test('if it replays the proof of an earlier nonce', async () => {
    const gateway = await startGateway('127.0.0.1');
    const old = await relay('127.0.0.1', gateway.port, 'n'.repeat(43));
    for (const end of endings.splice(0)) end();
    const foreign = await startForeign('127.0.0.1', async () => old, gateway.port);
    await ask('127.0.0.1', gateway.port);
    expect(old['x-operator-proof']).toMatch(/^[\w-]{43}$/);
    expect(foreign.requests).toEqual(anonymous);
  });

  test.each(['127.0.0.1', '0.0.0.0', '::', 'localhost'])(
    'if it relays the proof of a gateway on another port of %s',
    async (host) => {
      const gateway = await startGateway(host);
      const through = host === '::' ? '::1' : host === '0.0.0.0' ? '127.0.0.1' : host;
      const proofs: object[] = [];
      const foreign = await startForeign('127.0.0.1', async (nonce) => {
        const proof = await relay(through, gateway.port, nonce);
        proofs.push(proof);
        return proof;
      });
      await ask('127.0.0.1', foreign.port);
      expect(proofs[0]).toEqual({ 'x-operator-proof': expect.any(String) });
      expect(foreign.requests).toEqual(anonymous);
    },
  );

  test.each([
    ['127.0.0.1', '::1', '127.0.0.1'],
    ['0.0.0.0', '::1', '127.0.0.1'],
    ['::1', '127.0.0.1', '::1'],
    ['127.0.0.1', '127.0.0.2', '127.0.0.1'],
  ])(
    'if it relays from the same port: the gateway is on %s, the listener on %s',
    async (host, at, through) => {
      const gateway = await startGateway(host);
      const foreign = await startForeign(at, (nonce) => relay(through, gateway.port, nonce), gateway.port);
      await ask(isIPv6(at) ? `[${at}]` : at, gateway.port);
      expect(foreign.requests).toEqual(anonymous);
    },
  );

  test('if it takes over the port after the proof', async () => {
    const proof = (nonce: string) =>
      Promise.resolve(
        Object.fromEntries(
          proofHeaders(
            { headers: { 'x-operator-nonce': nonce }, remoteAddress: '127.0.0.1' },
            token,
            { host: '127.0.0.1', port: foreign.port },
            folder,
          ),
        ),
      );
    const foreign: Peer = await startForeign('127.0.0.1', proof, 0, true);
    await expect(ask('127.0.0.1', foreign.port)).rejects.toThrow(/closed the connection before the request/);
    expect(foreign.requests).toEqual([['/health', undefined]]);
  });
});

test('a gateway sends a proof to this machine only, and only if it listens on loopback or on all addresses', () => {
  const headersFor = (host: string, remoteAddress: string, nonce = 'n'.repeat(43), own = token): HeaderList =>
    proofHeaders({ headers: { 'x-operator-nonce': nonce }, remoteAddress }, own, { host, port: 1 }, folder);
  expect(headersFor('0.0.0.0', '127.0.0.1').map(([name]) => name)).toEqual([
    'x-operator-proof',
    'x-operator-folder',
  ]);
  for (const peer of ['192.0.2.1', '172.17.0.1', 'fe80::1%eth0', '::ffff:192.0.2.1', '127.0.0.1.example', ''])
    for (const host of ['0.0.0.0', '::', 'localhost'])
      expect([peer, host, headersFor(host, peer)]).toEqual([peer, host, []]);
  for (const host of ['gateway.example.com', '192.0.2.1', '127.example.com', 'fe80::1'])
    expect([host, headersFor(host, '127.0.0.1')]).toEqual([host, []]);
  for (const nonce of ['', 'n'.repeat(21), 'n'.repeat(65), `${'n'.repeat(42)}\n`])
    expect(headersFor('127.0.0.1', '127.0.0.1', nonce)).toEqual([]);
  expect(headersFor('127.0.0.1', '127.0.0.1', 'n'.repeat(43), '')).toEqual([]);
});

test('the operator token is used as key for unencrypted loopback addresses only', () => {
  const keyAt = (url: string) => findOperatorKey(new URL(url), folder)?.value;
  for (const host of ['127.0.0.1', '[::1]', 'localhost', '127.0.0.2'])
    expect(keyAt(`http://${host}:4711/`)).toBe(findOperatorToken(folder));
  for (const url of [
    'http://192.0.2.1:4711/',
    'http://example.com:4711/',
    'http://127.0.0.1.example.com:4711/',
    `https://${formatListenAddr({ host: '127.0.0.1', port: 4711 })}/`,
  ])
    expect([url, keyAt(url)]).toEqual([url, undefined]);
  rmSync(join(folder, 'operator-token'));
  expect(keyAt('http://127.0.0.1:4711/')).toBeUndefined();
});

describe('the state folder', () => {
  const at = (port: number) => new URL(`http://127.0.0.1:${port}`);

  test('is in the response of a gateway to a request for its folder', async () => {
    expect(await requestStateFolder(at((await startGateway('127.0.0.1')).port))).toBe(folder);
  });

  test('is unknown if a listener does not respond or reports no absolute path', async () => {
    const serverNamed = (name: string) =>
      startForeign('127.0.0.1', async () => ({ 'x-operator-folder': name }));
    for (const name of ['', 'state', '%', '%2'])
      expect(await requestStateFolder(at((await serverNamed(name)).port))).toBeUndefined();
    expect(await requestStateFolder(at(1))).toBeUndefined();
    expect(await requestStateFolder(new URL('http://192.0.2.1:8080'))).toBeUndefined();
  });

  test('is no proof: a foreign listener that reports the folder does not receive the operator token', async () => {
    const foreign = await startForeign('127.0.0.1', async () => ({
      'x-operator-folder': encodeURIComponent(folder),
      'x-operator-proof': 'A'.repeat(43),
    }));
    const url = at(foreign.port);
    const key = findOperatorKey(url, (await requestStateFolder(url)) ?? '');
    expect(key?.value).toBe(token);
    await new ApiClient({ url, key }).request('POST', 'admin/reload', 5_000);
    expect(foreign.requests.map(([, clientRequest]) => clientRequest)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
