// Routes requests at merged addresses (/mcp and profiles) for clients of both eras. The name or uri selects
// the server and is replaced with the server's own name; the rest of the message is forwarded unchanged.

import { InternalError } from '../../../base/errors/errors.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson } from '../../jsonrpc/span.ts';
import { type ListKind, noCache } from '../../servers/lists/lists.ts';
import type { Discovery } from '../aggregate/discovery.ts';
import type { ListCompleteness } from '../aggregate/list-changes.ts';
import { type ResolvedTarget, resolve } from '../aggregate/resolution.ts';
import { withGatewayMetadata } from '../eras/result-metadata.ts';
import type { MergedView, Profile } from '../profiles/profile.ts';
import { type ClientRequest, clientEra, type RoutedRequest, routeTo } from '../routed-request.ts';
import type { RouterHost } from '../router-host.ts';
import { isSearchTool, rawSearchTools } from '../search/definitions.ts';
import type { SearchResponse, ToolSearch } from '../search/tool-search.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { withEras } from './forwarder.ts';
import { IncompleteLists } from './incomplete-lists.ts';
import { discovery, refuseRemoved, resumeOrForward } from './modern-router.ts';
import { listMethods, type RoutingContext, readLevel, routeToServer } from './server-router.ts';

/** Routing contexts: one for all servers, and one per profile, created with its first request. */
export class AggregateContexts {
  readonly #gateway: RouterHost;
  /** Context for all servers. */
  readonly #all: AggregateContext;
  readonly #byProfile = new WeakMap<Profile, AggregateContext>();

  constructor(gateway: RouterHost) {
    this.#gateway = gateway;
    this.#all = this.#make(gateway, undefined);
  }

  /** Returns the context for a profile, or for all servers. */
  of(profile: Profile | undefined): AggregateContext {
    if (profile === undefined) return this.#all;
    let context = this.#byProfile.get(profile);
    if (context === undefined) {
      context = this.#make(profile, profile);
      this.#byProfile.set(profile, context);
    }
    return context;
  }

  #make({ aggregate, discovery, search }: MergedView, profile: Profile | undefined): AggregateContext {
    const { eraBridge, forwarder, sessions, config, log } = this.#gateway;
    const listTimeoutMs = config.list_timeout_seconds * 1000;
    const incomplete = new IncompleteLists(log);
    const onList: AggregateContext['onList'] = (kind, servers) => incomplete.note(kind, servers);
    const view = { aggregate, discovery, search, profile };
    return { ...view, eraBridge, forwarder, sessions, listTimeoutMs, onList };
  }
}

export interface AggregateContext extends RoutingContext {
  readonly discovery: Discovery;
  /** Profile of the servers; undefined at /mcp. */
  readonly profile: Profile | undefined;
  /** Tool search, if it replaces the list of tools (`expose: search`). */
  readonly search: ToolSearch | undefined;
  readonly listTimeoutMs: number;
  readonly sessions: Sessions;
  /** Records a list response and the servers missing in it; empty for a complete list. */
  onList(kind: ListKind, incomplete: readonly string[]): void;
}

/** Key in a list's `_meta`: the servers whose items may be missing. */
export const INCOMPLETE = 'actor-gateway/incomplete';
const MAX_SERVERS = 100;

/** The search tools never change. */
const searchToolsHint = { ttlMs: 3_600_000, scope: 'public' } as const;

/** Routes a request to the server that its name or uri selects, or answers on behalf of all servers. */
export function routeToAny(route: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange, caller } = route;
  const { method } = envelope;
  const kind = listMethods.get(method);
  if (kind === 'tools' && context.search !== undefined && envelope.param('cursor') === undefined) {
    exchange.resultText(rawSearchTools, searchToolsHint);
    return;
  }
  if (kind !== undefined) {
    requestList(route, context, kind);
    return;
  }
  if (caller !== undefined && refuseRemoved(route)) return;
  switch (method) {
    case 'ping':
      exchange.result({});
      return;
    case 'server/discover':
      if (caller === undefined) exchange.refuse(unknownMethod(method));
      else
        exchange.result(
          discovery(context.aggregate.capabilities(), context.aggregate.instructions()),
          noCache,
        );
      return;
    case 'logging/setLevel':
      setLevelEverywhere(route, context);
      return;
    case 'tools/call':
      if (context.search !== undefined && isSearchTool(envelope.paramText('name')))
        routeSearchTool(route, context, context.search);
      else routeToTarget(route, context);
      return;
    case 'prompts/get':
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
    case 'completion/complete':
      routeToTarget(route, context);
      return;
    default:
      exchange.refuse(unknownMethod(method));
  }
}

