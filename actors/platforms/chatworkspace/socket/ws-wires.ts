// Implements `Wires` with WebSockets from `ws`. Errors are reduced to system codes, because error texts may
// contain the address, which is a credential.
//
// A frame above `maxBytes` closes the socket before the frame is assembled. The platform redelivers the frame
// on the next socket, which accepts frames up to `maxRedeliveredBytes` and reads only the id, to acknowledge
// the frame.

import type { IncomingMessage } from 'node:http';
import { isProxyConnectionError } from '../../../../libs/rest/proxy-connection-error.ts';
import { proxiedConnection } from '../../../../libs/rest/proxy-socket.ts';
import { retryAfterMs } from '../../../../libs/rest/retry-after.ts';
import type { Wire, WireEvents, Wires } from './wire.ts';

/** Error code from `ws` for oversized frames. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
/** Size of each end of an oversized frame that is searched for the id. */
const END_BYTES = 4_096;

/** Frame limits, shared by the app's sockets. */
export interface FrameLimit {
  readonly maxBytes: number;
  readonly maxRedeliveredBytes: number;
  wasExceeded: boolean;
}

/** Returns the transport. Loads `ws` with the first connection; other triggers do not need it. */
export async function webSocketWires(limit: FrameLimit): Promise<Wires> {
  const { WebSocket } = await import('ws');
  return {
    connect(url, events) {
      if (!isSocketUrl(url)) {
        events.onClosed('the address from the platform is not a WebSocket URL');
        return noWire;
      }
      const maxPayload = limit.wasExceeded ? limit.maxRedeliveredBytes : limit.maxBytes;
      const createConnection = proxiedConnection(url);
      const socket = new WebSocket(url, {
        maxPayload,
        perMessageDeflate: false,
        ...(createConnection && { createConnection }),
      });
      let reason: string | undefined;
      socket.on('message', (data, isBinary) => {
        if (isBinary) events.onActivity();
        else onText(events, data as Buffer, limit.maxBytes);
      });
      socket.on('ping', () => events.onActivity());
      socket.on('pong', () => events.onActivity());
      socket.on('unexpected-response', (_, response: IncomingMessage) => {
        const headers = new Headers();
        for (const name of ['retry-after', 'date']) {
          const value = response.headers[name];
          if (typeof value === 'string') headers.set(name, value);
        }
        events.onClosed(
          `the platform refused a socket with status ${response.statusCode}`,
          retryAfterMs(headers),
        );
        socket.terminate();
      });
      socket.on('error', (error) => {
        const { code } = error as NodeJS.ErrnoException;
        reason ??= isProxyConnectionError(error)
          ? error.message
          : typeof code === 'string'
            ? code
            : 'the connection failed';
        if (code === TOO_LARGE) {
          limit.wasExceeded = true;
          reason = `a frame exceeded the limit of ${maxPayload} bytes (${code})`;
        }
      });
      socket.on('close', (code) => events.onClosed(`the socket was closed: ${reason ?? code}`));
      return {
        send: (text) => socket.send(text, ignore),
        ping: () => socket.ping(undefined, undefined, ignore),
        pause: () => socket.pause(),
        resume: () => socket.resume(),
        close: () => socket.close(1000),
        terminate: () => socket.terminate(),
      };
    },
  };
}

function onText(events: WireEvents, data: Buffer, maxBytes: number): void {
  if (data.length <= maxBytes) events.onText(data.toString('utf8'), data.length);
  else events.onOversized(envelopeIn(data), data.length);
}

/** Searches for the id at both ends of the frame, without parsing the frame. */
function envelopeIn(data: Buffer): string | undefined {
  const ends = [data.subarray(0, END_BYTES), data.subarray(-END_BYTES)];
  const ids = ends.map((end) => /"envelope_id"\s*:\s*"([\w-]{1,100})"/.exec(end.toString('latin1'))?.[1]);
  return ids.find((id) => id !== undefined);
}

function isSocketUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hash } = new URL(url);
  return /^wss?:$/.test(protocol) && hash === '';
}

/** A failed write closes the socket, which reports the failure. */
const ignore = (): void => {};

const noWire: Wire = {
  send: ignore,
  ping: ignore,
  pause: ignore,
  resume: ignore,
  close: ignore,
  terminate: ignore,
};
