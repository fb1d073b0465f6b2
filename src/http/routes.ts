// The routes of the gateway: which path and method leads where. A path is matched as it came, segment by segment; a
// server id in it is percent-decoded once, strictly, and never interpreted otherwise.

import { GatewayError } from '../../actors/base/errors/errors.ts';
import type { Log } from '../../actors/base/errors/log.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import { allServers, type Endpoint } from '../../actors/mcp/clients/profiles/profile.ts';
import type { ManagedServer } from '../../actors/mcp/servers/managed-server.ts';
import { ConfigError } from '../../config/reader/problem.ts';
import { answerLogs } from './api/log-stream.ts';
import { nodesAnswer } from './api/nodes-answer.ts';
import { profileFigures } from './api/profile-figures.ts';
import { viewIn } from './api/record-view.ts';
import { serverDetails, serverRecord, serverStats } from './api/server-records.ts';
import type { ServerList } from './api/server-shapes.ts';
import type { Stats } from './api/stats-shapes.ts';
import type { RouteAccess } from './identification.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { admitPost, get, post, remove } from './mcp/mcp-endpoint.ts';
import { admitRpc, rpc } from './mcp/rpc-endpoint.ts';
import type { RouteContext } from './route-context.ts';

export type Action = (
  routes: RouteContext,
  context: ExchangeContext,
  id: string | undefined,
) => BodyHandler | undefined;

/**
 * Checks of the front before the route. `webhook`: none, the webhook verifies its senders. `health`: Origin. `page`: Host and
 * Origin. Default: both, and the sender is identified.
 */
export type Gate = 'webhook' | 'health' | 'page';

export interface Route {
  /** By method, or for all methods. */
  readonly methods: ReadonlyMap<string, Action> | Action;
  readonly gate?: Gate | undefined;
  /** Access for all methods. Default: `read` for GET and HEAD, `operator` otherwise. */
  readonly access?: RouteAccess | undefined;
  /** MCP address: errors are JSON-RPC messages (EXC1). */
  readonly isMcp?: boolean | undefined;
  /** The server id of the path, or the name of a profile with its @. */
  readonly id?: string | undefined;
}

/** Returns a Map: a path or a method is any token, `constructor` too. */
export function byMethod(actions: Readonly<Record<string, Action>>): ReadonlyMap<string, Action> {
  return new Map(Object.entries(actions));
}

const plain = (act: (routes: RouteContext, context: ExchangeContext) => void): Action => {
  return (routes, context) => {
    act(routes, context);
    return undefined;
  };
};

/** Wraps an action that may throw. */
const trying = (act: (routes: RouteContext, context: ExchangeContext) => void): Action => {
  return (routes, context) => () => {
    try {
      act(routes, context);
    } catch (error) {
      fail(routes, context, error);
    }
  };
};

/** What can be read: HEAD is GET without its body. */
const read = (action: Action) => byMethod({ GET: action, HEAD: action });

/** For one server, 404 when it is unknown; the body, if any, is waited for and ignored. */
const onServer = (
  act: (routes: RouteContext, context: ExchangeContext, server: ManagedServer) => Promise<void>,
): Action => {
  return (routes, context, id) => {
    if (id === undefined) return undefined;
    const server = found(routes, context, failPlain, () => routes.mcp.servers.require(id));
    if (server === null) return undefined;
    return () => {
      act(routes, context, server).catch((error: unknown) => fail(routes, context, error));
    };
  };
};

/** Answers what was thrown; what is nobody's fault but ours goes to the log. */
export function fail(
  { log, redactor }: Pick<Gateway, 'log' | 'redactor'>,
  context: ExchangeContext,
  error: unknown,
): void {
  if (!(error instanceof GatewayError)) {
    const reason = String((error as Error)?.stack ?? error);
    log.error({ request_id: context.requestId, reason }, 'a request failed by a fault');
  }
  context.fail(error, (text) => redactor.redact(text));
}

/** Returns a function that logs an internal error outside of any request. */
export function faultReporter(log: Log): (error: unknown) => void {
  return (error) =>
    log.error({ reason: String((error as Error)?.stack ?? error) }, 'a request failed by a fault');
}

const failPlain = (routes: RouteContext, context: ExchangeContext, error: GatewayError) =>
  fail(routes, context, error);

/** On a JSON-RPC route. */
function failRpc(_: RouteContext, context: ExchangeContext, error: GatewayError): void {
  context.rpcError(error, undefined);
}

const mcp = byMethod({
  POST: (routes, context, id) => {
    const endpoint = endpointOf(routes, context, id);
    if (endpoint === null || !admitPost(context)) return undefined;
    return (_, body) => post(routes, context, endpoint, body);
  },
  GET: (routes, context, id) => {
    const endpoint = endpointOf(routes, context, id);
    if (endpoint === null) return undefined;
    return () => get(routes, context, endpoint);
  },
  DELETE: (routes, context, id) => {
    const endpoint = endpointOf(routes, context, id);
    if (endpoint === null) return undefined;
    return () => remove(routes, context, endpoint);
  },
});

const mcpRoute: Route = { access: 'client', isMcp: true, methods: mcp };

