// What stands before the listener for nodes: whoever does not begin with a TLS handshake is told that this address is not theirs, and
// whoever has not proven itself yet may stay for a moment only.
//
// TLG1 (A8)  of connections that have proven nothing there are at most MAX_UNPROVEN, each for PROOF_MS; one more ends the oldest of them.
// TLG2       nothing of a connection is read as HTTP before the handshake is over.

import type { ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { plainError } from '../listener/framing.ts';
import type { ServersBeneath } from '../listener/node-listener.ts';
import { LINGER_MS } from '../listener/seam.ts';

const MAX_UNPROVEN = 256;
const PROOF_MS = 5_000;
/** Streams of sessions have a connection each. */
const MAX_CONNECTIONS = 20_000;
const TCP_KEEP_ALIVE_MS = 15_000;
/** The first byte of a handshake: a record of that type. */
const HANDSHAKE = 0x16;

const body = plainError(403, 'this address is for the nodes of a cluster; clients have another one');
const REFUSAL = [
  'HTTP/1.1 403 Forbidden',
  'Content-Type: application/json',
  `Content-Length: ${Buffer.byteLength(body)}`,
  'Connection: close',
  '',
  body,
].join('\r\n');

export interface TlsGateOptions {
  readonly tls: TlsOptions;
  /** A handshake has failed: `code` is that of the TLS library. */
  onRefused(address: string, code: string): void;
}

export function tlsGate({ tls, onRefused }: TlsGateOptions, settings: ServerOptions): ServersBeneath {
  const http = createHttpsServer({ ...settings, ...tls, handshakeTimeout: PROOF_MS });
  /** Oldest first. */
  const unproven = new Map<Socket, NodeJS.Timeout>();
  const forget = (socket: Socket) => {
    clearTimeout(unproven.get(socket));
    unproven.delete(socket);
  };
  // The socket beneath is not told; both have the same two ends.
  const portOf = (socket: Pick<Socket, 'remoteAddress' | 'remotePort'>) =>
    `${socket.remoteAddress} ${socket.remotePort}`;
  const byPort = new Map<string, Socket>();
  http.on('secureConnection', (proven: TLSSocket) => {
    const socket = byPort.get(portOf(proven));
    if (socket !== undefined) forget(socket);
    proven.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  });
  http.on('tlsClientError', (error: NodeJS.ErrnoException, { remoteAddress = '' }: TLSSocket) =>
    onRefused(remoteAddress, error.code ?? ''),
  );
  const gate = createServer({ noDelay: true }, (socket) => {
    if (unproven.size >= MAX_UNPROVEN) {
      const [oldest] = unproven.keys();
      oldest?.destroy();
    }
    const key = portOf(socket);
    byPort.set(key, socket);
    unproven.set(
      socket,
      setTimeout(() => socket.destroy(), PROOF_MS),
    );
    socket.once('close', () => {
      forget(socket);
      byPort.delete(key);
    });
    // Whoever goes before it has proven anything is nobody's fault.
    socket.on('error', () => {});
    socket.once('data', (first) => {
      if (first[0] !== HANDSHAKE) {
        refuse(socket);
        return;
      }
      socket.pause();
      socket.unshift(first);
      http.emit('connection', socket);
    });
  });
  gate.maxConnections = MAX_CONNECTIONS;
  // It listens for nothing itself, and keeps its deadlines from here on.
  gate.once('listening', () => http.emit('listening'));
  gate.once('close', () => http.close());
  return { http, gate };
}

/** What it has sent is read, or the system would reset the connection before the answer is there. */
function refuse(socket: Socket): void {
  socket.on('data', () => {});
  socket.end(REFUSAL);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
