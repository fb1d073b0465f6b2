// Routes every message of every client, whatever front end brought it.

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import { anonymous, type Principal, principalText } from '../../identity/principal.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { rawOf } from '../jsonrpc/span.ts';
import type { Trace } from '../links/link.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import { ClientExchange, type ExchangeEnd } from './client-exchange.ts';
import { type ModernCaller, readCaller } from './eras/modern-caller.ts';
import type { Outlet } from './outlet.ts';
import type { Endpoint, Profile } from './profiles/profile.ts';
import { type ClientRequest, routeTo } from './routed-request.ts';
import type { RouterHost } from './router-host.ts';
import { AggregateContexts, routeToAny } from './routing/aggregate-router.ts';
import { type OwnCaller, routeModern, routeOwnRequest } from './routing/modern-router.ts';
import { routeToServer } from './routing/server-router.ts';
import { gatewayInitializeResult, initializeAtServer, readInitialize } from './sessions/initialize.ts';
import { listen } from './sessions/listen.ts';
import type { ClientSession } from './sessions/session.ts';

/** What is known of the request that carried a message; it stands in every log line about it. */
export interface Origin extends Trace {
  readonly requestId: string;
  /** Who asks, where a front end knows it. */
  readonly principal?: Principal;
}

/** A request on its way. `isUnsent`: its server has certainly not received it. */
export interface Running {
  readonly isUnsent?: boolean;
  cancel(reason?: string): void;
}

/** A call that takes longer than this is worth a line at `info`. */
const SLOW_MS = 5_000;

/** A name in a log line is cut here: clients choose it, and its length. */
const MAX_SHOWN = 200;

export class MessageRouter {
  /** Requests of all clients, as GET /stats shows them. */
  readonly counts = { total: 0, failed: 0, in_flight: 0 };
  readonly #gateway: RouterHost;
  readonly #contexts: AggregateContexts;

  constructor(gateway: RouterHost) {
    this.#gateway = gateway;
    this.#contexts = new AggregateContexts(gateway);
  }

  /**
   * Begins a session with the `initialize` request of a client, at one server, at those of a profile, or at all. `onSession`
   * is called before the answer. An error ends the session before its client receives the error. Throws RpcFault for a
   * malformed request, OverloadedError if there are too many sessions.
   */
  open(
    envelope: Envelope,
    { server, profile }: Endpoint,
    outlet: Outlet,
    origin: Origin,
    onSession: (session: ClientSession) => void,
  ): void {
    const { principal = anonymous } = origin;
    const introduction = readInitialize(envelope);
    const { sessions } = this.#gateway;
    const session = sessions.create({ target: server?.id, profile, principal, ...introduction });
    onSession(session);
    const request = this.#begin(envelope, outlet, origin, session, undefined, profile);
    request.exchange.whenEnded = (end) => {
      if (end === 'failed' || end === 'refused') sessions.end(session, 'its server could not be started');
    };
    this.#dispatch(request, server, profile, (at) => {
      if (at === undefined) request.exchange.result(gatewayInitializeResult(this.#gateway, session));
      else initializeAtServer({ ...routeTo(request, at), session });
    });
  }

  /** Routes a request of a session. */
  request(session: ClientSession, envelope: Envelope, outlet: Outlet, origin: Origin): void {
    const { profile, target } = session;
    const request = this.#begin(envelope, outlet, origin, session, undefined, profile);
    this.#dispatch(request, target, profile);
  }

  /** Routes a request of the session era without a session, to one server. */
  single(server: ManagedServer, envelope: Envelope, outlet: Outlet, origin: Origin): void {
    this.#dispatch(this.#begin(envelope, outlet, origin, undefined, undefined, undefined), server, undefined);
  }