export const fixedRoutes: ReadonlyMap<string, Route> = new Map(
  Object.entries<Route>({
    '/health': { gate: 'health', access: 'read', methods: read(plain(health)) },
    '/servers': {
      methods: read(
        trying((routes, context) => {
          const text = textIn(routes, context);
          const servers = routes.mcp.servers.all().map((server) => serverRecord(server, text));
          context.json(200, { servers } satisfies ServerList);
        }),
      ),
    },
    '/nodes': { methods: read(plain((routes, context) => context.json(200, nodesAnswer(routes.node)))) },
    '/stats': { methods: read(plain(stats)) },
    '/logs': { methods: read(trying(answerLogs)) },
    '/mcp': mcpRoute,
    '/rpc': {
      access: 'client',
      methods: byMethod({
        POST: (routes, context) =>
          admitRpc(routes, context) ? (_, body) => rpc(routes, context, body) : undefined,
      }),
    },
    '/admin/reload': { methods: byMethod({ POST: (routes, context) => () => void reload(routes, context) }) },
  }),
);

const serverMethods = read(
  onServer(async (routes, context, server) =>
    context.json(200, serverDetails(server, textIn(routes, context))),
  ),
);
const startMethods = byMethod({
  POST: onServer(async (routes, context, server) => {
    if (routes.life.isEnding) {
      context.refuseWhileDraining();
      return;
    }
    const text = textIn(routes, context);
    await server.start();
    context.json(200, serverRecord(server, text));
  }),
});
const stopMethods = byMethod({
  POST: onServer(async (routes, context, server) => {
    const text = textIn(routes, context);
    await server.stop();
    context.json(200, serverRecord(server, text));
  }),
});

/** By path shape; `*` is a name. Clients start servers by calling them, so start and stop require `client` access. */
export const namedRoutes: ReadonlyMap<string, Route> = new Map(
  Object.entries<Route>({
    '/mcp/*': mcpRoute,
    '/servers/*': { methods: serverMethods },
    '/servers/*/start': { access: 'client', methods: startMethods },
    '/servers/*/stop': { access: 'client', methods: stopMethods },
  }),
);

/** The route of a raw path; undefined when there is none. */
export function routeOf(path: string): Route | undefined {
  const known = fixedRoutes.get(path);
  if (known !== undefined) return known;
  const [empty, head, segment, verb, ...rest] = path.split('/');
  if (empty !== '' || segment === undefined || segment === '' || rest.length > 0) return undefined;
  const route = namedRoutes.get(verb === undefined ? `/${head}/*` : `/${head}/*/${verb}`);
  const id = decodeSegment(segment);
  if (route === undefined || id === undefined) return undefined;
  const { methods, access, isMcp } = route;
  return { methods, access, isMcp, id };
}

function decodeSegment(segment: string): string | undefined {
  try {
    return segment.includes('%') ? decodeURIComponent(segment) : segment;
  } catch {
    return undefined;
  }
}

/** Returns the endpoint for a path below /mcp; null if the name is unknown and the request was refused. */
function endpointOf(routes: RouteContext, context: ExchangeContext, id: string | undefined): Endpoint | null {
  if (id === undefined) return allServers;
  const { clients, servers } = routes.mcp;
  // No id of a server begins like that.
  const isProfile = id.startsWith('@');
  return found(routes, context, failRpc, () =>
    isProfile ? { profile: clients.profiles.get(id.slice(1)) } : { server: servers.require(id) },
  );
}

/** What `find` gives; null when it throws, and `refuse` has answered. */
function found<T>(
  routes: RouteContext,
  context: ExchangeContext,
  refuse: (routes: RouteContext, context: ExchangeContext, error: GatewayError) => void,
  find: () => T,
): T | null {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    refuse(routes, context, error);
    return null;
  }
}

/** Limit for errors and stderr lines in the brief view. */
const MAX_TEXT = 2_000;

/** Returns the text filter for the requested view. Throws InvalidQueryError for an unknown view. */
function textIn(
  { redactor }: RouteContext,
  { request, isFromInspector }: ExchangeContext,
): (text: string) => string {
  const { isBrief } = viewIn(request.query, isFromInspector);
  return (text) => (isBrief ? redactor.excerpt(text, MAX_TEXT) : redactor.redact(text));
}

function health({ life, version, triggers, proofFor }: RouteContext, context: ExchangeContext): void {
  const status = life.isEnding ? 'draining' : 'ok';
  const uptime_seconds = life.startTime.ageSeconds;
  const body = {
    status,
    version,
    uptime_seconds,
    ...(triggers?.hasNoRoom === true ? { triggers: 'the store has no room on its disk' } : {}),
  };
  context.json(life.isEnding ? 503 : 200, body, proofFor(context.request));
}

/** How long GET /stats waits for the store of the triggers. */
const STORE_MS = 1_000;

function stats(routes: RouteContext, context: ExchangeContext): void {
  const { mcp, life, node, triggers } = routes;
  const { router, sessions } = mcp.clients;
  const own: Stats = {
    ...(node.cluster === undefined ? {} : { node: node.name }),
    uptime_seconds: life.startTime.ageSeconds,
    requests: { ...router.counts },
    sessions: sessions.size,
    listens: sessions.listens,
    servers: Object.fromEntries(mcp.servers.all().map((server) => [server.id, serverStats(server)])),
    ...profileFigures(mcp.clients),
  };
  if (triggers === undefined) context.json(200, own);
  else
    triggers.figures.stats(STORE_MS).then(
      (more) => context.json(200, { ...own, ...more }),
      (error: unknown) => fail(routes, context, error),
    );
}

async function reload(routes: RouteContext, context: ExchangeContext): Promise<void> {
  if (routes.life.isEnding) {
    context.refuseWhileDraining();
    return;
  }
  try {
    context.json(200, await routes.reload());
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      fail(routes, context, error);
      return;
    }
    const redact = (text: string) => routes.redactor.redact(text);
    const problems = error.lines.map(redact);
    context.error(422, 'the configuration has errors and nothing was changed', [], { problems });
  }
}
