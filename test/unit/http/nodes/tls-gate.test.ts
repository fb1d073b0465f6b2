// The TLS listener between nodes, with real sockets: admission and refusals.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NodeProof, nodeProof } from '../../../../actors/cluster/node-proof.ts';
import { listenNode } from '../../../../src/http/listener/node-listener.ts';
import type { Listener } from '../../../../src/http/listener/seam.ts';
import { tlsGate } from '../../../../src/http/nodes/tls-gate.ts';

const SECRET = 'a-secret-of-the-cluster';
const listeners: Listener[] = [];
const folder = mkdtempSync(join(tmpdir(), 'nodes-'));

beforeAll(() => {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  for (const ca of ['ca', 'other'])
    openssl(
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', `/CN=${ca}`, '-keyout', `${ca}.key`, '-out', `${ca}.pem`],
    );
  for (const [name, ca] of [
    ['node', 'ca'],
    ['foreign', 'other'],
  ]) {
    openssl(
      ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', `${name}.key`, '-out', `${name}.csr`],
    );
    openssl(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial'],
      ...['-days', '2', '-copy_extensions', 'copyall', '-out', `${name}.pem`],
    );
  }
});
afterAll(() => {
  for (const listener of listeners) listener.close();
  rmSync(folder, { recursive: true, force: true });
});

const files = (name: string) => ({
  cert: join(folder, `${name}.pem`),
  key: join(folder, `${name}.key`),
  ca: join(folder, 'ca.pem'),
});

async function listening({ server }: NodeProof) {
  const refused: string[] = [];
  const listener = await listenNode(
    {
      host: '127.0.0.1',
      port: 0,
      maxBodyBytes: 1_024,
      handler: (_, reply) => {
        reply.send(200, [], 'in');
        return undefined;
      },
    },
    undefined,
    (settings) => tlsGate({ tls: server, onRefused: (_, code) => refused.push(code) }, settings),
  );
  listeners.push(listener);
  return { port: listener.address.port, refused, listener };
}

/** Sends a request; returns the response or the error code. */
const requestAt = (port: number, tls: ConnectionOptions) =>
  new Promise<string>((resolve) => {
    const clientRequest = request({ ...tls, host: '127.0.0.1', port, path: '/x', agent: false }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      answer.on('end', () => resolve(text));
    });
    clientRequest.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    clientRequest.end();
  });

/** Sends bytes; returns everything received until the connection closes. */
const exchangeBytes = (port: number, bytes: string | Buffer) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });

test('the cluster port admits only a TLS peer with the cluster secret', async () => {
  const proof = await nodeProof({ secret: SECRET });
  const { port, refused } = await listening(proof);
  expect(await requestAt(port, proof.client)).toBe('in');
  const other = await nodeProof({ secret: 'another-secret-of-nodes' });
  expect(await requestAt(port, other.client)).toMatch(/^(?:ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC|EPROTO)$/);
  expect(await requestAt(port, { rejectUnauthorized: false })).toMatch(
    /^(?:ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE|EPROTO)$/,
  );
  expect(refused).toEqual(['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'ERR_SSL_NO_SHARED_CIPHER']);
  expect(proof.isValid(undefined)).toBe(true);
});

test('with certificates, both cluster nodes verify the certificate authority and the cluster secret', async () => {
  const proof = await nodeProof({ secret: SECRET, tls: files('node') });
  const { port } = await listening(proof);
  expect(await requestAt(port, proof.client)).toBe('in');
  const foreign = await nodeProof({ secret: SECRET, tls: files('foreign') });
  expect(await requestAt(port, foreign.client)).not.toBe('in');
  expect(await requestAt(port, { ca: readFileSync(join(folder, 'ca.pem')) })).not.toBe('in');
  const foreignServer = await listening(foreign);
  expect(await requestAt(foreignServer.port, proof.client)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  expect(await requestAt(port, (await nodeProof({ secret: SECRET })).client)).not.toBe('in');
  const { bearer = '' } = proof;
  expect(bearer).not.toContain(SECRET);
  expect(proof.isValid(bearer)).toBe(true);
  for (const wrong of [undefined, '', SECRET, bearer.slice(1), `${bearer}x`])
    expect(proof.isValid(wrong)).toBe(false);
});

test('plain HTTP at the cluster port gets 403 before its body is read', async () => {
  const { port, listener } = await listening(await nodeProof({ secret: SECRET }));
  const answer = await exchangeBytes(
    port,
    `POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n${'x'.repeat(9_000)}`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nContent-Type: application\/json\r\n/);
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({
    error: 'Forbidden',
    message: 'this address is for cluster nodes; clients use listen_addr',
  });
  expect(await exchangeBytes(port, Buffer.from([0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5]))).not.toContain('HTTP');
  expect(listener.open).toBe(0);
});

test('the number of unauthenticated connections is limited, and a node is admitted nevertheless', async () => {
  const proof = await nodeProof({ secret: SECRET });
  const { port, listener } = await listening(proof);
  let closed = 0;
  const idle = Array.from({ length: 300 }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => {
      closed += 1;
    });
    return socket;
  });
  await expect.poll(() => closed, { timeout: 4_000 }).toBeGreaterThanOrEqual(44);
  expect(await requestAt(port, proof.client)).toBe('in');
  expect(closed).toBeLessThan(100);
  // Remaining connections are closed at the deadline or with the listener.
  listener.close();
  await expect.poll(() => closed, { timeout: 8_000 }).toBe(300);
  for (const socket of idle) socket.destroy();
});