  /**
   * Routes a request of the modern era, to one server, to those of a profile, or to all. Returns its exchange, or undefined if
   * the request has ended. Throws RpcFault for wrong metadata, OverloadedError if too many clients listen.
   */
  stateless(
    received: Envelope,
    { server, profile }: Endpoint,
    outlet: Outlet,
    origin: Origin,
  ): Running | undefined {
    const { states } = this.#gateway;
    const envelope = states?.plain(received) ?? received;
    const caller = readCaller(envelope, shownPrincipal(origin));
    if (envelope.method === 'subscriptions/listen')
      return listen(this.#gateway, { envelope, caller, server, profile, outlet });
    const request = this.#begin(envelope, outlet, origin, undefined, caller, profile);
    const { serverInfo } = this.#gateway;
    request.exchange.modernResult = { serverInfo, isMethodKnown: false, states };
    return this.#dispatch(request, server, profile);
  }

  /** Routes the gateway's own tool call or list to one server. Returns the exchange, or undefined if already ended. */
  ownRequest(
    envelope: Envelope,
    caller: OwnCaller,
    server: ManagedServer,
    outlet: Outlet,
    origin: Origin,
  ): Running | undefined {
    const request = this.#begin(envelope, outlet, origin, undefined, caller, undefined);
    return this.#dispatch(request, server, undefined, () =>
      routeOwnRequest(routeTo(request, server), caller, this.#gateway),
    );
  }

  /** A notification or an answer of a session; it gets no reply. */
  note(session: ClientSession, envelope: Envelope): void {
    session.lastSeenAt = performance.now();
    if (envelope.kind === 'answer') {
      session.onClientAnswer(envelope);
      return;
    }
    switch (envelope.method) {
      case 'notifications/initialized':
        return;
      case 'notifications/cancelled': {
        const requestId = envelope.param('requestId');
        if (requestId === undefined) return;
        const { reason } = envelope.parse(envelope.params) as { reason?: unknown };
        session.cancel(rawOf(envelope.bytes, requestId), typeof reason === 'string' ? reason : undefined);
        return;
      }
      case 'notifications/progress':
        session.onClientProgress(envelope);
        return;
      default:
        this.#passOn(session, envelope);
    }
  }

  end(session: ClientSession): void {
    this.#gateway.sessions.end(session, 'the client ended it');
  }

  /** What the client says to a server goes to its own connection only: on a shared one it would speak for others. */
  #passOn(session: ClientSession, envelope: Envelope): void {
    const isRoots = envelope.method === 'notifications/roots/list_changed';
    for (const server of this.#serversOf(session)) {
      if (isRoots && !server.entry.forward_roots) continue;
      const member = server.pool.memberOf(session);
      // The modern era has no such notifications.
      if (member?.isOpen === true && member.era === 'legacy') member.connection.sendRaw(envelope.bytes);
    }
  }

