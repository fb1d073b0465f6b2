// Routes the methods of a session at /mcp/:id: one server, its names untouched. Everything is forwarded, also methods
// that the gateway has never heard of; only what it must keep itself (log level, subscriptions) or can answer without
// waking the server (lists of a sleeping one) is handled here.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, replacing } from '../../jsonrpc/span.ts';
import {
  itemJson,
  itemsOf,
  type ListItem,
  type ListKind,
  listKinds,
  noCache,
} from '../../servers/lists/lists.ts';
import { withoutTaskSupport } from '../../servers/lists/task-support.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { isLogLevel, type LogLevel } from '../../servers/notifications/subscriptions.ts';
import type { Aggregate } from '../aggregate/aggregate.ts';
import { unknownTool } from '../aggregate/resolution.ts';
import type { ClientExchange } from '../client-exchange.ts';
import type { EraBridge } from '../eras/era-bridge.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { MAX_URIS } from '../sessions/listen-stream.ts';
import { subscribeResource, unsubscribeResource } from '../sessions/resource-subscription.ts';
import type { ClientSession } from '../sessions/session.ts';
import { hidesTasks } from '../tasks/hidden-tasks.ts';
import { isTaskMethod, recordTask, routeTaskRequest } from '../tasks/task-requests.ts';
import { type Forwarder, withEras } from './forwarder.ts';

/** HTTP servers, as a rule, take no longer ones either. */
const MAX_URI_CHARS = 8192;

/** Which list each list method asks for. */
export const listMethods = new Map(
  Object.entries(listKinds).map(([kind, { method }]) => [method, kind as ListKind]),
);

/** What routing needs beside the request. */
export interface RoutingContext {
  readonly aggregate: Aggregate;
  readonly eraBridge: EraBridge;
  readonly forwarder: Forwarder;
}

/** Routes a request of the session era to one server. */
export function routeToServer(route: RoutedRequest, context: RoutingContext): void {
  if (route.server.eras.known !== undefined) dispatch(route, context);
  else withEras(route, () => dispatch(route, context));
}

function dispatch(route: RoutedRequest, context: RoutingContext): void {
  const { envelope, exchange, server } = route;
  const kind = listMethods.get(envelope.method);
  if (kind !== undefined) {
    list(route, kind, context);
    return;
  }
  if (isTaskMethod(envelope.method)) {
    routeTaskRequest(route, (allowed) => context.forwarder.forward(allowed));
    return;
  }
  switch (envelope.method) {
    case 'ping':
      exchange.result({});
      return;
    case 'tools/call': {
      const name = envelope.paramText('name');
      if (name !== undefined && !context.aggregate.isAllowed(server, name))
        exchange.refuse(unknownTool(name));
      else {
        if (envelope.param('task') !== undefined) recordTask(route);
        context.forwarder.forward(route);
      }
      return;
    }
    case 'logging/setLevel':
      inSession(route, (one) => setLevel(one, context));
      return;
    case 'resources/subscribe':
      inSession(route, (one) => subscribe(one, context));
      return;
    case 'resources/unsubscribe':
      inSession(route, (one) => unsubscribe(one, context));
      return;
    default:
      context.forwarder.forward(route);
  }
}

type SessionRoute = RoutedRequest & { readonly session: ClientSession };

/** What lasts longer than its request belongs to a session; without one it would change what others see. */
function inSession(route: RoutedRequest, act: (route: SessionRoute) => void): void {
  const { session, exchange, envelope } = route;
  if (session !== undefined) act({ ...route, session });
  else
    exchange.refuse(
      new RpcFault(rpcCodes.methodNotFound, `${envelope.method} needs a session; use /mcp or /mcp/:id`),
    );
}

/** The level a `logging/setLevel` asks for; answers with the error itself when it is none. */
export function askedLevel(envelope: Envelope, exchange: ClientExchange): LogLevel | undefined {
  const level = envelope.paramText('level');
  if (isLogLevel(level)) return level;
  exchange.refuse(new RpcFault(rpcCodes.invalidParams, `unknown log level ${JSON.stringify(level ?? null)}`));
  return undefined;
}

/** Answers a list of one server: requested with `forward` if the server is awake for this client, otherwise from the cache. */
export function list(
  route: RoutedRequest,
  kind: ListKind,
  context: RoutingContext,
  forward = () => context.forwarder.forward(route),
): void {
  const { envelope, exchange, server, session, caller } = route;
  const { aggregate } = context;
  // What is cut here the server itself may give whole.
  const known = server.cache.cuts[kind] === undefined ? server.cache.lists[kind] : undefined;
  // A server that lists more for those who can be asked more is asked itself until it has been.
  const client = session ?? (caller && { era: 'modern' as const, capabilities: caller.capabilities });
  const isAwake = isAwakeFor(route, context) || (client !== undefined && server.mayShowMoreTo(client));
  if (!isAwake && known !== undefined && envelope.param('cursor') === undefined) {
    const shown = kind === 'tools' ? shownTools(known, route, aggregate) : known;
    const items = Buffer.from(`[${shown.map((item) => itemJson(item)).join(',')}]`, 'utf8').toString(
      'latin1',
    );
    exchange.resultText(`{${rawJson(kind)}:${items}}`, server.cache.hints[kind] ?? noCache);
    return;
  }
  if (kind === 'tools') exchange.rewrite = (answer) => toolListEdits(answer, route, aggregate);
  forward();
}

