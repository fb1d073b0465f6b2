// Routes requests at addresses of several servers: /mcp (all servers) and profiles (a part of them). Clients
// belong to either protocol era: legacy with sessions, modern without (2026-07-28). The name or uri selects
// the server and is replaced with the server's own name; the rest of the message is forwarded unchanged.
// Lists are merged from all servers of the address.

import { InternalError } from '../../../base/errors/errors.ts';
import { EncodedResult } from '../../jsonrpc/compose.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson } from '../../jsonrpc/span.ts';
import { type ListKind, noCache } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { Aggregate } from '../aggregate/aggregate.ts';
import type { Discovery } from '../aggregate/discovery.ts';
import type { ListCompleteness } from '../aggregate/list-changes.ts';
import { extensionsOfServer, SKILLS } from '../aggregate/merged-extensions.ts';
import { OwnViews } from '../aggregate/own-views.ts';
import { type ResolvedTarget, resolve } from '../aggregate/resolution.ts';
import { withGatewayMetadata } from '../eras/result-metadata.ts';
import type { MergedView, Profile } from '../profiles/profile.ts';
import { type ClientRequest, clientEra, type RoutedRequest, routeTo } from '../routed-request.ts';
import type { RouterHost } from '../router-host.ts';
import { isSearchTool, rawSearchTools } from '../search/definitions.ts';
import type { SearchResponse, ToolSearch } from '../search/tool-search.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { declaresTasks, ownsTask, recordTask, routeTaskRequest } from '../tasks/requests.ts';
import { ClientNames } from './client-names.ts';
import { withEras } from './forwarder.ts';
import { IncompleteLists } from './incomplete-lists.ts';
import { KnownClients } from './known-clients.ts';
import { listSkills } from './merged-skills.ts';
import { discovery, refuseRemoved, resumeOrForward } from './modern-router.ts';
import { isSearchable, possibleServers, ResourceSearch } from './resource-search.ts';
import { addressEdits } from './result-addresses.ts';
import { listMethods, type RoutingContext, readLevel, routeToServer } from './server-router.ts';

/** Routing contexts: one for all servers, and one per profile, created on first use. */
export class AggregateContexts {
  readonly #gateway: RouterHost;
  /** Context for all servers. */
  readonly #all: AggregateContext;
  readonly #byProfile = new WeakMap<Profile, AggregateContext>();
  readonly #known = new KnownClients();

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
    const views = new OwnViews(aggregate);
    const view = { aggregate, views, known: this.#known, discovery, search, profile };
    return { ...view, eraBridge, forwarder, sessions, listTimeoutMs, onList };
  }
}

export interface AggregateContext extends RoutingContext {
  /** Merged lists for clients to which servers list other items than to most clients. */
  readonly views: Pick<OwnViews, 'find'>;
  /** Resources that each client knows from results, although no list contains them. */
  readonly known: Pick<KnownClients, 'of'>;
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
/** Maximum number of servers under INCOMPLETE. */
const MAX_SERVERS = 100;

/** Cache hint of the search tools, which never change. */
const searchToolsHint = { ttlMs: 3_600_000, scope: 'public' } as const;

/** Routes a request to the server that its name or uri selects, or answers on behalf of all servers. */
export function routeToAny(route: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange, caller } = route;
  const { method } = envelope;
  const kind = listMethods.get(method);
  if (kind === 'tools' && context.search !== undefined && envelope.cursor === undefined) {
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
          discovery(context.aggregate.capabilities('modern'), context.aggregate.instructions()),
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
    case 'skills/list':
      requestSkills(route, context);
      return;
    case 'skills/get':
    case 'resources/directory/read':
      if (skillServers(route, context).length > 0) routeToTarget(route, context);
      else exchange.refuse(unknownMethod(method));
      return;
    case 'tasks/get':
    case 'tasks/update':
    case 'tasks/cancel':
      routeTask(route, context);
      return;
    default:
      exchange.refuse(unknownMethod(method));
  }
}

/** Returns the view of the client: with the lists of its own processes and for its capabilities. */
function viewOf({ session, caller }: ClientRequest, context: AggregateContext): Aggregate {
  const client = session ?? (caller && { era: 'modern' as const, capabilities: caller.capabilities });
  return context.views.find(client, session);
}

function namesOf(request: ClientRequest, context: AggregateContext): ClientNames {
  return new ClientNames(viewOf(request, context), context.known.of(request));
}

/** Returns the servers with skills. */
function skillServers(request: ClientRequest, { aggregate }: AggregateContext): readonly ManagedServer[] {
  const era = clientEra(request);
  return [...aggregate.servers()].filter((server) => SKILLS in extensionsOfServer(server, era));
}

function requestSkills(route: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange } = route;
  whenDiscovered(route, context, () => {
    const servers = skillServers(route, context);
    if (servers.length === 0) {
      exchange.refuse(unknownMethod(envelope.method));
      return;
    }
    // The merged list has one page, without a cursor.
    if (envelope.cursor !== undefined) {
      exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'Invalid cursor'));
      return;
    }
    listSkills(route, servers, context.listTimeoutMs, renamerFor(route, context))
      .then(({ skills, incomplete }) => {
        const meta = incompleteMeta(incomplete);
        exchange.encodedResult(new EncodedResult(`{"skills":[${skills.join(',')}]}`), noCache, meta);
      })
      .catch((cause: unknown) =>
        exchange.fail(new InternalError('the skills could not be merged', { cause })),
      );
  });
}

