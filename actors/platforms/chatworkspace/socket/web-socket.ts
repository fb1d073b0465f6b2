// Real wires: WebSockets of `ws`. Its texts of errors are not repeated but for the system's words; the address is a credential, and so
// are its parts.
//
// WW1  a frame beyond `maxBytes`, also after decompression, ends the socket: nobody puts it together. It comes again on the next one,
//      where one of up to `maxAgainBytes` is looked at only for what it is acknowledged by.

import type { IncomingMessage } from 'node:http';
import { retryAfterMs } from '../../../../libs/rest/retry-after.ts';
import type { Wire, WireEvents, Wires } from './wire.ts';

/** As `ws` calls a frame beyond the bound. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
const END_BYTES = 4_096;

/** Of frames; kept over the sockets of an app. */
export interface FrameLimit {
  readonly maxBytes: number;
  readonly maxAgainBytes: number;
  wasExceeded: boolean;
}

/** Loaded with the first connection: who has no such trigger needs none of it. */
export async function webSocketWires(limit: FrameLimit): Promise<Wires> {
  const { WebSocket } = await import('ws');
  return {
    connect(url, events) {
      if (!isAddress(url)) {
        events.onClosed('the platform gave an address that is none of a socket');
        return noWire;
      }
      const maxPayload = limit.wasExceeded ? limit.maxAgainBytes : limit.maxBytes;
      const socket = new WebSocket(url, { maxPayload, perMessageDeflate: false });
      let why: string | undefined;
      socket.on('message', (data, isBinary) => {
        if (isBinary) events.onSign();
        else onText(events, data as Buffer, limit.maxBytes);
      });
      socket.on('ping', () => events.onSign());
      socket.on('pong', () => events.onSign());
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
        why ??= typeof code === 'string' ? code : 'the connection failed';
        if (code === TOO_LARGE) {
          limit.wasExceeded = true;
          why = `a frame was larger than the ${maxPayload} bytes that are read (${code})`;
        }
      });
      socket.on('close', (code) => events.onClosed(`the socket was closed: ${why ?? code}`));
      return {
        send: (text) => socket.send(text, ignored),
        ping: () => socket.ping(undefined, undefined, ignored),
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

/** It stands at one end of the frame: what is between is not read. */
function envelopeIn(data: Buffer): string | undefined {
  const ends = [data.subarray(0, END_BYTES), data.subarray(-END_BYTES)];
  const ids = ends.map((end) => /"envelope_id"\s*:\s*"([\w-]{1,100})"/.exec(end.toString('latin1'))?.[1]);
  return ids.find((id) => id !== undefined);
}

function isAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hash } = new URL(url);
  return /^wss?:$/.test(protocol) && hash === '';
}

/** What fails to be sent ends the socket, which says so by itself. */
const ignored = (): void => {};

const noWire: Wire = {
  send: ignored,
  ping: ignored,
  pause: ignored,
  resume: ignored,
  close: ignored,
  terminate: ignored,
};
