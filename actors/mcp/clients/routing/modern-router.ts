// Routes the methods of the modern era (2026-07-28) at /mcp/:id and /mcp. Methods that the revision has removed are
// unknown, whatever the server behind would say; discovery is answered by the gateway itself.
// The gateway's own tool calls and lists (agents, flows, the library) use the server's era and no bridge.

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
import type { ServerDescription } from '../../servers/cache/server-description.ts';
import type { Call } from '../../servers/calls/call.ts';
import type { CallOwner } from '../../servers/calls/call-owner.ts';
import { noCache } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { unknownTool } from '../aggregate/resolution.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { ClientRequest, RoutedRequest } from '../routed-request.ts';
import { declaresTasks, isTaskMethod, recordTask, routeTaskRequest } from '../tasks/task-requests.ts';
import { withEras } from './forwarder.ts';
import { list, listMethods, type RoutingContext } from './server-router.ts';

/** Receives the description. The request that initialises the server counts towards all limits. */
export interface DescriptionWait {
  done(description: ServerDescription): void;
  fail(error: GatewayError): void;
  /** The wait was cancelled. */
  drop(): void;
}

/** Returns the known description of a server in the form for modern clients. */
export function descriptionOf({ cache }: ManagedServer): ServerDescription | undefined {
  return cache.descriptionIn('modern') ?? cache.description;
}

/**
 * Requests the description of a server with known eras; calls one method of `waiting` once. `owner` is the session of the
 * request; requests without one are modern.
 */
export function describeServer(
  server: ManagedServer,
  caller: Caller,
  waiting: DescriptionWait,
  owner?: CallOwner,
): Call {
  const era = server.eras.for(owner?.era ?? 'modern') ?? 'legacy';
  const method = era === 'legacy' ? 'ping' : 'server/discover';
  const plain = readServerMessage(requestMessage('0', method, undefined));
  return server.handle.accept({
    envelope: era === 'legacy' ? plain : toModern(plain, caller),
    era,
    owner,
    exchange: {
      answer: () => {
        const description = descriptionOf(server);
        if (description !== undefined) waiting.done(description);
        else waiting.fail(new InternalError(`server ${server.id} has not introduced itself`));
      },
      fail: (error) => waiting.fail(error),
      relay: () => {},
      drop: () => waiting.drop(),
    },
  });
}

const removed = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** The capability without which a server knows nothing of a method. */
const capabilityOf: Readonly<Record<string, string>> = {
  'tools/call': 'tools',
  'prompts/get': 'prompts',
  'resources/read': 'resources',
  'completion/complete': 'completions',
};

/** Refuses what the era has taken out; true when it was. */
export function isRemoved({ envelope, exchange }: ClientRequest): boolean {
  if (!removed.has(envelope.method)) return false;
  exchange.refuse(new RpcFault(rpcCodes.methodNotFound, `Method not found: ${envelope.method}`));
  return true;
}

/** Routes a modern request to one server. */
export function routeModern(route: RoutedRequest, caller: ModernCaller, context: RoutingContext): void {
  if (isRemoved(route)) return;
  whenDescribed(route, caller, (description) => dispatch(route, context, description));
}

/** The gateway as a client of its servers. */
export interface OwnCaller extends ModernCaller {
  /** Metadata of each call to a modern server. */
  readonly meta: RawMeta;
}

/** Routes a tool call, or a request for the tools, of the gateway itself to one server. */
export function routeOwnRequest(route: RoutedRequest, caller: OwnCaller, context: RoutingContext): void {
  whenDescribed(route, caller, () => {
    const { envelope, exchange, server } = route;
    const forward = () => forwardOwn(route, caller, context);
    const name = envelope.paramText('name') ?? '';
    if (envelope.method === 'tools/list') list(route, 'tools', context, forward);
    else if (context.aggregate.isAllowed(server, name)) forward();
    else exchange.refuse(unknownTool(name));
  });
}

/** Sends a request of the gateway itself: to a legacy server as written, to a modern one with metadata. */
function forwardOwn(route: RoutedRequest, caller: OwnCaller, { forwarder }: RoutingContext): void {
  const { server, exchange, envelope } = route;
  exchange.server = server.id;
  if (!forwarder.inFlight.take(exchange, server, undefined)) return;
  const era = server.eras.for('modern') ?? 'legacy';
  forwarder.send(route, era, era === 'modern' ? modernEdits(envelope, caller.meta) : undefined);
}

/** Calls back once the eras and the description of the server are known; starts the server to learn them. */
function whenDescribed(
  route: RoutedRequest,
  caller: ModernCaller,
  act: (description: ServerDescription) => void,
): void {
  const known = route.server.eras.known === undefined ? undefined : descriptionOf(route.server);
  if (known !== undefined) act(known);
  else withEras(route, () => introduced(route, caller, act));
}

function dispatch(route: RoutedRequest, context: RoutingContext, description: ServerDescription): void {
  const { envelope, exchange, server } = route;
  const { method } = envelope;
  const capability = Object.hasOwn(capabilityOf, method) ? capabilityOf[method] : undefined;
  if (exchange.modernResult !== undefined) {
    exchange.modernResult.serverInfo = description.serverInfo;
    exchange.modernResult.isMethodKnown =
      capability !== undefined && description.capabilities[capability] !== undefined;
  }
  const kind = listMethods.get(method);
  if (kind !== undefined) {
    list(route, kind, context);
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
    routeTaskRequest(route, (allowed) => context.forwarder.forward(allowed));
  } else {
    resumeOrForward(route, context);
  }
}

/** The result of `server/discover`. */
export function discovery(
  capabilities: Readonly<Record<string, unknown>>,
  instructions?: string | undefined,
): Record<string, unknown> {
  // The tasks of the session era are another thing than the extension of that name.
  const { tasks, ...rest } = capabilities;
  void tasks;
  return {
    supportedVersions: [modernVersion],
    capabilities: rest,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** A retry goes on with the call it is for, where that is suspended here; any other request is sent. */
export function resumeOrForward(route: RoutedRequest, context: RoutingContext): void {
  const { envelope, exchange, server } = route;
  const state = envelope.paramText('requestState');
  // A call may have been suspended before the server turned out to speak the modern era.
  const isOrdinary =
    state === undefined ||
    (!context.eraBridge.suspended.has(state) && server.eras.for('modern') === 'modern');
  if (isOrdinary) {
    context.forwarder.forward(route);
    return;
  }
  // One that finds no place may come again with its state.
  if (!context.forwarder.inFlight.take(exchange, server, undefined)) return;
  try {
    context.eraBridge.suspended.take(state, server.id, envelope, route.caller?.principal).resume(route);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    exchange.refuse(error);
  }
}

/** Calls back with the server's introduction, starting the server if nobody knows it yet. */
function introduced(
  route: RoutedRequest,
  caller: ModernCaller,
  act: (description: ServerDescription) => void,
): void {
  const { server, exchange } = route;
  const description = descriptionOf(server);
  if (description !== undefined) {
    act(description);
    return;
  }
  exchange.call = describeServer(server, caller, {
    done: (learnt) => {
      exchange.call = undefined;
      act(learnt);
    },
    fail: (error) => exchange.fail(error),
    drop: () => exchange.drop(),
  });
}
