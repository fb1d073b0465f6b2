// Routes every message of every client, whatever front end brought it.

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import { anonymous, type Principal, principalText } from '../../identity/principal.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { rawOf } from '../jsonrpc/span.ts';
import type { Trace } from '../links/link.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import { ClientExchange, type ExchangeEnd } from './client-exchange.ts';
import { readCaller } from './eras/modern-caller.ts';
import type { Outlet } from './outlet.ts';
import { type Endpoint, type Profile, profileAt, serverAt } from './profiles/profile.ts';
import { routeTo } from './routed-request.ts';
import type { RouterHost } from './router-host.ts';
import { AggregateContexts } from './routing/aggregate-contexts.ts';
import { routeToAny } from './routing/aggregate-router.ts';
import { type OwnCaller, routeModern, routeOwnCall } from './routing/modern-router.ts';
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
   * Begins a session with the `initialize` request of a client, at one server, at those of a profile, or at all. The
   * answer comes through the outlet; `onSession` is called before it, and the session has ended when it is an error.
   * Throws RpcFault for a malformed request, OverloadedError when there are too many sessions.
   */
  open(
    envelope: Envelope,
    endpoint: Endpoint,
    outlet: Outlet,
    origin: Origin,
    onSession: (session: ClientSession) => void,
  ): void {
    const { principal = anonymous } = origin;
    const server = serverAt(endpoint);
    const profile = profileAt(endpoint);
    const session = this.#gateway.sessions.create({
      target: server?.id,
      profile,
      principal,
      ...readInitialize(envelope),
    });
    onSession(session);
    const exchange = this.#exchange(envelope, outlet, origin, session, profile);
    if (server === undefined) exchange.result(gatewayInitializeResult(this.#gateway, session));
    else {
      try {
        initializeAtServer({ session, caller: undefined, envelope, exchange, server, trace: undefined }, () =>
          this.#gateway.sessions.end(session, 'its server could not be started'),
        );
      } catch (error) {
        endBy(error, exchange);
        this.end(session);
      }
      if (!this.#hasPlace(exchange, envelope, server, session)) this.end(session);
    }
  }

  /** A request of a session. */
  request(session: ClientSession, envelope: Envelope, outlet: Outlet, origin: Origin): void {
    const { profile } = session;
    const exchange = this.#exchange(envelope, outlet, origin, session, profile);
    let server: ManagedServer | undefined;
    try {
      if (envelope.method === 'initialize') {
        exchange.refuse(new RpcFault(rpcCodes.invalidRequest, 'the session is initialised already'));
      } else if (session.target === undefined) {
        const route = { session, caller: undefined, envelope, exchange, trace: origin };
        routeToAny(route, this.#contexts.of(profile));
      } else {
        server = this.#gateway.server(session.target);
        routeToServer(
          { session, caller: undefined, server, envelope, exchange, trace: origin },
          this.#gateway,
        );
      }
    } catch (error) {
      endBy(error, exchange);
    }
    this.#hasPlace(exchange, envelope, server, session);
  }

  /**
   * A request of the modern era, to one server, to those of a profile, or to all. Gives what cancels it, and knows whether it
   * was sent; undefined when it is over already. Throws RpcFault for wrong metadata, OverloadedError when too many clients listen.
   */
  stateless(
    received: Envelope,
    endpoint: Endpoint,
    outlet: Outlet,
    origin: Origin,
  ): { readonly isUnsent?: boolean; cancel(reason?: string): void } | undefined {
    const states = this.#gateway.cluster?.reach?.states;
    const envelope = states?.plain(received) ?? received;
    const caller = readCaller(envelope, shownPrincipal(origin));
    const server = serverAt(endpoint);
    const profile = profileAt(endpoint);
    if (envelope.method === 'subscriptions/listen')
      return listen(this.#gateway, { envelope, caller, server, profile, outlet });
    const exchange = this.#exchange(envelope, outlet, origin, undefined, profile);
    exchange.modernResult = { serverInfo: this.#gateway.serverInfo, isMethodKnown: false, states };
    const request = { session: undefined, caller, envelope, exchange, trace: origin };
    try {
      if (server === undefined) routeToAny(request, this.#contexts.of(profile));
      else routeModern(routeTo(request, server), caller, this.#gateway);
    } catch (error) {
      endBy(error, exchange);
    }
    return this.#hasPlace(exchange, envelope, server, undefined) ? exchange : undefined;
  }

  /** Routes a tool call of the gateway itself to one server. Returns its exchange, or undefined if the call has ended. */
  callTool(
    envelope: Envelope,
    caller: OwnCaller,
    server: ManagedServer,
    outlet: Outlet,
    origin: Origin,
  ): ClientExchange | undefined {
    const exchange = this.#exchange(envelope, outlet, origin, undefined, undefined);
    const request = { session: undefined, caller, envelope, exchange, trace: origin };
    try {
      routeOwnCall(routeTo(request, server), caller, this.#gateway);
    } catch (error) {
      endBy(error, exchange);
    }
    return this.#hasPlace(exchange, envelope, server, undefined) ? exchange : undefined;
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

  /** One request without a session, to one server. */
  single(server: ManagedServer, envelope: Envelope, outlet: Outlet, origin: Origin): void {
    const exchange = this.#exchange(envelope, outlet, origin, undefined, undefined);
    if (envelope.method === 'initialize') {
      exchange.refuse(
        new RpcFault(rpcCodes.invalidRequest, 'there are no sessions here; initialize at /mcp or /mcp/:id'),
      );
      return;
    }
    try {
      routeToServer(
        {
          session: undefined,
          caller: undefined,
          server,
          envelope,
          exchange,
          trace: origin,
          principal: shownPrincipal(origin),
        },
        this.#gateway,
      );
    } catch (error) {
      endBy(error, exchange);
    }
    this.#hasPlace(exchange, envelope, server, undefined);
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
   * What was routed and waits has a place in flight, or is refused (A8): it may have been sent to its server, and then it has;
   * or it waits for something that comes before, and gets it now.
   */
  #hasPlace(
    exchange: ClientExchange,
    { method }: Envelope,
    server: ManagedServer | undefined,
    session: ClientSession | undefined,
  ): boolean {
    if (exchange.isDone || exchange.budget !== undefined) return true;
    const { inFlight } = this.#gateway.forwarder;
    const isIntroduction = method === 'initialize' || method === 'server/discover';
    if (inFlight.wait(exchange, server, session, isIntroduction)) return true;
    exchange.call?.cancel('the gateway has no place for the request');
    return false;
  }

  #exchange(
    envelope: Envelope,
    outlet: Outlet,
    origin: Origin,
    session: ClientSession | undefined,
    profile: Profile | undefined,
  ): ClientExchange {
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
    return exchange;
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
