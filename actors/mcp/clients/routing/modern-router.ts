// Routes the methods of the modern era (2026-07-28) at /mcp/:id and /mcp. Methods that the revision has removed are
// unknown, whatever the server behind would say; discovery is answered by the gateway itself.
// A tool call of the gateway itself (agents, flows, the library) is sent in the era of its server, without a bridge.

import { modernEdits, modernVersion, type RawMeta } from '../../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ServerDescription } from '../../servers/cache/server-description.ts';
import { noCache } from '../../servers/lists/lists.ts';
import { unknownTool } from '../aggregate/resolution.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { ClientRequest, RoutedRequest } from '../routed-request.ts';
import { callServer } from '../tasks/call-server.ts';
import { taskEdits } from '../tasks/hidden-tasks.ts';
import { declaresTasks, isTaskMethod, recordTask, routeTaskRequest } from '../tasks/task-requests.ts';
import { describeServer, descriptionOf } from './describe-server.ts';
import { forwardToServer, list, listMethods, type RoutingContext, withEras } from './server-router.ts';

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

/** Sends a tool call of the gateway itself to its server: to a legacy server as written, to a modern one with metadata. */
export function routeOwnCall(route: RoutedRequest, caller: OwnCaller, context: RoutingContext): void {
  whenDescribed(route, caller, () => {
    const { server, exchange, envelope, trace } = route;
    const name = envelope.paramText('name') ?? '';
    if (!context.aggregate.isAllowed(server, name)) {
      exchange.refuse(unknownTool(name));
      return;
    }
    exchange.server = server.id;
    if (!context.forwarder.inFlight.take(exchange, server, undefined)) return;
    const era = server.eras.for('modern') ?? 'legacy';
    const edits = era === 'modern' ? modernEdits(envelope, caller.meta) : taskEdits(route);
    exchange.call = callServer(route, { envelope, exchange, era, trace, edits });
  });
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
    routeTaskRequest(route, (allowed) => forwardToServer(allowed, context));
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
    forwardToServer(route, context);
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