function unknownMethod(method: string): RpcFault {
  return new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method.slice(0, 200)}`);
}

function requestList(route: ClientRequest, context: AggregateContext, kind: ListKind): void {
  const { envelope, exchange, session } = route;
  // A cursor requests a further page; the list request was recorded with the first page.
  if (envelope.param('cursor') !== undefined) {
    whenDiscovered(route, context, () => list(route, context, kind));
    return;
  }
  let completeness: ListCompleteness = 'none';
  const recordEnd = context.sessions.beginListRequest(session, kind, context.profile);
  exchange.whenEnded = () => recordEnd(completeness);
  whenDiscovered(route, context, () => {
    completeness = context.aggregate.incomplete(kind).length === 0 ? 'whole' : 'partial';
    list(route, context, kind);
  });
}

function list(route: ClientRequest, context: AggregateContext, kind: ListKind): void {
  const { envelope, exchange } = route;
  const { aggregate } = context;
  const cursor = envelope.param('cursor') && (envelope.paramText('cursor') ?? '');
  try {
    const page = aggregate.list(kind, cursor, clientEra(route));
    const incomplete = aggregate.incomplete(kind);
    context.onList(kind, incomplete);
    exchange.encodedResult(page, aggregate.cacheHint(kind), incompleteMeta(incomplete));
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    exchange.refuse(error);
  }
}

function incompleteMeta(incomplete: readonly string[]): string | undefined {
  if (incomplete.length === 0) return undefined;
  return `${rawJson(INCOMPLETE)}:${rawJson({ servers: incomplete.slice(0, MAX_SERVERS) })}`;
}

/** Answers a search tool call. A `call_tool` is routed as a call of the tool that it names. */
function routeSearchTool(route: ClientRequest, context: AggregateContext, search: ToolSearch): void {
  const respond = (answer: SearchResponse) => {
    if ('target' in answer) send(route, context, answer.target, answer.edits);
    else route.exchange.resultText(answer.rawResult);
  };
  const knownTarget = search.target(route.envelope);
  if (knownTarget !== undefined) respond(knownTarget);
  else whenDiscovered(route, context, () => respond(search.answer(route.envelope)));
}

/**
 * Sends the message to the server that the name selects. An unknown name is looked up again after discovery.
 */
function routeToTarget(route: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange } = route;
  const era = clientEra(route);
  const resolution = resolve(context.aggregate, envelope, { era, isSettled: false });
  if ('target' in resolution) {
    send(route, context, resolution.target, resolution.edits);
    return;
  }
  whenDiscovered(route, context, () => {
    const secondResolution = resolve(context.aggregate, envelope, { era, isSettled: true });
    if ('target' in secondResolution) send(route, context, secondResolution.target, secondResolution.edits);
    else exchange.refuse(secondResolution);
  });
}

function send(
  request: ClientRequest,
  context: AggregateContext,
  target: ResolvedTarget,
  edits: readonly Edit[],
): void {
  const route = routeTo(request, target.server, edits, target);
  if (request.caller !== undefined) withEras(route, () => sendModern(route, context));
  // The tool filter was already applied when the name was resolved, and the message still contains the merged
  // name.
  else if (request.envelope.method === 'tools/call') withEras(route, () => context.forwarder.forward(route));
  else routeToServer(route, context);
}

function sendModern(route: RoutedRequest, context: AggregateContext): void {
  if (route.exchange.modernResult !== undefined) route.exchange.modernResult.isMethodKnown = true;
  if (route.server.eras.for('modern') === 'modern') withGatewayMetadata(route.exchange);
  resumeOrForward(route, context);
}

/** Calls `proceed` when discovery of unknown lists is complete, or its timeout has passed. */
function whenDiscovered(request: ClientRequest, context: AggregateContext, proceed: () => void): void {
  const { exchange } = request;
  const pending = context.discovery.waitForLists(
    context.listTimeoutMs,
    context.eraBridge.listingClientOf(request),
  );
  if (pending === undefined) {
    proceed();
    return;
  }
  pending
    .then(() => {
      // The request may have been cancelled meanwhile.
      if (!exchange.isDone) proceed();
    })
    .catch((cause: unknown) =>
      exchange.fail(new InternalError('the request could not be routed', { cause })),
    );
}

function setLevelEverywhere({ envelope, exchange, session }: ClientRequest, context: AggregateContext): void {
  const level = readLevel(envelope, exchange);
  if (level === undefined) return;
  if (session !== undefined)
    for (const server of context.aggregate.servers()) server.setLevel(session, level);
  exchange.result({});
}
