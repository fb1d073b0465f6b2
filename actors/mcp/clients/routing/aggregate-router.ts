// Routes the methods at /mcp: all servers as one, for clients of both eras. A name or uri decides which server is asked;
// it is replaced by the server's own, and the rest of the message goes on as received.

import { InternalError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, replacing, type Span } from '../../jsonrpc/span.ts';
import { type ListKind, noCache } from '../../servers/lists/lists.ts';
import type { Target } from '../aggregate/aggregate.ts';
import type { Discovery } from '../aggregate/discovery.ts';
import type { ListCompleteness } from '../aggregate/list-changes.ts';
import { withGatewayMetadata } from '../eras/result-metadata.ts';
import type { Profile } from '../profiles/profile.ts';
import { type ClientRequest, clientEra, type RoutedRequest, routeTo } from '../routed-request.ts';
import { isSearchTool, rawSearchTools } from '../search/search-tools.ts';
import type { SearchResponse, ToolSearch } from '../search/tool-search.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { discovery, isRemoved, resumeOrForward } from './modern-router.ts';
import {
  askedLevel,
  forwardToServer,
  listMethods,
  type RoutingContext,
  routeToServer,
  unknownTool,
  withEras,
} from './server-router.ts';

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
      else byName(route, context, 'tools');
      return;
    case 'prompts/get':
      byName(route, context, 'prompts');
      return;
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      byUri(route, context);
      return;
    case 'completion/complete':
      byReference(route, context);
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

function byName(route: ClientRequest, context: AggregateContext, kind: 'tools' | 'prompts'): void {
  const { envelope, exchange } = route;
  const name = envelope.paramText('name');
  const span = envelope.param('name');
  if (name === undefined || span === undefined) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'params.name must be a string'));
    return;
  }
  locate(route, context, {
    find: () => context.aggregate.find(kind, name),
    guess: () => context.aggregate.findUnlisted(kind, name),
    edits: (target) => [replacing(span, rawJson(target.key))],
    refusal: () => (kind === 'tools' ? unknownTool(name) : unknown('prompt', name)),
  });
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

function byUri(route: ClientRequest, context: AggregateContext): void {
  const uri = route.envelope.paramText('uri');
  if (uri === undefined) {
    route.exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'params.uri must be a string'));
    return;
  }
  locate(route, context, {
    find: () => context.aggregate.findResource(uri),
    edits: () => [],
    refusal: () => {
      const code = route.caller === undefined ? rpcCodes.resourceNotFound : rpcCodes.invalidParams;
      return new RpcFault(code, 'Resource not found', undefined, { uri });
    },
  });
}

function byReference(route: ClientRequest, context: AggregateContext): void {
  const reference = readReference(route.envelope);
  if (reference === undefined) {
    const fault = new RpcFault(
      rpcCodes.invalidParams,
      'params.ref must name a prompt or a resource template',
    );
    route.exchange.refuse(fault);
    return;
  }
  const { name, uri = '', nameSpan } = reference;
  locate(route, context, {
    find: () =>
      name === undefined ? context.aggregate.findTemplate(uri) : context.aggregate.find('prompts', name),
    edits: (target) => (nameSpan === undefined ? [] : [replacing(nameSpan, rawJson(target.key))]),
    refusal: () => unknown(name === undefined ? 'resource template' : 'prompt', name ?? uri),
  });
}

interface Search {
  readonly find: () => Target | undefined;
  /** Where else it may lead, when everything is known that can be. */
  readonly guess?: () => Target | undefined;
  /** What must change in the message for the server that was found. */
  readonly edits: (target: Target) => readonly Edit[];
  readonly refusal: () => RpcFault;
}

/** Sends the message to the server it is for; what is unknown may belong to a server not asked for its lists yet. */
function locate(
  route: ClientRequest,
  context: AggregateContext,
  { find, guess, edits, refusal }: Search,
): void {
  const target = find();
  if (target !== undefined) {
    send(route, context, target, edits(target));
    return;
  }
  afterSettling(route, context, () => {
    const found = find() ?? guess?.();
    if (found === undefined) route.exchange.refuse(refusal());
    else send(route, context, found, edits(found));
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
  else if (request.envelope.method === 'tools/call') withEras(route, () => forwardToServer(route, context));
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

function unknown(what: string, name: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, `Unknown ${what}: ${name.slice(0, 200)}`);
}

function readReference(envelope: Envelope): { name?: string; uri?: string; nameSpan?: Span } | undefined {
  const span = envelope.param('ref');
  const { bytes } = envelope;
  if (span === undefined || bytes[span.start] !== 0x7b) return undefined;
  const scanner = new JsonScanner(bytes, span.start);
  const found: { name?: string; uri?: string; nameSpan?: Span } = {};
  let count = 0;
  scanner.object(2, (member) => {
    const start = scanner.pos;
    scanner.value(3);
    if ((member !== 'name' && member !== 'uri') || bytes[start] !== 0x22) return;
    count += 1;
    found[member] = textOf(bytes, start, scanner.pos);
    if (member === 'name') found.nameSpan = { start, end: scanner.pos };
  });
  return count === 1 ? found : undefined;
}
