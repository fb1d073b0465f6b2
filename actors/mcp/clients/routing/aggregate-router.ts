// Routes the methods at /mcp: all servers as one, for clients of both eras. A name or uri decides which server is asked;
// it is replaced by the server's own, and the rest of the message goes on as received.

import { InternalError } from '../../../base/errors/errors.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson } from '../../jsonrpc/span.ts';
import { type ListKind, noCache } from '../../servers/lists/lists.ts';
import type { Discovery } from '../aggregate/discovery.ts';
import type { ListCompleteness } from '../aggregate/list-changes.ts';
import { resolve, type Target } from '../aggregate/resolution.ts';
import { withGatewayMetadata } from '../eras/result-metadata.ts';
import type { Profile, View } from '../profiles/profile.ts';
import { type ClientRequest, clientEra, type RoutedRequest, routeTo } from '../routed-request.ts';
import type { RouterHost } from '../router-host.ts';
import { isSearchTool, rawSearchTools } from '../search/search-tools.ts';
import type { SearchResponse, ToolSearch } from '../search/tool-search.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { withEras } from './forwarder.ts';
import { IncompleteLists } from './incomplete-lists.ts';
import { discovery, isRemoved, resumeOrForward } from './modern-router.ts';
import { askedLevel, listMethods, type RoutingContext, routeToServer } from './server-router.ts';

/** Routing contexts: for all servers, and per profile from the first request on. */
export class AggregateContexts {
  readonly #gateway: RouterHost;
  /** Context of all servers. */
  readonly #all: AggregateContext;
  readonly #byProfile = new WeakMap<Profile, AggregateContext>();

  constructor(gateway: RouterHost) {
    this.#gateway = gateway;
    this.#all = this.#make(gateway, undefined);
  }

  /** Returns the context of a profile, or of all servers. */
  of(profile: Profile | undefined): AggregateContext {
    if (profile === undefined) return this.#all;
    let context = this.#byProfile.get(profile);
    if (context === undefined) {
      context = this.#make(profile, profile);
      this.#byProfile.set(profile, context);
    }
    return context;
  }

  #make({ aggregate, discovery, search }: View, profile: Profile | undefined): AggregateContext {
    const { eraBridge, forwarder, sessions, config, log } = this.#gateway;
    const listTimeoutMs = config.list_timeout_seconds * 1000;
    const incomplete = new IncompleteLists(log);
    const onList: AggregateContext['onList'] = (kind, servers) => incomplete.note(kind, servers);
    const shown = { aggregate, discovery, search, profile };
    return { ...shown, eraBridge, forwarder, sessions, listTimeoutMs, onList };
  }
}

export interface AggregateContext extends RoutingContext {
  readonly discovery: Discovery;
  /** Whose servers these are; undefined for all of them. */
  readonly profile: Profile | undefined;
  /** Set where clients are to search for tools instead of being shown them all. */
  readonly search: ToolSearch | undefined;
  readonly listTimeoutMs: number;
  readonly sessions: Sessions;
  /** A list was given without all that these servers may have; none where it was whole. */
  onList(kind: ListKind, incomplete: readonly string[]): void;
}

/** In the `_meta` of a list: the servers that may have more than is in it. */
export const INCOMPLETE = 'actor-gateway/incomplete';
const MAX_NAMED = 100;

/** The tools for searching never change. */
const searchToolsHint = { ttlMs: 3_600_000, scope: 'public' } as const;

/** Routes a request to whichever server it is for, or answers for all of them. */
export function routeToAny(route: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange, caller } = route;
  const { method } = envelope;
  const kind = listMethods.get(method);
  if (kind === 'tools' && context.search !== undefined && envelope.param('cursor') === undefined) {
    exchange.resultText(rawSearchTools, searchToolsHint);
    return;
  }
  if (kind !== undefined) {
    askForList(route, context, kind);
    return;
  }
  if (caller !== undefined && isRemoved(route)) return;
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
        bySearch(route, context, context.search);
      else toTarget(route, context);
      return;
    case 'prompts/get':
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
    case 'completion/complete':
      toTarget(route, context);
      return;
    default:
      exchange.refuse(unknownMethod(method));
  }
}

