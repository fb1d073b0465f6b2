// Sends client requests to servers once a router has selected the server. A server of the client's protocol
// era (legacy with sessions, or modern with stateless requests since 2026-07-28) receives them unchanged;
// otherwise the era bridge converts them.

import {
  DeadlineError,
  InternalError,
  OverloadedError,
  ProcessLostError,
  StoppedError,
} from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { concatEdits, type Edit } from '../../jsonrpc/span.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { EraBridge } from '../eras/bridge.ts';
import { hiddenCapabilityEdits } from '../eras/hidden-capabilities.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';
import { callServer } from '../tasks/call.ts';
import { taskEdits } from '../tasks/hidden-tasks.ts';
import type { InFlightLimiter } from './in-flight-limiter.ts';

export class Forwarder {
  readonly inFlight: InFlightLimiter;
  readonly #eraBridge: EraBridge;

  constructor(inFlight: InFlightLimiter, eraBridge: EraBridge) {
    this.inFlight = inFlight;
    this.#eraBridge = eraBridge;
  }

  /** Sends a request. The eras of the server must be known (`withEras`). */
  forward(route: RoutedRequest): void {
    const { server, exchange, caller, session } = route;
    // The client may have cancelled before the server was selected.
    if (exchange.isDone) return;
    exchange.server = server.id;
    if (session !== undefined && reportsLostProcess(server)) {
      // True once after each loss: only the first request afterwards fails.
      if (session.takeLostProcess(server.id)) {
        exchange.fail(lostProcess(server.id));
        return;
      }
      session.noteProcess(server.id);
    }
    // Without a free slot, `take` has failed the request.
    if (!this.inFlight.take(exchange, server)) return;
    const ownEra = clientEra(route);
    const era = server.eras.serverEraFor(ownEra) ?? 'legacy';
    if (era !== ownEra) {
      this.#eraBridge.cross(route);
      return;
    }
    const hidden = caller === undefined ? undefined : hiddenCapabilityEdits(route, caller);
    this.send(route, era, hidden === undefined ? route.edits : concatEdits(route.edits, hidden));
  }

  /** Sends a request that already holds an in-flight slot. */
  send(route: RoutedRequest, era: Era, edits: readonly Edit[] | undefined): void {
    const { server, exchange, envelope, session, trace, home } = route;
    const { client } = exchange;
    const request = { envelope, exchange, owner: session, client, era, trace, edits, home };
    // Servers rarely require tasks, and requests rarely contain `task`.
    const mayConcernTask = server.cache.taskTools.size > 0 || envelope.param('task') !== undefined;
    exchange.call = mayConcernTask
      ? callServer(route, { ...request, edits: concatEdits(edits, taskEdits(route)) })
      : server.handle.accept(request);
  }
}

/** Returns true if each session has its own process, and a call reports the loss of the process. */
function reportsLostProcess({ entry }: ManagedServer): boolean {
  return entry.isolation === 'session' && entry.lost_process === 'error';
}

function lostProcess(server: string): ProcessLostError {
  return new ProcessLostError(
    `the process of server ${server} for this session has ended and its state is lost; the request was not ` +
      'sent, and the next one starts a new process',
  );
}

/**
 * Calls `proceed` when the eras of the server are known: immediately, unless the probe that determines them
 * is still running. A parked server (it failed too often) refuses the request itself.
 */
export function withEras({ server, exchange }: RoutedRequest, proceed: () => void): void {
  if (server.eras.knownEras !== undefined || !server.entry.enabled || server.handle.isParked) {
    proceed();
    return;
  }
  const release = server.probeWaits.take(exchange.client);
  if (release === undefined) {
    const why = `too many requests already wait for the era probe of server ${server.id}`;
    exchange.fail(new OverloadedError(`${why}; try again shortly, or raise pool.waiting in the catalog`));
    return;
  }
  const pending = server.eras.ensureKnown().then(() => {
    if (exchange.isDone) return;
    if (server.eras.knownEras !== undefined || server.handle.isParked) proceed();
    else
      exchange.fail(new StoppedError(`server ${server.id} was stopped before its protocol eras were known`));
  });
  // A request's deadline starts only with the call, which does not exist yet.
  const { request_timeout_seconds: seconds } = server.entry;
  const timer = setTimeout(() => {
    const why = `the era probe of server ${server.id} did not end within ${seconds} s`;
    exchange.fail(new DeadlineError(`${why}; set its era in the catalog, and see GET /servers/${server.id}`));
  }, seconds * 1000);
  pending
    .catch((cause: unknown) => exchange.fail(new InternalError('the request could not be routed', { cause })))
    .finally(() => {
      clearTimeout(timer);
      release();
    });
}
