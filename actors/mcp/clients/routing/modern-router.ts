// Routes requests of modern clients (protocol 2026-07-28, no session) at /mcp/:id, and requests of the
// gateway itself (agents, flows, the library). Methods that this protocol version removed are refused as
// unknown, even if the server supports them. The gateway answers `server/discover` itself.

import { type GatewayError, InternalError } from '../../../base/errors/errors.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import {
  type Caller,
  modernEdits,
  modernVersion,
  type RawMeta,
  toModern,
} from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ServerDescription } from '../../servers/cache/introduction.ts';
import type { Call, CallRequest } from '../../servers/calls/call.ts';
import { noCache } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { unknownTool } from '../aggregate/resolution.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { ClientRequest, RoutedRequest } from '../routed-request.ts';
import { declaresTasks, isTaskMethod, recordTask, routeTaskRequest } from '../tasks/requests.ts';
import { withEras } from './forwarder.ts';
import { listMethods, type RoutingContext, routeList } from './server-router.ts';

/** Callbacks of `describeServer`; exactly one is called. */
export interface DescriptionWait {
  succeed(description: ServerDescription): void;
  fail(error: GatewayError): void;
  /** The request was cancelled. */
  drop(): void;
}

/** Returns the cached server description in the form for modern clients. */
export function descriptionOf({ cache }: ManagedServer): ServerDescription | undefined {
  return cache.descriptionIn('modern') ?? cache.description;
}

/**
 * Fetches a server description that is not cached. Sends a request of any kind, because the server sends its
 * description when a connection to it opens. The request counts towards all limits. The protocol eras of the
 * server (legacy with sessions, modern without) must be known. `origin` is the client; a client without a
 * session is modern.
 */
export function describeServer(
  server: ManagedServer,
  caller: Caller,
  waiting: DescriptionWait,
  origin: Pick<CallRequest, 'owner' | 'client'>,
): Call {
  const era = server.eras.serverEraFor(origin.owner?.era ?? 'modern') ?? 'legacy';
  const method = era === 'legacy' ? 'ping' : 'server/discover';
  // The connection replaces the id 0.
  const plain = readServerMessage(requestMessage('0', method, undefined));
  return server.handle.accept({
    envelope: era === 'legacy' ? plain : toModern(plain, caller),
    era,
    ...origin,
    exchange: {
      answer: () => {
        const description = descriptionOf(server);
        if (description !== undefined) waiting.succeed(description);
        else waiting.fail(new InternalError(`server ${server.id} responded without a description`));
      },
      fail: (error) => waiting.fail(error),
      relay: () => {},
      drop: () => waiting.drop(),
    },
  });
}

const removedMethods = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** Server capability that each method requires. */
const capabilityOf: Readonly<Record<string, string>> = {
  'tools/call': 'tools',
  'prompts/get': 'prompts',
  'resources/read': 'resources',
  'completion/complete': 'completions',
};

/** Refuses methods that the modern era removed. Returns true if it refused. */
export function refuseRemoved({ envelope, exchange }: ClientRequest): boolean {
  if (!removedMethods.has(envelope.method)) return false;
  exchange.refuse(new RpcFault(rpcCodes.methodNotFound, `Method not found: ${envelope.method}`));
  return true;
}

/** Routes a modern request to a server. */
export function routeModern(route: RoutedRequest, caller: ModernCaller, context: RoutingContext): void {
  if (refuseRemoved(route)) return;
  whenDescribed(route, caller, (description) => dispatch(route, context, description));
}

/** The gateway as a client of its servers. */
export interface OwnCaller extends ModernCaller {
  /** Metadata for calls to modern servers. */
  readonly meta: RawMeta;
}

/** Routes the gateway's own tool call or list request to a server. */
export function routeOwnRequest(route: RoutedRequest, caller: OwnCaller, context: RoutingContext): void {
  whenDescribed(route, caller, () => {
    const { envelope, exchange, server } = route;
    const forward = () => forwardOwn(route, caller, context);
    const name = envelope.paramText('name') ?? '';
    if (envelope.method === 'tools/list') routeList(route, 'tools', context, forward);
    else if (context.aggregate.isAllowed(server, name)) forward();
    else exchange.refuse(unknownTool(name));
  });
}

