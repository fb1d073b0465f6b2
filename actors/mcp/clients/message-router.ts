// Routes the messages of clients from every front end (HTTP, stdio, in-process): starts sessions, creates an
// exchange (the state of a request and its response) per request, and passes it to the router for one server
// or for all servers.

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import { SLOW_MS } from '../../history/call-record.ts';
import { anonymous, type Principal, principalText } from '../../identity/principal.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { rawOf } from '../jsonrpc/span.ts';
import { hasToolResult } from '../jsonrpc/tool-error.ts';
import type { Trace } from '../links/link.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import { CallRecorder } from './call-recorder.ts';
import { type ModernCaller, readCaller } from './eras/modern-caller.ts';
import { ClientExchange, type ExchangeEnd } from './exchange.ts';
import type { Outlet } from './outlet.ts';
import type { Endpoint, Profile } from './profiles/profile.ts';
import { type ClientRequest, routeTo } from './routed-request.ts';
import type { RouterHost } from './router-host.ts';
import { AggregateContexts, routeToAny } from './routing/aggregate-router.ts';
import { type OwnCaller, routeModern, routeOwnRequest } from './routing/modern-router.ts';
import { routeToServer } from './routing/server-router.ts';
import { gatewayInitializeResult, initializeAtServer, readInitialize } from './sessions/initialize.ts';
import { type ListenRequest, listen } from './sessions/listen.ts';
import type { ClientSession } from './sessions/session.ts';

/** Message origin, for log lines. */
export interface RequestOrigin extends Trace {
  readonly requestId: string;
  /** Principal of the sender, if the front end identifies it. */
  readonly principal?: Principal;
  /** Network address of the sender; undefined for a client of this process, whose session is not stored. */
  readonly client?: string;
  /** Name in the audit of a sender without a principal, such as `agent:NAME`. */
  readonly sender?: string | undefined;
}

/** A request in progress. `isUnsent`: the server has certainly not received it. */
export interface RunningRequest {
  readonly isUnsent?: boolean;
  cancel(reason?: string): void;
}

