// Routes requests to one server: from sessions at /mcp/:id, and from merged addresses once the server is
// selected. All methods, including unknown ones, are forwarded, except session state (log level,
// subscriptions) and lists that the cache can answer while the server is not running. A client or server of
// the legacy era uses sessions; one of the modern era sends and accepts stateless requests (2026-07-28).

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, replaceSpan } from '../../jsonrpc/span.ts';
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
import type { EraBridge } from '../eras/bridge.ts';
import type { ClientExchange } from '../exchange.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { MAX_URIS } from '../sessions/listen-stream.ts';
import { subscribeResource, unsubscribeResource } from '../sessions/resource-subscription.ts';
import type { ClientSession } from '../sessions/session.ts';
import { hidesTasks } from '../tasks/hidden-tasks.ts';
import { isTaskMethod, recordTask, routeTaskRequest } from '../tasks/requests.ts';
import { type Forwarder, withEras } from './forwarder.ts';

/** Maximum length of uris, like in typical HTTP servers. */
const MAX_URI_CHARS = 8192;

/** List kinds by method. */
export const listMethods = new Map(
  Object.entries(listKinds).map(([kind, { method }]) => [method, kind as ListKind]),
);

/** Services that the routers use. */
export interface RoutingContext {
  readonly aggregate: Aggregate;
  readonly eraBridge: EraBridge;
  readonly forwarder: Forwarder;
}

/** Routes a legacy client's request to a server of either era. */
export function routeToServer(route: RoutedRequest, context: RoutingContext): void {
  if (route.server.eras.knownEras !== undefined) dispatch(route, context);
  else withEras(route, () => dispatch(route, context));
}

function dispatch(route: RoutedRequest, context: RoutingContext): void {
  const { envelope, exchange, server } = route;
  const kind = listMethods.get(envelope.method);
  if (kind !== undefined) {
    routeList(route, kind, context);
    return;
  }
  if (isTaskMethod(envelope.method)) {
    routeTaskRequest(route, (allowedRoute) => context.forwarder.forward(allowedRoute));
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
      inSession(route, (sessionRoute) => setLevel(sessionRoute, context));
      return;
    case 'resources/subscribe':
      inSession(route, (sessionRoute) => subscribe(sessionRoute, context));
      return;
    case 'resources/unsubscribe':
      inSession(route, (sessionRoute) => unsubscribe(sessionRoute, context));
      return;
    default:
      context.forwarder.forward(route);
  }
}

type SessionRoute = RoutedRequest & { readonly session: ClientSession };

/** Calls `handle` for requests in a session; refuses others, whose state would affect unrelated clients. */
function inSession(route: RoutedRequest, handle: (route: SessionRoute) => void): void {
  const { session, exchange, envelope } = route;
  if (session !== undefined) handle({ ...route, session });
  else
    exchange.refuse(
      new RpcFault(rpcCodes.methodNotFound, `${envelope.method} needs a session; use /mcp or /mcp/:id`),
    );
}

/** Returns the level of `logging/setLevel`. Refuses the request if the level is invalid. */
export function readLevel(envelope: Envelope, exchange: ClientExchange): LogLevel | undefined {
  const level = envelope.paramText('level');
  if (isLogLevel(level)) return level;
  exchange.refuse(new RpcFault(rpcCodes.invalidParams, `unknown log level ${JSON.stringify(level ?? null)}`));
  return undefined;
}

/**
 * Answers a list request for one server. The cached list is used while the server has no open connection for
 * this client; otherwise the request is forwarded.
 */
