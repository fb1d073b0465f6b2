// The methods of a session at /mcp: all servers as one. A name or uri tells the server; it is put back to what that
// server calls it, and the rest of the message goes on as received.

import { InternalError } from '../errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../jsonrpc/json-scanner.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, type Span } from '../jsonrpc/span.ts';
import type { ListKind } from '../server/lists.ts';
import type { Aggregate, Target } from './aggregate.ts';
import type { ClientExchange } from './client-exchange.ts';
import type { Discovery } from './discovery.ts';
import { askedLevel, forward, type Route, routeToServer, unknownTool } from './server-router.ts';
import type { ClientSession } from './session.ts';

export interface AggregateRoute {
  readonly session: ClientSession;
  readonly envelope: Envelope;
  readonly exchange: ClientExchange;
  readonly traceparent: string | undefined;
}

export interface Everything {
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  readonly listTimeoutMs: number;
}

const listsOf: Record<string, ListKind> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** Routes a request to whichever server it is for, or answers for all of them. */
export function routeToAny(route: AggregateRoute, all: Everything): void {
  const { envelope, exchange } = route;
  const { method } = envelope;
  const kind = listsOf[method];
  if (kind !== undefined) {
    if (envelope.param('cursor') === undefined)
      afterSettling(route, all, () => exchange.resultText(all.aggregate.list(kind)));
    else
      exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'unknown cursor: the merged list has one page'));
    return;
  }
  switch (method) {
    case 'ping':
      exchange.result({});
      return;
    case 'logging/setLevel':
      setLevelEverywhere(route, all);
      return;
    case 'tools/call':
      byName(route, all, 'tools');
      return;
    case 'prompts/get':
      byName(route, all, 'prompts');
      return;
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      byUri(route, all);
      return;
    case 'completion/complete':
      byReference(route, all);
      return;
    default:
      exchange.refuse(new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method.slice(0, 200)}`));
  }
}

function byName(route: AggregateRoute, all: Everything, kind: 'tools' | 'prompts'): void {
  const { envelope, exchange } = route;
  const name = envelope.paramText('name');
  const span = envelope.param('name');
  if (name === undefined || span === undefined) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'params.name must be a string'));
    return;
  }
  locate(route, all, {
    find: () => all.aggregate.find(kind, name),
    edits: (target) => [{ ...span, text: rawJson(target.key) }],
    refusal: () => (kind === 'tools' ? unknownTool(name) : unknown('prompt', name)),
  });
}

function byUri(route: AggregateRoute, all: Everything): void {
  const uri = route.envelope.paramText('uri');
  if (uri === undefined) {
    route.exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'params.uri must be a string'));
    return;
  }
  locate(route, all, {
    find: () => all.aggregate.findResource(uri),
    edits: () => [],
    refusal: () => new RpcFault(rpcCodes.resourceNotFound, 'Resource not found', undefined, { uri }),
  });
}

function byReference(route: AggregateRoute, all: Everything): void {
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
  locate(route, all, {
    find: () => (name === undefined ? all.aggregate.findTemplate(uri) : all.aggregate.find('prompts', name)),
    edits: (target) => (nameSpan === undefined ? [] : [{ ...nameSpan, text: rawJson(target.key) }]),
    refusal: () => unknown(name === undefined ? 'resource template' : 'prompt', name ?? uri),
  });
}

interface Search {
  readonly find: () => Target | undefined;
  /** What must change in the message for the server that was found. */
  readonly edits: (target: Target) => readonly Edit[];
  readonly refusal: () => RpcFault;
}

/** Sends the message to the server it is for; what is unknown may belong to a server not asked for its lists yet. */
function locate(route: AggregateRoute, all: Everything, { find, edits, refusal }: Search): void {
  const send = (target: Target) => {
    const bound: Route = { ...route, server: target.server, edits: edits(target) };
    // The tool filter was applied when the name was found, and the name in the message is no longer the server's.
    if (route.envelope.method === 'tools/call') forward(bound);
    else routeToServer(bound, all.aggregate);
  };
  const target = find();
  if (target !== undefined) {
    send(target);
    return;
  }
  afterSettling(route, all, () => {
    const found = find();
    if (found === undefined) route.exchange.refuse(refusal());
    else send(found);
  });
}

function afterSettling({ exchange }: AggregateRoute, all: Everything, act: () => void): void {
  all.discovery
    .settle(all.listTimeoutMs)
    .then(() => {
      // The client may have cancelled, or its session ended: nothing may be noted for it any more.
      if (!exchange.isDone) act();
    })
    .catch((cause: unknown) =>
      exchange.fail(new InternalError('the request could not be routed', { cause })),
    );
}

function setLevelEverywhere({ envelope, exchange, session }: AggregateRoute, all: Everything): void {
  const level = askedLevel(envelope, exchange);
  if (level === undefined) return;
  for (const server of all.aggregate.servers()) server.setLevel(session, level);
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
