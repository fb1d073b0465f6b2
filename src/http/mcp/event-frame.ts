// Writes one server-sent event. A message is one line, so that it needs one data field. A large one is written as it is,
// between its head and its end, so that its bytes are shared with other readers.

import { SHARED_FROM } from '../../../actors/base/bounds/held-bytes.ts';
import { isInPieces, type Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { HttpStream } from '../listener/seam.ts';

const TAIL = Buffer.from('\n\n');

/** `head` are its fields before the data, each with its line end. */
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
