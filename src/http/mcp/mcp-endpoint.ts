// MCP over Streamable HTTP, for the protocol revisions with sessions: POST accepts messages, GET opens the
// stream for messages that belong to no request, DELETE closes the session (revision 2025-11-25,
// "Transports"). A message whose body contains a protocol version belongs to the modern era, which has no
// sessions: see modern-endpoint.ts.

import { readCaller } from '../../../actors/mcp/clients/eras/modern-caller.ts';
import { unknownState } from '../../../actors/mcp/clients/eras/suspended-calls.ts';
import type { Endpoint } from '../../../actors/mcp/clients/profiles/profile.ts';
import { parseEventId } from '../../../actors/mcp/clients/sessions/event-id.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { modernVersion } from '../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { isSessionVersion, sessionVersions } from '../../../actors/mcp/servers/cache/introduction.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyProblem } from '../listener/seam.ts';
import type { RouteContext } from '../route-context.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { refuseByRole } from './message-role.ts';
import { checkMirrorHeaders, isModernHeader, postModern } from './modern-endpoint.ts';
import { PostOutlet } from './post-outlet.ts';
import { respondWithError, withSession } from './session-lookup.ts';
import { connectStream } from './session-streams.ts';

/** Accept header of nearly all clients; needs no parsing. */
const USUAL_ACCEPT = 'application/json, text/event-stream';

/** Checks the headers that concern both eras. Returns true if the body should be read. */
export function admitPost(context: ExchangeContext): boolean {
  const { 'content-type': type = '' } = context.request.headers;
  if (isJson(type)) return true;
  context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Content-Type must be application/json'), 415);
  return false;
}

export function postMessage(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  body: Buffer | BodyProblem,
): void {
  const envelope = readBody(context, body, routes.config.limits.body_bytes);
  if (envelope === undefined || refuseByRole(context, envelope)) return;
  const { forwarder } = routes;
  try {
    const isStateless = envelope.isModern;
    if (isStateless && forwardRetry(routes, context, envelope)) return;
    // Messages of a session are forwarded to the node that owns it, even while this node is stopping.
    const mayBeForwarded = forwarder !== undefined && !isStateless && envelope.method !== 'initialize';
    if (envelope.kind === 'request' && routes.life.isEnding && !mayBeForwarded) {
      context.refuseWhileDraining(envelope.rawId);
      return;
    }
    if (isStateless) {
      postModern(routes, context, endpoint, envelope);
      return;
    }
    // The body of `initialize` negotiates the version, so a version header has no meaning yet (MCP
    // 2025-11-25, Lifecycle).
    const isInitialize = envelope.kind === 'request' && envelope.method === 'initialize';
    if (!isInitialize && isModernHeader(context.request.headers['mcp-protocol-version'])) {
      // The header is modern, but the body has no version. Only a notification may omit it. For a request,
      // readCaller throws the error about the missing version.
      if (envelope.kind === 'request') readCaller(envelope);
      else if (envelope.kind === 'notification') context.empty(202);
      else throw new RpcFault(rpcCodes.invalidRequest, 'this revision has no client responses');
      return;
    }
    if (!admitAccept(context) || !(isInitialize || admitVersion(context))) return;
    // Mcp-Method and Mcp-Name repeat values of the body.
    checkMirrorHeaders(context.request.headers, envelope);
    if (isInitialize) {
      initialize(routes, context, endpoint, envelope);
      return;
    }
    withSession(routes, context, endpoint, envelope, (session) =>
      receive(routes, context, session, envelope),
    );
  } catch (error) {
    respondWithError(context, error, envelope);
  }
}

/** Handles a message of a session. */
function receive(
  routes: RouteContext,
  context: ExchangeContext,
  session: ClientSession,
  envelope: Envelope,
): void {
  const { router } = routes.mcp.clients;
  if (envelope.kind !== 'request') {
    router.receive(session, envelope);
    context.empty(202);
  } else if (routes.life.isEnding) context.refuseWhileDraining(envelope.rawId);
  else {
    const outlet = new PostOutlet(context, routes.heartbeat, session, envelope.rawId);
    router.request(session, envelope, outlet, context);
  }
}

/**
 * Opens a session. A request with invalid parameters counts as accepted, so the status is 200 (EXC1,
 * exchange-context.ts).
 */
function initialize(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  envelope: Envelope,
): void {
  const { rawRequestId = 'null' } = envelope;
  const outlet = new PostOutlet(context, routes.heartbeat, undefined, rawRequestId);
  try {
    routes.mcp.clients.router.open(envelope, endpoint, outlet, context, (session) => {
      outlet.session = session;
    });
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.rpcFault(error, 200);
  }
}

/** Opens the stream of the session, or resumes a stream whose connection was lost. */
export function openStream(routes: RouteContext, context: ExchangeContext, endpoint: Endpoint): void {
  if (refuseIfModern(context)) return;
  const { accept = '', 'last-event-id': lastEventId } = context.request.headers;
  if (!accepts(accept, 'text/event-stream')) {
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Accept must list text/event-stream'), 406);
    return;
  }
  if (!admitVersion(context)) return;
  const last = lastEventId === undefined ? undefined : parseEventId(lastEventId);
  if (lastEventId !== undefined && last === undefined) {
    const message = 'Last-Event-ID does not belong to this session';
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message), 400);
    return;
  }
  withSession(routes, context, endpoint, undefined, (session) =>
    connectStream({ routes, context, session, endpoint }, last),
  );
}

export function deleteSession(routes: RouteContext, context: ExchangeContext, endpoint: Endpoint): void {
  if (refuseIfModern(context)) return;
  withSession(routes, context, endpoint, undefined, (session) => {
    routes.mcp.clients.router
      .endSession(session)
      .then(() => context.empty(204))
      .catch((error: unknown) => context.reply.guard(() => respondWithError(context, error, undefined)));
  });
}

/** If the client is modern, refuses its GET or DELETE and returns true. */
function refuseIfModern(context: ExchangeContext): boolean {
  if (!isModernHeader(context.request.headers['mcp-protocol-version'])) return false;
  context.error(405, `revision ${modernVersion} allows only POST`, [['allow', 'POST']]);
  return true;
}

function readBody(context: ExchangeContext, body: Buffer | BodyProblem, limit: number): Envelope | undefined {
  if (typeof body === 'string') {
    context.refuseRpcBody(body, limit);
    return undefined;
  }
  try {
    return readClientMessage(body);
  } catch (error) {
    respondWithError(context, error, undefined);
    return undefined;
  }
}

/** Forwards a retried call to the node that has suspended it. Returns false for other messages. */
export function forwardRetry(
  { forwarder }: RouteContext,
  context: ExchangeContext,
  envelope: Envelope,
): boolean {
  if (forwarder === undefined || envelope.kind !== 'request') return false;
  const refuseUnknown = () => context.rpcFault(unknownState(envelope.rawId), 200);
  return forwarder.forwardRetry({ context, envelope, body: envelope.bytes, refuseUnknown });
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
  const message = `unsupported MCP-Protocol-Version; supported: ${sessionVersions.join(', ')}`;
  context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message), 400);
  return false;
}

/** Returns true if an Accept header includes a media type. Ignores weights, except for 0. */
function accepts(accept: string, type: string): boolean {
  const [kind] = type.split('/');
  return accept.split(',').some((range) => {
    // A pattern with optional blanks would need quadratic time for many blanks, so the parts are trimmed.
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) return false;
    return name === type || name === '*/*' || name === `${kind}/*`;
  });
}
