// Receives chunked request bodies on uWebSockets.js. Its parser is not strict about the lines between chunks
// (RFC 9112, section 7.1): it accepts a blank or a bare line feed, reads an extension as digits of the size,
// and treats trailers as the next request. It passes on only the bytes of the chunks, so this file cannot
// check these lines. It limits the harm:
//
// - A body is delivered after the parser has processed all received bytes. If the parser closes the
//   connection because of bytes after the body, the routes never see the request.
// - A chunked request is the last one of its connection, and the connection is not read while the response is
//   prepared. So no bytes of the body can become a next request, and late trailers do no harm.
// - If the parser misreads a size, it waits for bytes that never arrive, and finally closes the connection
//   without a response. To avoid that, the deadline for silence is shorter: the client gets status 408.
// - A late or large response is not cut off: the paused connection is resumed regularly (keepReading).
//
// One risk remains: the received body may differ from the sent body. See HttpRequest.isBodyExact.

import type { HttpResponse } from 'uWebSockets.js';
import { Deadlines } from '../../../actors/base/time/deadlines.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { LINGER_MS } from './seam.ts';
import type { UwsReply } from './uws-reply.ts';

/**
 * Maximum time between two chunks. Shorter than 8 s, the minimum time after which uWebSockets.js closes a
 * silent connection.
 */
const SILENCE_MS = 6_000;

export class UwsChunks {
  /** Deadlines for the next chunk of each body. Each chunk restarts its body's deadline. */
  readonly deadlines: Deadlines<IncomingBody>;
  readonly #silenceMs: number;
  readonly #totalMs: number;

  /** `totalMs`: maximum time for a whole body. */
  constructor(totalMs: number) {
    this.#totalMs = totalMs;
    this.#silenceMs = Math.min(SILENCE_MS, totalMs);
    this.deadlines = new Deadlines(this.#silenceMs);
  }

  /** Passes the chunks to `body`, and completes it with the last chunk. */
  receive(res: HttpResponse, body: IncomingBody, reply: UwsReply): void {
    /** Later chunks do not restart the deadline, so the body takes no longer than `totalMs`. */
    const lastRestartAt = performance.now() + this.#totalMs - this.#silenceMs;
    res.onData((chunk, isLast) => {
      // Copied, because the server reuses its memory after the callback.
      body.push(Buffer.from(new Uint8Array(chunk)));
      if (!isLast) {
        const now = performance.now();
        if (now < lastRestartAt) body.restartDeadline(now);
        return;
      }
      res.pause();
      setImmediate(() => {
        if (reply.isSettled) return;
        body.finish();
        keepReading(res, reply);
      });
    });
  }
}

/**
 * Resumes reading every LINGER_MS after the body, until the response is complete. A paused connection reports
 * no disconnect.
 */
function keepReading(res: HttpResponse, reply: UwsReply): void {
  if (reply.isSettled) return;
  const timer = setInterval(() => {
    if (reply.isSettled) clearInterval(timer);
    // Each `resume` restarts the server's timeout for silent connections, so a late response is not lost. It
    // is not restarted for a client that does not read the response (isBehind).
    else if (!reply.isBehind) res.resume();
  }, LINGER_MS).unref();
}