function isAwakeFor({ server, session, caller }: RoutedRequest, { eraBridge }: RoutingContext): boolean {
  if (server.entry.isolation === 'shared') return server.handle.isOpen || server.state === 'starting';
  if (session !== undefined && server.pool.memberOf(session) !== undefined) return true;
  // Requests without a session share a connection; a modern one that may be asked something has an exclusive connection beside it.
  const era = server.eras.for(caller === undefined ? 'legacy' : 'modern');
  if (caller === undefined && era === 'legacy') return false;
  if (caller !== undefined && era === 'legacy' && eraBridge.hasExclusive(server, caller)) return true;
  for (const member of server.pool.members)
    if (member.isOpen && member.owner === undefined && member.era === era) return true;
  return false;
}

/** Returns the visible tools, without task support if the client cannot use tasks. */
function shownTools(
  tools: readonly ListItem[],
  route: RoutedRequest,
  aggregate: Aggregate,
): readonly ListItem[] {
  const shown = tools.filter((tool) => aggregate.isShown(route.server, tool));
  return hidesTasks(route) ? shown.map(withoutTaskSupport) : shown;
}

/** Returns the edits that reduce a list to `shownTools`; empty if nothing changes. */
function toolListEdits(answer: Envelope, route: RoutedRequest, aggregate: Aggregate): Edit[] {
  if (answer.result === undefined) return [];
  const items = itemsOf(answer, 'tools');
  const shown = shownTools(items, route, aggregate);
  if (shown.length === items.length && shown.every((item, at) => item === items[at])) return [];
  const span = memberOf(answer.bytes, answer.result, 'tools');
  if (span === undefined) return [];
  const text = `[${shown.map((item) => itemJson(item)).join(',')}]`;
  return [replacing(span, Buffer.from(text, 'utf8').toString('latin1'))];
}

function setLevel(route: SessionRoute, context: RoutingContext): void {
  const { envelope, exchange, server, session } = route;
  const level = askedLevel(envelope, exchange);
  if (level === undefined) return;
  const description = server.cache.description;
  const before = server.subscriptions.lowestLevel;
  if (server.eras.for('legacy') === 'modern') {
    // It has no level to set: each request says its own.
    server.subscriptions.setLevel(session, level);
    exchange.result({});
    return;
  }
  if (description !== undefined && description.capabilities.logging === undefined) {
    context.forwarder.forward(route);
    return;
  }
  const isShared = server.entry.isolation === 'shared';
  if (isShared && server.entry.pool.max > 1) {
    // The session's own connection is not the only one that has to know.
    server.setLevel(session, level);
    exchange.result({});
    return;
  }
  server.subscriptions.setLevel(session, level);
  const isUnchanged = isShared && server.subscriptions.lowestLevel === before;
  const isAsleep = isShared ? !server.isRunning : server.pool.memberOf(session) === undefined;
  // A sleeping server is told when it wakes; a shared one only when the lowest level asked has changed.
  if (isAsleep || isUnchanged) {
    exchange.result({});
    return;
  }
  const lowest = isShared ? server.subscriptions.lowestLevel : level;
  const span = envelope.param('level');
  const edits = span === undefined ? undefined : [replacing(span, rawJson(lowest))];
  context.forwarder.forward({ ...route, edits });
}

function subscribe(route: SessionRoute, context: RoutingContext): void {
  const { envelope, exchange, server, session } = route;
  const uri = envelope.paramText('uri');
  const fault = uri === undefined ? undefined : excess(uri, server, session);
  if (fault !== undefined) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, fault));
    return;
  }
  const refusal = uri === undefined ? undefined : server.subscriptions.refusal(uri, session);
  if (refusal !== undefined) {
    exchange.fail(refusal);
    return;
  }
  if (uri !== undefined && server.eras.for('legacy') === 'modern') {
    void subscribeResource(server, session, uri).then((isAgreed) => {
      if (isAgreed) exchange.result({});
      else
        exchange.refuse(
          new RpcFault(rpcCodes.invalidParams, `the server does not tell of ${uri.slice(0, 200)}`),
        );
      if (session.isEnded) unsubscribeResource(server, session, uri);
    });
    return;
  }
  // Noted before the server has agreed: it may send an update at once, and another session's last `unsubscribe`
  // must not reach it after this.
  if (uri !== undefined && server.subscriptions.add(uri, session)) {
    exchange.whenEnded = (end) => {
      if (end !== 'answered') server.subscriptions.remove(uri, session);
    };
  }
  context.forwarder.forward(route);
}

/** A8: a subscription is kept as long as its session, and said again to every new connection. */
function excess(
  uri: string,
  { id, subscriptions }: ManagedServer,
  session: ClientSession,
): string | undefined {
  if (uri.length > MAX_URI_CHARS) return `a uri to subscribe to has at most ${MAX_URI_CHARS} characters`;
  if (subscriptions.countBeside(uri, session) < MAX_URIS) return undefined;
  return `the session is subscribed to ${MAX_URIS} resources of server ${id} already; unsubscribe from some`;
}

function unsubscribe(route: SessionRoute, context: RoutingContext): void {
  const { envelope, exchange, server, session } = route;
  const uri = envelope.paramText('uri');
  if (uri === undefined) {
    context.forwarder.forward(route);
    return;
  }
  if (server.eras.for('legacy') === 'modern') {
    unsubscribeResource(server, session, uri);
    exchange.result({});
    return;
  }
  const isLast = server.subscriptions.remove(uri, session);
  if (isLast || server.entry.isolation === 'session') context.forwarder.forward(route);
  else exchange.result({});
}