/** Methods that change the session's record. */
const stateMethods = new Set(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']);

/** Maximum length of names in log lines; clients choose them. */
const MAX_LOGGED_LENGTH = 200;

export class MessageRouter {
  /** Request counters across clients, for GET /stats. */
  readonly counts = { total: 0, failed: 0, tool_errors: 0, in_flight: 0 };
  readonly #gateway: RouterHost;
  readonly #contexts: AggregateContexts;
  readonly #recorder: CallRecorder | undefined;

  constructor(gateway: RouterHost) {
    this.#gateway = gateway;
    const isRecording = gateway.recentCalls !== undefined || gateway.audit !== undefined;
    this.#recorder = isRecording ? new CallRecorder(gateway) : undefined;
    this.#contexts = new AggregateContexts(gateway);
  }

  /**
   * Starts a session with a client's `initialize` request: at a server, a profile or all servers. Calls
   * `onSession` before the response is sent. If the request fails, the session is closed before the client
   * receives the error. Throws RpcFault for malformed requests, OverloadedError if the session limit is
   * reached.
   */
  open(
    envelope: Envelope,
    { server, profile }: Endpoint,
    outlet: Outlet,
    origin: RequestOrigin,
    onSession: (session: ClientSession) => void,
  ): void {
    const { principal = anonymous, client } = origin;
    const introduction = readInitialize(envelope);
    const { sessions, restorer } = this.#gateway;
    const session = sessions.create({ target: server?.id, profile, principal, client, ...introduction });
    onSession(session);
    const request = this.#begin(envelope, outlet, origin, session, undefined, profile, server?.id);
    request.exchange.whenEnded = (outcome) => {
      if (outcome === 'failed' || outcome === 'refused')
        sessions.end(session, 'the server could not be started');
    };
    this.#dispatch(request, server, profile, (target) => {
      const answer = () => {
        if (target === undefined) request.exchange.result(gatewayInitializeResult(this.#gateway, session));
        else initializeAtServer({ ...routeTo(request, target), session });
      };
      if (!session.isStored) answer();
      // The record is stored first: otherwise a kill of the gateway could lose a session in use.
      else
        restorer
          .save(session)
          .then(answer)
          .catch((error: unknown) => completeWithError(error, request.exchange));
    });
  }

  /** Routes a session's request. */
  request(session: ClientSession, envelope: Envelope, outlet: Outlet, origin: RequestOrigin): void {
    const { profile, target } = session;
    const request = this.#begin(envelope, outlet, origin, session, undefined, profile, target);
    this.#dispatch(request, target, profile);
  }

  /** Routes a legacy request (protocol up to 2025-11-25) without a session to a server, from /rpc. */
  requestWithoutSession(
    server: ManagedServer,
    envelope: Envelope,
    outlet: Outlet,
    origin: RequestOrigin,
  ): void {
    const request = this.#begin(envelope, outlet, origin, undefined, undefined, undefined, server.id);
    this.#dispatch(request, server, undefined);
  }

  /**
   * Routes a modern client's request (2026-07-28, no session) to a server, a profile or all servers. Returns
   * undefined if already complete. Throws RpcFault for invalid metadata, OverloadedError if the limit of
   * listening clients is reached.
   */
  modernRequest(
    original: Envelope,
    { server, profile }: Endpoint,
    outlet: Outlet,
    origin: RequestOrigin,
  ): RunningRequest | undefined {
    const { states } = this.#gateway;
    const envelope = states?.unwrap(original) ?? original;
    const caller = readCaller(envelope, principalName(origin));
    if (envelope.method === 'subscriptions/listen')
      return this.#listen({ envelope, caller, server, profile, outlet }, origin);
    const request = this.#begin(envelope, outlet, origin, undefined, caller, profile, server?.id);
    const { serverInfo } = this.#gateway;
    request.exchange.modernResult = { serverInfo, isMethodKnown: false, states };
    return this.#dispatch(request, server, profile);
  }

  /** Opens a stream of notifications, and records the request. */
  #listen(
    request: Pick<ListenRequest, 'envelope' | 'caller' | 'server' | 'profile' | 'outlet'>,
    origin: RequestOrigin,
  ): RunningRequest {
    const startedAt = performance.now();
    const record = (isAccepted: boolean) => {
      const ms = performance.now() - startedAt;
      this.#recorder?.recordListen(request.server?.id, isAccepted, ms, origin);
    };
    try {
      const refusal = this.#gateway.audit?.refusal();
      if (refusal !== undefined) throw refusal;
      const stream = listen(this.#gateway, {
        ...request,
        owner: { principal: principalText(origin.principal ?? anonymous), client: origin.client ?? '' },
        shares: this.#gateway.sessions.shares.of(origin.principal),
      });
      record(true);
      return stream;
    } catch (error) {
      record(false);
      throw error;
    }
  }

  /**
   * Routes a tool call or list request of the gateway itself to a server. Returns undefined if already
   * complete.
   */
  ownRequest(
    envelope: Envelope,
    caller: OwnCaller,
    server: ManagedServer,
    outlet: Outlet,
    origin: RequestOrigin,
  ): RunningRequest | undefined {
    const request = this.#begin(envelope, outlet, origin, undefined, caller, undefined, server.id);
    return this.#dispatch(request, server, undefined, () =>
      routeOwnRequest(routeTo(request, server), caller, this.#gateway),
    );
  }

  /** Handles a notification or response from a session's client. */
  receive(session: ClientSession, envelope: Envelope): void {
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
      // For example `notifications/roots/list_changed`.
      default:
        this.#forwardNotification(session, envelope);
    }
  }

  /** Ends a session permanently. Resolves when its record, the stored data to restore it, is removed. */
  async endSession(session: ClientSession): Promise<void> {
    this.#gateway.sessions.end(session, 'the client ended it');
    await this.#gateway.restorer.forget(session);
  }

  /**
   * Forwards a notification only on a connection that belongs to this session: on a shared connection the
   * server would attribute it to other clients as well.
   */
  #forwardNotification(session: ClientSession, envelope: Envelope): void {
    const isRoots = envelope.method === 'notifications/roots/list_changed';
    for (const server of this.#serversOf(session)) {
      if (isRoots && !server.entry.forward_roots) continue;
      // The connection that belongs to this session; undefined if the session has none.
      const member = server.pool.memberOf(session);
      // Clients of modern servers (stateless, 2026-07-28) send no notifications.
      if (member?.isOpen === true && member.era === 'legacy') member.connection.sendRaw(envelope.bytes);
    }
  }

  #serversOf(session: ClientSession): readonly ManagedServer[] {
    if (session.target === undefined) return session.profile?.servers() ?? this.#gateway.servers.all();
    const server = this.#gateway.servers.get(session.target);
    return server === undefined ? [] : [server];
  }

  /**
   * Routes a request to `target`, or to all servers if undefined. `handle` replaces the routing by method.
   * Ensures that every unfinished request holds a slot (permission to be in flight) or fails (A8,
   * ARCHITECTURE.md): sent requests already hold a slot, waiting requests get one here.
   */
  #dispatch(
    request: ClientRequest,
    target: ManagedServer | string | undefined,
    profile: Profile | undefined,
    handle?: (server: ManagedServer | undefined) => void,
  ): ClientExchange | undefined {
    const { envelope, exchange } = request;
    let server: ManagedServer | undefined;
    const refusal = this.#gateway.audit?.refusal();
    if (refusal !== undefined) {
      exchange.fail(refusal);
      return undefined;
    }
    try {
      server = typeof target === 'string' ? this.#gateway.server(target) : target;
      if (handle === undefined) this.#route(request, server, profile);
      else handle(server);
    } catch (error) {
      completeWithError(error, exchange);
    }
    if (exchange.isDone || exchange.budget !== undefined) return exchange;
    // These requests wait only for the description of a server, and have slots of their own.
    const isIntroduction = envelope.method === 'initialize' || envelope.method === 'server/discover';
    if (this.#gateway.forwarder.inFlight.takeWhileWaiting(exchange, server, isIntroduction)) return exchange;
    exchange.call?.cancel('the gateway has no free slot for the request');
    return undefined;
  }

  #route(request: ClientRequest, server: ManagedServer | undefined, profile: Profile | undefined): void {
    const { session, caller, envelope, exchange } = request;
    if (caller === undefined && envelope.method === 'initialize') {
      const why =
        session === undefined
          ? 'this address has no sessions; initialize at /mcp or /mcp/:id'
          : 'the session is already initialised';
      exchange.refuse(new RpcFault(rpcCodes.invalidRequest, why));
    } else if (server === undefined) routeToAny(request, this.#contexts.of(profile));
    else if (caller === undefined) routeToServer(routeTo(request, server), this.#gateway);
    else routeModern(routeTo(request, server), caller, this.#gateway);
  }

  /** Creates the exchange, and counts and records the request. `target` is the server of the address. */
  #begin(
    envelope: Envelope,
    outlet: Outlet,
    origin: RequestOrigin,
    session: ClientSession | undefined,
    caller: ModernCaller | undefined,
    profile: Profile | undefined,
    target: string | undefined,
  ): ClientRequest {
    const startedAt = performance.now();
    countStart(this.counts);
    if (profile !== undefined) countStart(profile.counts);
    const exchange = new ClientExchange(envelope.rawId, outlet, {
      redact: (text) => this.#gateway.redactor.redact(text),
      onEnd: (endedExchange, outcome, error) => {
        session?.finish(endedExchange);
        if (session?.isStored === true && (stateMethods.has(envelope.method) || session.hasNewProcess))
          void this.#gateway.restorer.save(session);
        this.#gateway.forwarder.inFlight.release(endedExchange);
        countEnd(this.counts, outcome);
        if (profile !== undefined) countEnd(profile.counts, outcome);
        const ms = performance.now() - startedAt;
        this.#recorder?.record(endedExchange, envelope, outcome, error, ms, session, target, origin);
        this.#log(endedExchange, envelope, outcome, error, ms, origin, session, profile);
      },
    });
    exchange.client = session?.shares ?? this.#gateway.sessions.shares.of(origin.principal);
    exchange.bytes = envelope.bytes.length;
    exchange.hasToolResult = hasToolResult(envelope.method);
    this.#recorder?.begin(exchange, envelope, session);
    session?.begin(exchange);
    return { session, caller, envelope, exchange, trace: origin, principal: principalName(origin) };
  }

  #log(
    exchange: ClientExchange,
    envelope: Envelope,
    outcome: ExchangeEnd,
    error: GatewayError | undefined,
    ms: number,
    origin: RequestOrigin,
    session: ClientSession | undefined,
    profile: Profile | undefined,
  ): void {
    const { log, config } = this.#gateway;
    const isNoteworthy = outcome === 'failed' || outcome === 'tool_error' || ms >= SLOW_MS;
    if (!isNoteworthy && config.log_level !== 'debug' && config.log_level !== 'trace') return;
    const fields = {
      server: exchange.server,
      method: envelope.method.slice(0, MAX_LOGGED_LENGTH),
      tool:
        envelope.method === 'tools/call'
          ? envelope.paramText('name')?.slice(0, MAX_LOGGED_LENGTH)
          : undefined,
      outcome,
      duration_ms: Math.round(ms * 1000) / 1000,
      session: session?.label,
      profile: profile?.name,
      principal: principalName(origin),
      request_id: origin.requestId,
      traceparent: origin.traceparent,
      ...(error === undefined ? {} : { code: error.code, reason: error.message }),
    };
    if (isNoteworthy) log.info(fields, 'call');
    else log.debug(fields, 'call');
  }
}

function countStart(counts: MessageRouter['counts']): void {
  counts.total += 1;
  counts.in_flight += 1;
}

function countEnd(counts: MessageRouter['counts'], end: ExchangeEnd): void {
  counts.in_flight -= 1;
  if (end === 'failed' || end === 'refused') counts.failed += 1;
  else if (end === 'tool_error') counts.tool_errors += 1;
}

/** Returns the principal for logs and responses; undefined without authentication. */
function principalName({ principal = anonymous }: RequestOrigin): string | undefined {
  return principal.kind === 'anonymous' ? undefined : principalText(principal);
}

/** Completes a request with any error, which also releases its slot (A2, ARCHITECTURE.md). */
function completeWithError(error: unknown, exchange: ClientExchange): void {
  if (error instanceof RpcFault) exchange.refuse(error);
  else if (error instanceof GatewayError) exchange.fail(error);
  else exchange.fail(new InternalError('the request could not be routed', { cause: error }));
}