export function routeList(
  route: RoutedRequest,
  kind: ListKind,
  context: RoutingContext,
  forward = () => context.forwarder.forward(route),
): void {
  const { envelope, exchange, server, session, caller } = route;
  const { aggregate } = context;
  // A server may list other items to a client with other capabilities, so the first list request of such a
  // client is forwarded (`mayShowMoreTo`), and its later requests use the lists in the response.
  const client = session ?? (caller && { era: 'modern' as const, capabilities: caller.capabilities });
  const { lists, cuts, hints } = client === undefined ? server.cache : server.listsFor(client, session);
  // A truncated list is not served from the cache: the server can return the rest.
  const cachedItems = cuts[kind] === undefined ? lists[kind] : undefined;
  const prefersServer =
    isRunningFor(route, context) || (client !== undefined && server.mayShowMoreTo(client));
  if (!prefersServer && cachedItems !== undefined && envelope.cursor === undefined) {
    const visibleItems = kind === 'tools' ? filterTools(cachedItems, route, aggregate) : cachedItems;
    // Raw JSON is a Latin-1 string, one character per byte (span.ts).
    const items = Buffer.from(`[${visibleItems.map((item) => itemJson(item)).join(',')}]`, 'utf8').toString(
      'latin1',
    );
    exchange.resultText(`{${rawJson(kind)}:${items}}`, hints[kind] ?? noCache);
    return;
  }
  if (kind === 'tools') exchange.rewrite = (answer) => toolListEdits(answer, route, aggregate);
  forward();
}

/**
 * Returns true if a connection is open, or being opened, that the request would use. A member of the pool is
 * a connection. Its owner is the session it belongs to; undefined for the one of all sessionless clients.
 */
function isRunningFor({ server, session, caller }: RoutedRequest, { eraBridge }: RoutingContext): boolean {
  if (server.entry.isolation === 'shared') return server.handle.isOpen || server.state === 'starting';
  if (session !== undefined && server.pool.memberOf(session) !== undefined) return true;
  // Sessionless requests share a connection. Modern clients with capabilities also use exclusive connections
  // to legacy servers: each serves one request at a time.
  const era = server.eras.serverEraFor(caller === undefined ? 'legacy' : 'modern');
  if (caller === undefined && era === 'legacy') return false;
  if (caller !== undefined && era === 'legacy' && eraBridge.hasExclusive(server, caller)) return true;
  for (const member of server.pool.members)
    if (member.isOpen && member.owner === undefined && member.era === era) return true;
  return false;
}

/** Returns the visible tools; without task support if the client has no access to tasks. */
function filterTools(
  tools: readonly ListItem[],
  route: RoutedRequest,
  aggregate: Aggregate,
): readonly ListItem[] {
  const visibleItems = tools.filter((tool) => aggregate.isVisible(route.server, tool));
  return hidesTasks(route) ? visibleItems.map(withoutTaskSupport) : visibleItems;
}

/** Returns the edits that reduce a list to the visible tools; empty if nothing changes. */
function toolListEdits(answer: Envelope, route: RoutedRequest, aggregate: Aggregate): Edit[] {
  if (answer.result === undefined) return [];
  const items = itemsOf(answer, 'tools');
  const visibleItems = filterTools(items, route, aggregate);
  if (visibleItems.length === items.length && visibleItems.every((item, at) => item === items[at])) return [];
  const span = memberOf(answer.bytes, answer.result, 'tools');
  if (span === undefined) return [];
  const text = `[${visibleItems.map((item) => itemJson(item)).join(',')}]`;
  return [replaceSpan(span, Buffer.from(text, 'utf8').toString('latin1'))];
}

