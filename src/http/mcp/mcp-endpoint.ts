// MCP over Streamable HTTP. The body of a message tells its era: a message that carries a protocol version is modern and is handled
// by modern-endpoint.ts. This file serves the revisions with sessions: POST takes messages, GET opens the stream for messages
// that belong to no request, DELETE ends the session (spec revision 2025-11-25, "Transports").

import { GatewayError } from '../../../actors/base/errors/errors.ts';
import { readCaller } from '../../../actors/mcp/clients/eras/modern-caller.ts';
import { unknownState } from '../../../actors/mcp/clients/eras/suspended-calls.ts';
import type { Endpoint } from '../../../actors/mcp/clients/profiles/profile.ts';
import { parseEventId } from '../../../actors/mcp/clients/sessions/replay-ring.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { modernVersion } from '../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { isSessionVersion, sessionVersions } from '../../../actors/mcp/servers/cache/server-description.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyProblem } from '../listener/seam.ts';
import type { RouteContext } from '../route-context.ts';
import { EventStream, liveStreams } from './event-stream.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { checkMirrorHeaders, isModernHeader, postModern } from './modern-endpoint.ts';
import { PostOutlet } from './post-outlet.ts';

/** What nearly every client sends: no need to read it again each time. */
const USUAL_ACCEPT = 'application/json, text/event-stream';

/** Refuses what can be refused by the headers alone; true when the body, which tells the era, is wanted. */
export function admitPost(context: ExchangeContext): boolean {
  const { 'content-type': type = '' } = context.request.headers;
  if (isJson(type)) return true;
  context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Content-Type must be application/json'), 415);
  return false;
}

export function post(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  body: Buffer | BodyProblem,
): void {
  const envelope = readBody(context, body, routes.config.limits.body_bytes);
  if (envelope === undefined) return;
  const { nodes } = routes;
  try {
    const isStateless = envelope.isModern;
    if (isStateless && isRetryElsewhere(routes, context, envelope)) return;
    // What belongs to a session is for the node that has it, also while this one stops.
    const isOfSession = nodes !== undefined && !isStateless && envelope.method !== 'initialize';
    if (envelope.kind === 'request' && routes.life.isEnding && !isOfSession) {
      context.refuseWhileDraining(envelope.rawId);
      return;
    }
    if (isStateless) {
      postModern(routes, context, endpoint, envelope);
      return;
    }
    if (isModernHeader(context.request.headers['mcp-protocol-version'])) {
      // The header claims what the body does not; only a notification need not claim it as well.
      if (envelope.kind === 'request') readCaller(envelope);
      else if (envelope.kind === 'notification') context.empty(202);
      else throw new RpcFault(rpcCodes.invalidRequest, 'this revision knows no answers of clients');
      return;
    }
    if (!admitAccept(context) || !admitVersion(context)) return;
    checkMirrorHeaders(context.request.headers, envelope);
    if (envelope.kind === 'request' && envelope.method === 'initialize') {
      initialize(routes, context, endpoint, envelope);
      return;
    }
    const session = sessionOf(routes, context, endpoint, envelope);
    if (session === undefined) return;
    if (envelope.kind === 'request') {
      if (routes.life.isEnding) {
        context.refuseWhileDraining(envelope.rawId);
        return;
      }
      const outlet = new PostOutlet(context, routes.heartbeat, session);
      routes.mcp.clients.router.request(session, envelope, outlet, context);
    } else {
      routes.mcp.clients.router.note(session, envelope);
      context.empty(202);
    }
  } catch (error) {
    answerError(context, error, envelope);
  }
}

/** Begins a session. Invalid parameters fail an accepted request, so the error has status 200 (EXC1). */
function initialize(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  envelope: Envelope,
): void {
  const outlet = new PostOutlet(context, routes.heartbeat, undefined);
  try {
    routes.mcp.clients.router.open(envelope, endpoint, outlet, context, (session) => {
      outlet.session = session;
    });
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.rpcFault(error, 200);
  }
}

/** Opens the session's own stream, or goes on with one that was lost. */
export function get(routes: RouteContext, context: ExchangeContext, endpoint: Endpoint): void {
  if (refusesModern(context)) return;
  const { accept = '', 'last-event-id': lastEventId } = context.request.headers;
  if (!accepts(accept, 'text/event-stream')) {
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Accept must list text/event-stream'), 406);
    return;
  }
  if (!admitVersion(context)) return;
  const session = sessionOf(routes, context, endpoint, undefined);
  if (session === undefined) return;
  if (routes.life.isEnding) {
    context.refuseWhileDraining();
    return;
  }
  session.lastSeenAt = performance.now();
  const last = lastEventId === undefined ? undefined : parseEventId(lastEventId);
  if (lastEventId !== undefined && last === undefined) {
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Last-Event-ID is none of this session'), 400);
    return;
  }
  const lost = last === undefined ? undefined : liveStreams(session).get(last.stream);
  if (last !== undefined && lost === undefined) {
    finishLost(session, context, last);
    return;
  }
  const stream = lost ?? new EventStream(session);
  if (lost === undefined) {
    session.stream?.end();
    session.stream = stream;
    routes.mcp.clients.sessions.tellMissed(session);
  }
  stream.disconnect();
  routes.heartbeat.streams.add(stream);
  stream.whenEnded = () => routes.heartbeat.streams.delete(stream);
  stream.connect(context, last?.number, () => {
    // From now on nobody listens, and the session counts as unused; the stream waits for its client to come back.
    session.lastSeenAt = performance.now();
  });
  if (last !== undefined) stream.replayAfter(last.number);
}