/** Routes a request about a task to the server where the client created it. */
function routeTask(request: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange, caller } = request;
  if (caller === undefined) {
    exchange.refuse(unknownMethod(envelope.method));
    return;
  }
  const key = envelope.paramText('taskId') ?? '';
  const routes = [...context.aggregate.servers()].map((server) =>
    routeTo(request, server, undefined, { server, key }),
  );
  const route = routes.find((each) => ownsTask(each));
  if (route === undefined) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'Failed to retrieve task: Task not found'));
    return;
  }
  renameAddresses(route, context);
  // An error −32601 of the server concerns the task, because the gateway supports the method.
  if (exchange.modernResult !== undefined) exchange.modernResult.isMethodKnown = true;
  withGatewayMetadata(exchange);
  routeTaskRequest(route, (allowedRoute) => context.forwarder.forward(allowedRoute));
}

function unknownMethod(method: string): RpcFault {
  return new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method.slice(0, 200)}`);
}

function requestList(route: ClientRequest, context: AggregateContext, kind: ListKind): void {
  const { envelope, exchange, session } = route;
  // A cursor requests a further page; the list request was recorded with the first page.
  if (envelope.cursor !== undefined) {
    whenDiscovered(route, context, () => list(route, context, kind));
    return;
  }
  let completeness: ListCompleteness = 'none';
  const recordEnd = context.sessions.beginListRequest(session, kind, context.profile);
  exchange.whenEnded = () => recordEnd(completeness);
  whenDiscovered(route, context, () => {
    completeness = viewOf(route, context).incomplete(kind).length === 0 ? 'whole' : 'partial';
    list(route, context, kind);
  });
}

function list(route: ClientRequest, context: AggregateContext, kind: ListKind): void {
  const { envelope, exchange } = route;
  const aggregate = viewOf(route, context);
  try {
    const page = aggregate.list(kind, envelope.cursor, clientEra(route));
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
  // A listed name belongs to the same server for every client, so the lists of this client are not needed.
  const isNamed = envelope.method === 'tools/call' || envelope.method === 'prompts/get';
  const lookup = isNamed ? context.aggregate : namesOf(route, context);
  const resolution = resolve(lookup, envelope, { era, isSettled: false });
  if ('target' in resolution) {
    send(route, context, resolution.target, resolution.edits);
    return;
  }
  whenDiscovered(route, context, () => {
    const secondResolution = resolve(namesOf(route, context), envelope, { era, isSettled: true });
    if ('target' in secondResolution) send(route, context, secondResolution.target, secondResolution.edits);
    else if (isSearchable(envelope.method)) searchResource(route, context, secondResolution);
    else exchange.refuse(secondResolution);
  });
}

/** Reads a resource from the first server that has it. */
function searchResource(request: ClientRequest, context: AggregateContext, fault: RpcFault): void {
  const uri = request.envelope.paramText('uri') ?? '';
  new ResourceSearch({
    request,
    servers: possibleServers(viewOf(request, context), request, uri),
    timeoutMs: context.listTimeoutMs,
    inFlight: context.forwarder.inFlight,
    fault,
    send: (attempt, server) => send(attempt, context, { server, key: uri }, []),
    onFound: ({ id }) => context.known.of(request).add(uri, id),
  });
}

/** Methods with resource addresses in their results. */
const namesResources = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'skills/get',
  'resources/directory/read',
]);

/** Renames the resource addresses in the response. Resources that no list contains are recorded. */
function renameAddresses(route: RoutedRequest, context: AggregateContext): void {
  const { server, exchange } = route;
  const rename = renamerFor(route, context);
  exchange.rewrite = (answer) => addressEdits(answer, (uri) => rename(server, uri));
}

/**
 * Returns a function that renames addresses for the client. It uses the lists at the time of its first call.
 */
function renamerFor(
  request: ClientRequest,
  context: AggregateContext,
): (server: ManagedServer, uri: string) => string {
  let names: ClientNames | undefined;
  return (server, uri) => {
    names ??= namesOf(request, context);
    return names.nameOf(server, uri);
  };
}

/** Sends the request to the server of `target`. `edits` replace the merged name with the server's own. */
function send(
  request: ClientRequest,
  context: AggregateContext,
  target: ResolvedTarget,
  edits: readonly Edit[],
): void {
  const route = routeTo(request, target.server, edits, target);
  request.exchange.mergedTarget = target;
  const { method } = request.envelope;
  if (namesResources.has(method)) renameAddresses(route, context);
  if (method === 'resources/read' && target.key.startsWith('ui://'))
    context.known.of(request).noteApp(target.server.id);
  if (request.caller !== undefined) withEras(route, () => sendModern(route, context));
  // The tool filter was already applied when the name was resolved, and the message still contains the merged
  // name.
  else if (method === 'tools/call') withEras(route, () => context.forwarder.forward(route));
  else routeToServer(route, context);
}

/** Sends a modern client's request. The result names the gateway as server, because the client called it. */
function sendModern(route: RoutedRequest, context: AggregateContext): void {
  // An error −32601 of the server concerns the tool, prompt or resource: the gateway supports the method.
  if (route.exchange.modernResult !== undefined) route.exchange.modernResult.isMethodKnown = true;
  if (route.server.eras.serverEraFor('modern') === 'modern') withGatewayMetadata(route.exchange);
  if (route.envelope.method === 'tools/call' && declaresTasks(route)) recordTask(route);
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
