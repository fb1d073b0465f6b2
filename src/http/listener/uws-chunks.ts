// A chunked body on uWebSockets.js, whose parser reads the lines between the chunks loosely: a blank or a bare line feed
// passes, an extension is read as digits of the size, and trailers are taken for the next request (RFC 9112, section 7.1).
// It shows the bytes of chunks only, so this file cannot read those lines itself; it sees to it that they do no harm.
//
// UC1  nothing is delivered before the parser has gone over all it had read: where it ended the connection over what
//      follows the body, the routes never see that request.
// UC2  a request in chunks is the last of its connection, which is not read while its answer is made: what the parser
//      would take for the next request never becomes one, and trailers that come late do not cost the answer.
// UC3  a size read wrong makes the parser wait for bytes that never come, and at last drop the connection without a word;
//      a silence is answered before that, with 408.
// UC4  an answer may be as long in coming, and as large, as that to any other request.
//
// What is left is a body that is not the one that was sent: HttpRequest.isBodyExact says so.

import type { HttpResponse } from 'uWebSockets.js';
import { Deadlines } from '../../../actors/base/time/deadlines.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { LINGER_MS } from './seam.ts';
import type { UwsReply } from './uws-reply.ts';

/** uWebSockets.js drops a silent connection after 8 to 12 s. */
const SILENCE_MS = 6_000;

export class UwsChunks {
  /** For silences: each chunk begins them anew. */
  readonly deadlines: Deadlines<IncomingBody>;
  readonly #silenceMs: number;
  readonly #totalMs: number;

  constructor(totalMs: number) {
    this.#totalMs = totalMs;
    this.#silenceMs = Math.min(SILENCE_MS, totalMs);
    this.deadlines = new Deadlines(this.#silenceMs);
  }

  receive(res: HttpResponse, body: IncomingBody, reply: UwsReply): void {
    const lastStartAt = performance.now() + this.#totalMs - this.#silenceMs;
    res.onData((chunk, isLast) => {
      // The server takes its memory back when this returns, so the bytes are copied.
      body.push(Buffer.from(new Uint8Array(chunk)));
      if (!isLast) {
        const now = performance.now();
        if (now < lastStartAt) body.waitAnew(now);
        return;
      }
      res.pause();
      setImmediate(() => {
        if (reply.isSettled) return;
        body.finish();
        watchLater(res, reply);
      });
    });
  }
}

/** A connection that is not read does not tell that its client has gone; by now nothing that belongs to the body comes. */
function watchLater(res: HttpResponse, reply: UwsReply): void {
  if (reply.isSettled) return;
  const timer = setInterval(() => {
    if (reply.isSettled) clearInterval(timer);
    // Again and again: the server takes a silence after it for the end of the client, and an answer may be long in coming.
    // It does watch over a client that takes nothing.
    else if (!reply.isBehind) res.resume();
  }, LINGER_MS).unref();
}