export function remove(routes: RouteContext, context: ExchangeContext, endpoint: Endpoint): void {
  if (refusesModern(context)) return;
  const session = sessionOf(routes, context, endpoint, undefined);
  if (session === undefined) return;
  routes.mcp.clients.router.end(session);
  context.empty(204);
}

/** The modern era knows neither GET nor DELETE; true when that was said. */
function refusesModern(context: ExchangeContext): boolean {
  if (!isModernHeader(context.request.headers['mcp-protocol-version'])) return false;
  context.error(405, `revision ${modernVersion} knows POST only`, [['allow', 'POST']]);
  return true;
}

/** The stream has ended meanwhile: what was missed of it, and its end. */
function finishLost(
  session: ClientSession,
  context: ExchangeContext,
  last: { stream: number; number: number },
): void {
  const stream = new EventStream(session, last.stream);
  stream.connect(context, last.number);
  stream.replayAfter(last.number);
  stream.end();
}

function readBody(context: ExchangeContext, body: Buffer | BodyProblem, limit: number): Envelope | undefined {
  if (typeof body === 'string') {
    context.refuseRpcBody(body, limit);
    return undefined;
  }
  try {
    return readClientMessage(body);
  } catch (error) {
    answerError(context, error, undefined);
    return undefined;
  }
}

function sessionOf(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  envelope: Envelope | undefined,
): ClientSession | undefined {
  const id = context.request.headers['mcp-session-id'];
  const rawId = envelope?.kind === 'request' ? envelope.rawId : undefined;
  if (id === undefined || id === '') {
    const message = 'the Mcp-Session-Id header is missing; initialize first';
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message, rawId), 400);
    return undefined;
  }
  const { mcp, life, nodes } = routes;
  const session = mcp.clients.sessions.find(id, endpoint, context.principal);
  // A 404 makes the client initialize again (MCP 2025-11-25, Session Management).
  const gone = () => context.rpcFault(new RpcFault(-32001, 'Session not found', rawId), 404);
  if (session === undefined) {
    if (nodes?.takeForSession(id, { context, envelope, body: envelope?.bytes, gone }) !== true) gone();
    return undefined;
  }
  const begins = envelope === undefined ? context.request.method === 'GET' : envelope.kind === 'request';
  if (nodes === undefined || !life.isEnding || !begins || context.principal.kind === 'node') return session;
  // It may do so at another node, now; a node knows by itself what stops here.
  gone();
  return undefined;
}

/** Whether another node takes it, which has the call that waits for it. */
export function isRetryElsewhere(
  { nodes }: RouteContext,
  context: ExchangeContext,
  envelope: Envelope,
): boolean {
  if (nodes === undefined || envelope.kind !== 'request') return false;
  const gone = () => context.rpcFault(unknownState(envelope.rawId), 200);
  return nodes.takeRetry({ context, envelope, body: envelope.bytes, gone });
}

function answerError(context: ExchangeContext, error: unknown, envelope: Envelope | undefined): void {
  const rawId = envelope?.kind === 'request' ? envelope.rawId : undefined;
  if (error instanceof RpcFault) {
    const { code, message, data } = error;
    context.rpcFault(new RpcFault(code, message, error.rawId ?? rawId, data), 400);
  } else if (error instanceof GatewayError) {
    context.rpcError(error, rawId);
  } else {
    throw error;
  }
}

function admitAccept(context: ExchangeContext): boolean {
  const { accept = '' } = context.request.headers;
  if (accept === USUAL_ACCEPT) return true;
  if (accepts(accept, 'application/json') && accepts(accept, 'text/event-stream')) return true;
  const message = 'Accept must list both application/json and text/event-stream';
  context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message), 406);
  return false;
}

function admitVersion(context: ExchangeContext): boolean {
  const version = context.request.headers['mcp-protocol-version'];
  if (version === undefined || isSessionVersion(version)) return true;
  const message = `unsupported MCP-Protocol-Version; the gateway speaks ${sessionVersions.join(', ')}`;
  context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message), 400);
  return false;
}

/** Whether an Accept header takes a media type; its weights do not matter here, but 0 means no. */
function accepts(accept: string, type: string): boolean {
  const [kind] = type.split('/');
  return accept.split(',').some((range) => {
    // Blanks around the separator are cut off each part: a pattern with them would try every blank of a long run.
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) return false;
    return name === type || name === '*/*' || name === `${kind}/*`;
  });
}
