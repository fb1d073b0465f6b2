// Writes a message as a server-sent event. A message is a single line, so a single data field is sufficient.
// Large messages are not copied, so that several streams can share the bytes.

import { SHARED_FROM } from '../../../actors/base/bounds/buffered-bytes.ts';
import { isInPieces, type Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { HttpStream } from '../listener/seam.ts';

const TAIL = Buffer.from('\n\n');

/** Writes an event. `head` contains the fields that precede the data, each with its line break. */
export function writeEvent(http: HttpStream, head: string, message: Message): void {
  const start = Buffer.from(`${head}data: `, 'latin1');
  if (!isInPieces(message) && message.length < SHARED_FROM) {
    http.write(Buffer.concat([start, message, TAIL]));
    return;
  }
  http.write(start);
  for (const piece of isInPieces(message) ? message : [message]) http.write(piece);
  http.write(TAIL);
}