function unknownMethod(method: string): RpcFault {
  return new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method.slice(0, 200)}`);
}

function askForList(route: ClientRequest, context: AggregateContext, kind: ListKind): void {
  const { envelope, exchange, session } = route;
  // Further pages are of a list that the client has begun to read.
  if (envelope.param('cursor') !== undefined) {
    afterSettling(route, context, () => list(route, context, kind));
    return;
  }
  let answer: ListCompleteness = 'none';
  const end = context.sessions.asksForList(session, kind, context.profile);
  exchange.whenEnded = () => end(answer);
  afterSettling(route, context, () => {
    answer = context.aggregate.incomplete(kind).length === 0 ? 'whole' : 'partial';
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
    exchange.keptResult(page, aggregate.cacheHint(kind), markOf(incomplete));
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    exchange.refuse(error);
  }
}

function markOf(incomplete: readonly string[]): string | undefined {
  if (incomplete.length === 0) return undefined;
  return `${rawJson(INCOMPLETE)}:${rawJson({ servers: incomplete.slice(0, MAX_NAMED) })}`;
}

/** A call of one of the tools for searching: answered here, or made the call of the tool it names. */
function bySearch(route: ClientRequest, context: AggregateContext, search: ToolSearch): void {
  const act = (answer: SearchResponse) => {
    if ('target' in answer) send(route, context, answer.target, answer.edits);
    else route.exchange.resultText(answer.rawResult);
  };
  const known = search.target(route.envelope);
  if (known !== undefined) act(known);
  else afterSettling(route, context, () => act(search.answer(route.envelope)));
}

/** Sends the message to its target. An unknown name may belong to a server that has not listed yet: it is resolved again then. */
function toTarget(route: ClientRequest, context: AggregateContext): void {
  const { envelope, exchange } = route;
  const era = clientEra(route);
  const found = resolve(context.aggregate, envelope, { era, isSettled: false });
  if ('target' in found) {
    send(route, context, found.target, found.edits);
    return;
  }
  afterSettling(route, context, () => {
    const late = resolve(context.aggregate, envelope, { era, isSettled: true });
    if ('target' in late) send(route, context, late.target, late.edits);
    else exchange.refuse(late);
  });
}

function send(
  request: ClientRequest,
  context: AggregateContext,
  target: Target,
  edits: readonly Edit[],
): void {
  const route = routeTo(request, target.server, edits, target);
  if (request.caller !== undefined) withEras(route, () => sendModern(route, context));
  // The tool filter was applied when the name was found, and the name in the message is no longer the server's.
  else if (request.envelope.method === 'tools/call') withEras(route, () => context.forwarder.forward(route));
  else routeToServer(route, context);
}

function sendModern(route: RoutedRequest, context: AggregateContext): void {
  if (route.exchange.modernResult !== undefined) route.exchange.modernResult.isMethodKnown = true;
  if (route.server.eras.for('modern') === 'modern') withGatewayMetadata(route.exchange);
  resumeOrForward(route, context);
}

function afterSettling(request: ClientRequest, context: AggregateContext, act: () => void): void {
  const { exchange } = request;
  const settled = context.discovery.settle(context.listTimeoutMs, context.eraBridge.listingClientOf(request));
  if (settled === undefined) {
    act();
    return;
  }
  settled
    .then(() => {
      // The client may have cancelled, or its session ended: nothing may be noted for it any more.
      if (!exchange.isDone) act();
    })
    .catch((cause: unknown) =>
      exchange.fail(new InternalError('the request could not be routed', { cause })),
    );
}

function setLevelEverywhere({ envelope, exchange, session }: ClientRequest, context: AggregateContext): void {
  const level = askedLevel(envelope, exchange);
  if (level === undefined) return;
  if (session !== undefined)
    for (const server of context.aggregate.servers()) server.setLevel(session, level);
  exchange.result({});
}
