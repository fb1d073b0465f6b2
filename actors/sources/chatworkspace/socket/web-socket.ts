// Real wires: WebSockets of `ws`. Its texts of errors are not repeated but for the system's words; the address is a credential, and so
// are its parts.
//
// WW1  a frame beyond `maxFrameBytes`, also after decompression, ends the socket: nobody puts it together.

import type { IncomingMessage } from 'node:http';
import { retryAfterMs } from '../../../../rest/retry-after.ts';
import type { Wire, WireEvents, Wires } from './wire.ts';

/** As `ws` calls a frame beyond the bound. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

/** Loaded with the first connection: who has no such trigger needs none of it. */
export async function webSocketWires(maxFrameBytes: number): Promise<Wires> {
  const { WebSocket } = await import('ws');
  return {
    connect(url, events) {
      if (!isAddress(url)) {
        events.onClosed('the platform gave an address that is none of a socket');
        return noWire;
      }
      const socket = new WebSocket(url, { maxPayload: maxFrameBytes, perMessageDeflate: false });
      let why: string | undefined;
      socket.on('message', (data, isBinary) => {
        if (isBinary) events.onSign();
        else onText(events, data as Buffer);
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
        if (code === TOO_LARGE)
          why = `a frame was larger than the ${maxFrameBytes} bytes that are read (${code}); where it comes again it ends the next one, too`;
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

function onText(events: WireEvents, data: Buffer): void {
  events.onText(data.toString('utf8'), data.length);
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