  #serversOf(session: ClientSession): readonly ManagedServer[] {
    if (session.target === undefined) return session.profile?.servers() ?? this.#gateway.servers.all();
    const server = this.#gateway.servers.get(session.target);
    return server === undefined ? [] : [server];
  }

  /**
   * Routes a request to its server, or to all servers if `target` is undefined. A routed request that waits has a place in
   * flight or is refused (A8): it was sent to its server and has one, or it waits for an earlier step and gets one now.
   */
  #dispatch(
    request: ClientRequest,
    target: ManagedServer | string | undefined,
    profile: Profile | undefined,
    act?: (server: ManagedServer | undefined) => void,
  ): ClientExchange | undefined {
    const { envelope, exchange, session } = request;
    let server: ManagedServer | undefined;
    try {
      server = typeof target === 'string' ? this.#gateway.server(target) : target;
      if (act === undefined) this.#route(request, server, profile);
      else act(server);
    } catch (error) {
      endBy(error, exchange);
    }
    if (exchange.isDone || exchange.budget !== undefined) return exchange;
    const isIntroduction = envelope.method === 'initialize' || envelope.method === 'server/discover';
    if (this.#gateway.forwarder.inFlight.wait(exchange, server, session, isIntroduction)) return exchange;
    exchange.call?.cancel('the gateway has no place for the request');
    return undefined;
  }

  #route(request: ClientRequest, server: ManagedServer | undefined, profile: Profile | undefined): void {
    const { session, caller, envelope, exchange } = request;
    if (caller === undefined && envelope.method === 'initialize') {
      const why =
        session === undefined
          ? 'there are no sessions here; initialize at /mcp or /mcp/:id'
          : 'the session is initialised already';
      exchange.refuse(new RpcFault(rpcCodes.invalidRequest, why));
    } else if (server === undefined) routeToAny(request, this.#contexts.of(profile));
    else if (caller === undefined) routeToServer(routeTo(request, server), this.#gateway);
    else routeModern(routeTo(request, server), caller, this.#gateway);
  }

  /** Counts a request and creates its exchange. */
  #begin(
    envelope: Envelope,
    outlet: Outlet,
    origin: Origin,
    session: ClientSession | undefined,
    caller: ModernCaller | undefined,
    profile: Profile | undefined,
  ): ClientRequest {
    const startedAt = performance.now();
    begun(this.counts);
    if (profile !== undefined) begun(profile.counts);
    const exchange = new ClientExchange(envelope.rawId, outlet, {
      redact: (text) => this.#gateway.redactor.redact(text),
      onEnd: (ended, end, error) => {
        session?.finish(ended);
        this.#gateway.forwarder.inFlight.give(ended);
        over(this.counts, end);
        if (profile !== undefined) over(profile.counts, end);
        this.#log(ended, envelope, end, error, performance.now() - startedAt, origin, session, profile);
      },
    });
    exchange.bytes = envelope.bytes.length;
    session?.begin(exchange);
    return { session, caller, envelope, exchange, trace: origin, principal: shownPrincipal(origin) };
  }

  #log(
    exchange: ClientExchange,
    envelope: Envelope,
    end: ExchangeEnd,
    error: GatewayError | undefined,
    ms: number,
    origin: Origin,
    session: ClientSession | undefined,
    profile: Profile | undefined,
  ): void {
    const { log, config } = this.#gateway;
    const isNoteworthy = end === 'failed' || ms >= SLOW_MS;
    if (!isNoteworthy && config.log_level !== 'debug' && config.log_level !== 'trace') return;
    const fields = {
      server: exchange.server,
      method: envelope.method.slice(0, MAX_SHOWN),
      tool: envelope.method === 'tools/call' ? envelope.paramText('name')?.slice(0, MAX_SHOWN) : undefined,
      outcome: end,
      duration_ms: Math.round(ms * 1000) / 1000,
      session: session?.label,
      profile: profile?.name,
      principal: shownPrincipal(origin),
      request_id: origin.requestId,
      traceparent: origin.traceparent,
      ...(error === undefined ? {} : { code: error.code, reason: error.message }),
    };
    if (isNoteworthy) log.info(fields, 'call');
    else log.debug(fields, 'call');
  }
}

function begun(counts: MessageRouter['counts']): void {
  counts.total += 1;
  counts.in_flight += 1;
}

function over(counts: MessageRouter['counts'], end: ExchangeEnd): void {
  counts.in_flight -= 1;
  if (end === 'failed' || end === 'refused') counts.failed += 1;
}

/** Where nobody has to prove anything there is nothing to tell. */
function shownPrincipal({ principal = anonymous }: Origin): string | undefined {
  return principal.kind === 'anonymous' ? undefined : principalText(principal);
}

/** A2: whatever goes wrong on its way ends a request, and with it its place in flight. */
function endBy(error: unknown, exchange: ClientExchange): void {
  if (error instanceof RpcFault) exchange.refuse(error);
  else if (error instanceof GatewayError) exchange.fail(error);
  else exchange.fail(new InternalError('the request could not be routed', { cause: error }));
}
