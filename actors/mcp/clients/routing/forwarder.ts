// Sends client requests to servers with known eras. A server that speaks the client's era gets the request as received; only
// calls between two eras use the bridge.

import { DeadlineError, InternalError, OverloadedError, StoppedError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { type Edit, together } from '../../jsonrpc/span.ts';
import type { EraBridge } from '../eras/era-bridge.ts';
import { hiddenCapabilityEdits } from '../eras/hidden-capabilities.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';
import { taskEdits } from '../tasks/hidden-tasks.ts';
import { callServer } from '../tasks/task-call.ts';
import type { InFlightLimiter } from './in-flight-limiter.ts';

export class Forwarder {
  readonly inFlight: InFlightLimiter;
  readonly #eraBridge: EraBridge;

  constructor(inFlight: InFlightLimiter, eraBridge: EraBridge) {
    this.inFlight = inFlight;
    this.#eraBridge = eraBridge;
  }

  /** Which eras the server speaks must be known (`server.eras`). */
  forward(route: RoutedRequest): void {
    const { server, exchange, caller, session } = route;
    // The client may have cancelled while its server was looked for.
    if (exchange.isDone) return;
    exchange.server = server.id;
    if (!this.inFlight.take(exchange, server, session)) return;
    const own = clientEra(route);
    const era = server.eras.for(own) ?? 'legacy';
    if (era !== own) {
      this.#eraBridge.cross(route);
      return;
    }
    const hidden = caller === undefined ? undefined : hiddenCapabilityEdits(route, caller);
    this.send(route, era, hidden === undefined ? route.edits : together(route.edits, hidden));
  }

  /** Sends a request that holds a slot, with these edits. */
  send(route: RoutedRequest, era: Era, edits: readonly Edit[] | undefined): void {
    const { server, exchange, envelope, session, trace, home } = route;
    const request = { envelope, exchange, owner: session, era, trace, edits, home };
    // Few servers require tasks, and few requests contain one.
    const mayConcernTask = server.cache.taskTools.size > 0 || envelope.param('task') !== undefined;
    exchange.call = mayConcernTask
      ? callServer(route, { ...request, edits: together(edits, taskEdits(route)) })
      : server.handle.accept(request);
  }
}

/** Calls `act` when the server's eras are known: immediately, except during the first probe. */
export function withEras({ server, exchange }: RoutedRequest, act: () => void): void {
  if (server.eras.known !== undefined || !server.entry.enabled || server.handle.isParked) {
    act();
    return;
  }
  // A8: no later bound applies yet, because the request is not accepted.
  const { waiting } = server.entry.pool;
  if (server.eras.waiting >= waiting) {
    const why = `server ${server.id} is being asked for its eras, and ${waiting} requests wait for that`;
    exchange.fail(new OverloadedError(`${why}; try again shortly, or raise pool.waiting in the catalog`));
    return;
  }
  const settled = server.eras.settle().then(() => {
    if (exchange.isDone) return;
    if (server.eras.known !== undefined || server.handle.isParked) act();
    else
      exchange.fail(new StoppedError(`server ${server.id} was stopped before its protocol eras were known`));
  });
  // The request has no deadline yet, because there is no call.
  const { request_timeout_seconds: seconds } = server.entry;
  const timer = setTimeout(() => {
    const why = `server ${server.id} has not told within ${seconds} s which eras it speaks`;
    exchange.fail(new DeadlineError(`${why}; set its era in the catalog, and see GET /servers/${server.id}`));
  }, seconds * 1000);
  settled
    .catch((cause: unknown) => exchange.fail(new InternalError('the request could not be routed', { cause })))
    .finally(() => clearTimeout(timer));
}
