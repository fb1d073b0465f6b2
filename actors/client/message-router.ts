// Routes every message of every client, whatever front end brought it.

import { GatewayError, InternalError } from '../errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { rawOf } from '../jsonrpc/span.ts';
import { anonymous, type Principal, principalText } from '../principal.ts';
import { type ListKind, listKinds } from '../server/lists/lists.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Trace } from '../upstream/link.ts';
import { ClientExchange, type ExchangeEnd } from './client-exchange.ts';
import { readCaller } from './eras/modern-caller.ts';
import type { Outlet } from './outlet.ts';
import { routeTo } from './routed-request.ts';
import { type AggregateContext, routeToAny } from './routing/aggregate-router.ts';
import { routeModern } from './routing/modern-router.ts';
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
const MAX_NAMED = 100;

export class MessageRouter {
  /** Requests of all clients, as GET /stats shows them. */
  readonly counts = { total: 0, failed: 0, in_flight: 0 };
  readonly #gateway: Gateway;
  readonly #context: AggregateContext;
  /** The servers that lists were given without last. */
  readonly #incomplete = new Map<ListKind, readonly string[]>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    const { aggregate, discovery, eraBridge, forwarder, search, sessions, config } = gateway;
    const listTimeoutMs = config.list_timeout_seconds * 1000;
    const onList = (kind: ListKind, incomplete: readonly string[]) => this.#noteIncomplete(kind, incomplete);
    this.#context = { aggregate, discovery, eraBridge, forwarder, search, sessions, listTimeoutMs, onList };
  }

  /**
   * Begins a session with the `initialize` request of a client, at one server or, without one, at all of them. The
   * answer comes through the outlet; `onSession` is called before it, and the session has ended when it is an error.
   * Throws RpcFault for a malformed request, OverloadedError when there are too many sessions.
   */
  open(
    envelope: Envelope,
    server: ManagedServer | undefined,
    outlet: Outlet,
    origin: Origin,
    onSession: (session: ClientSession) => void,
  ): void {
    const { principal = anonymous } = origin;
    const session = this.#gateway.sessions.create({
      target: server?.id,
      principal,
      ...readInitialize(envelope),
    });
    onSession(session);
    const exchange = this.#exchange(envelope, outlet, origin, session);
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
    const exchange = this.#exchange(envelope, outlet, origin, session);
    let server: ManagedServer | undefined;
    try {
      if (envelope.method === 'initialize') {
        exchange.refuse(new RpcFault(rpcCodes.invalidRequest, 'the session is initialised already'));
      } else if (session.target === undefined) {
        routeToAny({ session, caller: undefined, envelope, exchange, trace: origin }, this.#context);
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
   * A request of the modern era, to one server or, without one, to all of them. Gives what cancels it, and knows whether it
   * was sent; undefined when it is over already. Throws RpcFault for wrong metadata, OverloadedError when too many clients listen.
   */
  stateless(
    envelope: Envelope,
    server: ManagedServer | undefined,
    outlet: Outlet,
    origin: Origin,
  ): { readonly isUnsent?: boolean; cancel(reason?: string): void } | undefined {
    const caller = readCaller(envelope, shownPrincipal(origin));
    if (envelope.method === 'subscriptions/listen')
      return listen(this.#gateway, { envelope, caller, server, outlet });
    const exchange = this.#exchange(envelope, outlet, origin, undefined);
    exchange.modernResult = { serverInfo: this.#gateway.serverInfo, isMethodKnown: false };
    const request = { session: undefined, caller, envelope, exchange, trace: origin };
    try {
      if (server === undefined) routeToAny(request, this.#context);
      else routeModern(routeTo(request, server), caller, this.#gateway);
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
    const exchange = this.#exchange(envelope, outlet, origin, undefined);
    if (envelope.method === 'initialize') {
      exchange.refuse(
        new RpcFault(rpcCodes.invalidRequest, 'there are no sessions here; initialize at /mcp or /mcp/:id'),
      );
      return;
    }
    try {
      routeToServer(
        { session: undefined, caller: undefined, server, envelope, exchange, trace: origin },
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
    if (session.target === undefined) return this.#gateway.servers.all();
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

  /** Says once of the same servers that a list lacks what they have. */
  #noteIncomplete(kind: ListKind, servers: readonly string[]): void {
    if (this.#incomplete.get(kind) === servers) return;
    const before = this.#incomplete.get(kind) ?? [];
    this.#incomplete.set(kind, servers);
    if (servers.length === 0 || servers.join() === before.join()) return;
    const what = 'a list was given without all that these servers may have; what comes later is announced';
    this.#gateway.log.warn({ list: listKinds[kind].method, servers: servers.slice(0, MAX_NAMED) }, what);
  }

  #exchange(
    envelope: Envelope,
    outlet: Outlet,
    origin: Origin,
    session: ClientSession | undefined,
  ): ClientExchange {
    const startedAt = performance.now();
    this.counts.total += 1;
    this.counts.in_flight += 1;
    const exchange = new ClientExchange(envelope.rawId, outlet, {
      redact: (text) => this.#gateway.redactor.redact(text),
      onEnd: (ended, end, error) => {
        session?.finish(ended);
        this.#gateway.forwarder.inFlight.give(ended);
        this.counts.in_flight -= 1;
        if (end === 'failed' || end === 'refused') this.counts.failed += 1;
        this.#log(ended, envelope, end, error, performance.now() - startedAt, origin, session);
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
      principal: shownPrincipal(origin),
      request_id: origin.requestId,
      traceparent: origin.traceparent,
      ...(error === undefined ? {} : { code: error.code, reason: error.message }),
    };
    if (isNoteworthy) log.info(fields, 'call');
    else log.debug(fields, 'call');
  }
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
