// Serves one request: refuses it for its framing, or calls its handler, and hands the body to what the handler returned for it.
// The same for both fillings, which add the bytes of the body as they come.

import type { Deadlines } from '../../actors/base/time/deadlines.ts';
import type { BodyBudget } from './body/body-budget.ts';
import { IncomingBody } from './body/incoming-body.ts';
import { announcedBytes, framingProblem, JSON_HEADERS, plainError } from './listener/framing.ts';
import type { Reply } from './listener/reply.ts';
import type { HttpRequest, ListenerOptions } from './listener/seam.ts';

const NO_BODY = Buffer.alloc(0);

/** Gives false when the request must be refused by `refuse`, and nothing has happened yet. */
export function serve(
  request: HttpRequest,
  reply: Reply,
  options: ListenerOptions,
  bodies: BodyBudget,
  bodyDeadlines: Deadlines<IncomingBody>,
): boolean {
  if (framingProblem(request.path, request.headers) !== undefined) return false;
  const announced = announcedBytes(request.headers);
  const body =
    announced > 0
      ? new IncomingBody(request, announced, options.maxBodyBytes, bodies, bodyDeadlines)
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
  if (announced > options.maxBodyBytes && announced !== Number.POSITIVE_INFINITY) body?.refuse();
  return true;
}

/** Answers 400 to a request that `serve` did not take, and closes its connection: where the next begins is unsure. */
export function refuse(request: HttpRequest, reply: Reply): void {
  const problem = framingProblem(request.path, request.headers) ?? 'The request is malformed.';
  reply.send(400, [...JSON_HEADERS, ['connection', 'close']], plainError(400, problem));
}

/** Reports what the routes threw. */
export function reportFault(options: ListenerOptions, error: unknown): void {
  if (options.onFault !== undefined) options.onFault(error);
  else process.emitWarning(error instanceof Error ? error : String(error));
}