/** Sends the gateway's own request: unchanged to a legacy server, with metadata to a modern server. */
function forwardOwn(route: RoutedRequest, caller: OwnCaller, { forwarder }: RoutingContext): void {
  const { server, exchange, envelope } = route;
  exchange.server = server.id;
  // Without a free slot, `take` has failed the request.
  if (!forwarder.inFlight.take(exchange, server)) return;
  const era = server.eras.serverEraFor('modern') ?? 'legacy';
  forwarder.send(route, era, era === 'modern' ? modernEdits(envelope, caller.meta) : undefined);
}

/**
 * Calls `proceed` when the eras and the description of the server are known. Starts the server if necessary.
 */
function whenDescribed(
  route: RoutedRequest,
  caller: ModernCaller,
  proceed: (description: ServerDescription) => void,
): void {
  const cachedDescription =
    route.server.eras.knownEras === undefined ? undefined : descriptionOf(route.server);
  if (cachedDescription !== undefined) proceed(cachedDescription);
  else withEras(route, () => fetchDescription(route, caller, proceed));
}

function dispatch(route: RoutedRequest, context: RoutingContext, description: ServerDescription): void {
  const { envelope, exchange, server } = route;
  const { method } = envelope;
  const capability = Object.hasOwn(capabilityOf, method) ? capabilityOf[method] : undefined;
  if (exchange.modernResult !== undefined) {
    exchange.modernResult.serverInfo = description.serverInfo;
    // True only for the methods in `capabilityOf`: an error −32601 of the server then concerns the requested
    // tool, prompt or resource, not the method.
    exchange.modernResult.isMethodKnown =
      capability !== undefined && description.capabilities[capability] !== undefined;
  }
  const kind = listMethods.get(method);
  if (kind !== undefined) {
    routeList(route, kind, context);
  } else if (method === 'server/discover') {
    exchange.result(discovery(description.capabilities, description.instructions), noCache);
  } else if (method === 'tools/call') {
    const name = envelope.paramText('name');
    if (name !== undefined && !context.aggregate.isAllowed(server, name)) exchange.refuse(unknownTool(name));
    else {
      if (declaresTasks(route)) recordTask(route);
      resumeOrForward(route, context);
    }
  } else if (isTaskMethod(method)) {
    routeTaskRequest(route, (allowedRoute) => context.forwarder.forward(allowedRoute));
  } else {
    resumeOrForward(route, context);
  }
}

/** Returns the result of `server/discover`. */
export function discovery(
  capabilities: Readonly<Record<string, unknown>>,
  instructions?: string | undefined,
): Record<string, unknown> {
  // The legacy capability `tasks` differs from the modern extension of the same name.
  const { tasks, ...rest } = capabilities;
  // Marks `tasks` as used for the linter.
  void tasks;
  return {
    supportedVersions: [modernVersion],
    capabilities: rest,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** Resumes the suspended call that the request continues, or sends the request. */
export function resumeOrForward(route: RoutedRequest, context: RoutingContext): void {
  const { envelope, exchange, server } = route;
  const state = envelope.paramText('requestState');
  // A request with a state continues a suspended call if the gateway knows the state. A state of a modern
  // server is unknown to the gateway and is forwarded. The gateway may have suspended the call while it
  // assumed a legacy server, so it looks up the state first.
  const isNewCall =
    state === undefined ||
    (!context.eraBridge.suspendedCalls.has(state) && server.eras.serverEraFor('modern') === 'modern');
  if (isNewCall) {
    context.forwarder.forward(route);
    return;
  }
  // If no in-flight slot is free, the state remains valid, so the client may retry with it.
  if (!context.forwarder.inFlight.take(exchange, server)) return;
  try {
    context.eraBridge.suspendedCalls.take(state, server.id, envelope, route.caller?.principal).resume(route);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    exchange.refuse(error);
  }
}

/** Calls `proceed` with the description of the server. Starts the server if the description is unknown. */
function fetchDescription(
  route: RoutedRequest,
  caller: ModernCaller,
  proceed: (description: ServerDescription) => void,
): void {
  const { server, exchange } = route;
  const description = descriptionOf(server);
  if (description !== undefined) {
    proceed(description);
    return;
  }
  const waiting: DescriptionWait = {
    succeed: (learnt) => {
      exchange.call = undefined;
      proceed(learnt);
    },
    fail: (error) => exchange.fail(error),
    drop: () => exchange.drop(),
  };
  exchange.call = describeServer(server, caller, waiting, { client: exchange.client });
}
