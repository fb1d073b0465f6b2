// Serves a request for both listener implementations: checks the framing, calls the handler, and passes the
// complete body to the BodyHandler that it returns. The listener adds the bytes of the body as they arrive.

import type { Deadlines } from '../../actors/base/time/deadlines.ts';
import type { BodyBudget } from './body/body-budget.ts';
import { IncomingBody } from './body/incoming-body.ts';
import { bodyLengthOf, framingProblem, JSON_HEADERS, plainError } from './listener/framing.ts';
import type { Reply } from './listener/reply.ts';
import type { HttpRequest, ListenerOptions } from './listener/seam.ts';

const NO_BODY = Buffer.alloc(0);

/** Returns false without effect if the framing is invalid; the caller must call `refuseMalformed`. */
export function serveRequest(
  request: HttpRequest,
  reply: Reply,
  options: ListenerOptions,
  bodies: BodyBudget,
  bodyDeadlines: Deadlines<IncomingBody>,
): boolean {
  if (framingProblem(request.path, request.headers) !== undefined) return false;
  const expectedBytes = bodyLengthOf(request.headers);
  const body =
    expectedBytes > 0
      ? new IncomingBody(request, expectedBytes, options.maxBodyBytes, bodies, bodyDeadlines)
      : undefined;
  reply.body = body;
  try {
    const onBody = options.handler(request, reply);
    if (onBody === undefined) body?.drop();
    else if (body === undefined) onBody(request, NO_BODY, reply);
    else
      body.deliverTo((content) => {
        try {
          onBody(request, content, reply);
        } catch (error) {
          reply.onFault(error);
        }
      });
  } catch (error) {
    reply.onFault(error);
  }
  // A handler that authenticates has now responded, so its 401 or 403 takes precedence over 413. A chunked
  // body has the length Infinity, and is refused when it exceeds the limit.
  if (expectedBytes > options.maxBodyBytes && expectedBytes !== Number.POSITIVE_INFINITY) body?.refuse();
  return true;
}

/** Responds with 400. Closes the connection, because the start of the next request is unknown. */
export function refuseMalformed(request: HttpRequest, reply: Reply): void {
  const problem = framingProblem(request.path, request.headers) ?? 'The request is malformed.';
  reply.send(400, [...JSON_HEADERS, ['connection', 'close']], plainError(400, problem));
}

/** Reports an exception of the routes. */
export function reportFault(options: ListenerOptions, error: unknown): void {
  if (options.onFault !== undefined) options.onFault(error);
  else process.emitWarning(error instanceof Error ? error : String(error));
}
