// TCP server in front of the TLS listener for nodes. A connection that does not start with a TLS handshake
// gets a 403. The number of connections in a handshake is limited to MAX_UNAUTHENTICATED, each for
// HANDSHAKE_MS; a further connection closes the oldest of them (A8, ARCHITECTURE.md). No bytes are parsed as
// HTTP before the handshake is complete.

import type { ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { plainError } from '../listener/framing.ts';
import type { NodeServers } from '../listener/node-listener.ts';
import { LINGER_MS } from '../listener/seam.ts';

const MAX_UNAUTHENTICATED = 256;
const HANDSHAKE_MS = 5_000;
/** High, because each session stream needs its own connection. */
const MAX_CONNECTIONS = 20_000;
const TCP_KEEP_ALIVE_MS = 15_000;
/** First byte in a TLS handshake: the record type. */
const HANDSHAKE = 0x16;

const body = plainError(403, 'this address is for cluster nodes; clients use listen_addr');
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
  /** Called after a failed handshake. `code` is the error code of the TLS library. */
  onRefused(address: string, code: string): void;
}

export function tlsGate({ tls, onRefused }: TlsGateOptions, settings: ServerOptions): NodeServers {
  const http = createHttpsServer({ ...settings, ...tls, handshakeTimeout: HANDSHAKE_MS });
  /** Sockets in a handshake, oldest first, with the timers that close them. */
  const handshaking = new Map<Socket, NodeJS.Timeout>();
  const forget = (socket: Socket) => {
    clearTimeout(handshaking.get(socket));
    handshaking.delete(socket);
  };
  // The event 'secureConnection' does not contain the TCP socket, so it is found by remote address and port.
  const addressKey = (socket: Pick<Socket, 'remoteAddress' | 'remotePort'>) =>
    `${socket.remoteAddress} ${socket.remotePort}`;
  const socketsByAddress = new Map<string, Socket>();
  http.on('secureConnection', (tlsSocket: TLSSocket) => {
    const socket = socketsByAddress.get(addressKey(tlsSocket));
    if (socket !== undefined) forget(socket);
    tlsSocket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  });
  http.on('tlsClientError', (error: NodeJS.ErrnoException, { remoteAddress = '' }: TLSSocket) =>
    onRefused(remoteAddress, error.code ?? ''),
  );
  const gate = createServer({ noDelay: true }, (socket) => {
    if (handshaking.size >= MAX_UNAUTHENTICATED) {
      const [oldest] = handshaking.keys();
      oldest?.destroy();
    }
    const key = addressKey(socket);
    socketsByAddress.set(key, socket);
    handshaking.set(
      socket,
      setTimeout(() => socket.destroy(), HANDSHAKE_MS),
    );
    socket.once('close', () => {
      forget(socket);
      socketsByAddress.delete(key);
    });
    // A disconnect before the handshake is not an error.
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
  // The HTTPS server does not listen itself. The event starts its timeout checks.
  gate.once('listening', () => http.emit('listening'));
  gate.once('close', () => http.close());
  return { http, gate };
}

/** Refuses a client. Reads its data, because unread data would make the system reset the connection. */
function refuse(socket: Socket): void {
  socket.on('data', () => {});
  socket.end(REFUSAL);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