function setLevel(route: SessionRoute, context: RoutingContext): void {
  const { envelope, exchange, server, session } = route;
  const level = readLevel(envelope, exchange);
  if (level === undefined) return;
  const description = server.cache.description;
  const before = server.subscriptions.lowestLevel;
  if (server.eras.serverEraFor('legacy') === 'modern') {
    // A modern server stores no level: the gateway adds it to each request.
    server.subscriptions.setLevel(session, level);
    exchange.result({});
    return;
  }
  // A server without log support refuses the request itself.
  if (description !== undefined && description.capabilities.logging === undefined) {
    context.forwarder.forward(route);
    return;
  }
  const isShared = server.entry.isolation === 'shared';
  if (isShared && server.entry.pool.max > 1) {
    // The level must reach all connections of the server, not only the session's connection.
    server.setLevel(session, level);
    exchange.result({});
    return;
  }
  server.subscriptions.setLevel(session, level);
  const isUnchanged = isShared && server.subscriptions.lowestLevel === before;
  const isStopped = isShared ? !server.isRunning : server.pool.memberOf(session) === undefined;
  // A stopped server receives the level when it starts. A shared server sends its log messages for all
  // sessions, so it receives only changes of the lowest level that any session has set.
  if (isStopped || isUnchanged) {
    exchange.result({});
    return;
  }
  const lowest = isShared ? server.subscriptions.lowestLevel : level;
  const span = envelope.param('level');
  const edits = span === undefined ? undefined : [replaceSpan(span, rawJson(lowest))];
  context.forwarder.forward({ ...route, edits });
}

/** Returns the address as the server knows it. The client's address may also contain the server id. */
function uriOf({ envelope, mergedTarget }: SessionRoute): string | undefined {
  return mergedTarget?.key ?? envelope.paramText('uri');
}

function subscribe(route: SessionRoute, context: RoutingContext): void {
  const { envelope, exchange, server, session } = route;
  const uri = uriOf(route);
  // The server refuses a request without uri.
  if (uri === undefined) {
    context.forwarder.forward(route);
    return;
  }
  const fault = limitFault(uri, server, session);
  if (fault !== undefined) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, fault));
    return;
  }
  const refusal = server.subscriptions.refusal(uri, session);
  if (refusal !== undefined) {
    exchange.fail(refusal);
    return;
  }
  // True if the client's address contains the server id (address-form.ts).
  const isQualified = uri !== envelope.paramText('uri');
  session.qualifiedSubscriptions.note(server.id, uri, isQualified);
  if (server.eras.serverEraFor('legacy') === 'modern') {
    void subscribeResource(server, session, uri).then((isAgreed) => {
      if (isAgreed) exchange.result({});
      else
        exchange.refuse(
          new RpcFault(
            rpcCodes.invalidParams,
            `the server does not support a subscription to ${uri.slice(0, 200)}`,
          ),
        );
      // The session may have closed during the request.
      if (session.isEnded) unsubscribeResource(server, session, uri);
    });
    return;
  }
  // The subscription is added before the response: the server may send an update immediately, and an
  // `unsubscribe` of another session must not end this subscription at the server.
  if (server.subscriptions.add(uri, session)) {
    exchange.whenEnded = (end) => {
      if (end !== 'answered') server.subscriptions.remove(uri, session);
    };
  }
  context.forwarder.forward(route);
}

/**
 * Returns an error text if a limit is reached (A8, ARCHITECTURE.md). Subscriptions last as long as their
 * session, and are repeated on every new connection.
 */
function limitFault(
  uri: string,
  { id, subscriptions }: ManagedServer,
  session: ClientSession,
): string | undefined {
  if (uri.length > MAX_URI_CHARS)
    return `the uri of a subscription must have at most ${MAX_URI_CHARS} characters`;
  if (subscriptions.countOthers(uri, session) < MAX_URIS) return undefined;
  return `the session already has ${MAX_URIS} subscriptions at server ${id}; unsubscribe from some`;
}

function unsubscribe(route: SessionRoute, context: RoutingContext): void {
  const { exchange, server, session } = route;
  const uri = uriOf(route);
  if (uri === undefined) {
    context.forwarder.forward(route);
    return;
  }
  if (server.eras.serverEraFor('legacy') === 'modern') {
    unsubscribeResource(server, session, uri);
    exchange.result({});
    return;
  }
  // On a shared connection the request is forwarded only if no other session has the subscription.
  const isLast = server.subscriptions.remove(uri, session);
  if (isLast || server.entry.isolation === 'session') context.forwarder.forward(route);
  else exchange.result({});
}
