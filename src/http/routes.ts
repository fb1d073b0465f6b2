// API routes of the gateway, by path and method; the routes of the automation are in
// api/automation-routes.ts. Paths are matched as sent, segment by segment. Only the server id in a path is
// percent-decoded, once.

import { GatewayError, NotFoundError } from '../../actors/base/errors/errors.ts';
import type { Log } from '../../actors/base/errors/log.ts';
import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import { principalText, roleOf } from '../../actors/identity/principal.ts';
import type { Role } from '../../actors/identity/roles.ts';
import { allServers, type Endpoint } from '../../actors/mcp/clients/profiles/profile.ts';
import type { ManagedServer } from '../../actors/mcp/servers/managed-server.ts';
import { ConfigError } from '../../config/reader/problem.ts';
import { alarmRecords, alarmStates } from './api/alarm-records.ts';
import { handleCalls } from './api/call-records.ts';
import type { KeyCall, keyActions } from './api/key-routes.ts';
import type { Whoami } from './api/key-shapes.ts';
import { handleLogs } from './api/log-stream.ts';
import { nodesAnswer } from './api/nodes-answer.ts';
import { profileStats } from './api/profile-stats.ts';
import { viewIn } from './api/record-view.ts';
import { serverDetails, serverRecord, serverStats } from './api/server-records.ts';
import type { ServerList } from './api/server-shapes.ts';
import { type LazyBody, lazyList, lazyRecord } from './api/sliced-json.ts';
import type { Stats } from './api/stats-shapes.ts';
import type { RouteAccess } from './identification.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { admitPost, deleteSession, openStream, postMessage } from './mcp/mcp-endpoint.ts';
import { admitRpc, rpc } from './mcp/rpc-endpoint.ts';
import type { RouteContext } from './route-context.ts';

export type Action = (
  routes: RouteContext,
  context: ExchangeContext,
  id: string | undefined,
) => BodyHandler | undefined;

/**
 * Checks of the front before the route is called. `webhook`: none, the webhook verifies the sender. `health`:
 * Origin. `page`: Host and Origin. Undefined: Host, Origin, sender and access.
 */
export type Gate = 'webhook' | 'health' | 'page';

export interface Route {
  /** Actions by method, or one action for all methods. */
  readonly methods: ReadonlyMap<string, Action> | Action;
  readonly gate?: Gate | undefined;
  /** Access that all methods require. Default: `read` for GET and HEAD, `operator` for others. */
  readonly access?: RouteAccess | undefined;
  /** Minimum role of an access key. Default: `viewer` for GET and HEAD, `operator` for others. */
  readonly role?: Role | undefined;
  /** True for MCP addresses, where errors are JSON-RPC messages (EXC1). */
  readonly isMcp?: boolean | undefined;
  /** True for addresses of messages to servers, which the message router records. */
  readonly hasMessages?: boolean | undefined;
  /** Name in the path: a server id, or a profile as `@name`. */
  readonly id?: string | undefined;
}

/** Returns a Map, not a record: a request's method can be a name such as `constructor`. */
export function byMethod(actions: Readonly<Record<string, Action>>): ReadonlyMap<string, Action> {
  return new Map(Object.entries(actions));
}

const immediate = (act: (routes: RouteContext, context: ExchangeContext) => void): Action => {
  return (routes, context) => {
    act(routes, context);
    return undefined;
  };
};

/** Wraps an action that may throw; the error becomes the response. */
const catching = (act: (routes: RouteContext, context: ExchangeContext) => void): Action => {
  return (routes, context) => () => {
    try {
      act(routes, context);
    } catch (error) {
      fail(routes, context, error);
    }
  };
};

/** Responds with a body that may contain lazy lists (sliced-json.ts). */
const inSlices = (bodyOf: (routes: RouteContext, context: ExchangeContext) => Promise<object>): Action => {
  const respond = async (routes: RouteContext, context: ExchangeContext) => {
    const body = await bodyOf(routes, context);
    context.jsonText(200, await routes.json.write(body, () => context.reply.isDone));
  };
  return (routes, context) => () => {
    respond(routes, context).catch((error: unknown) => fail(routes, context, error));
  };
};

/** Serves HEAD like GET. The listener drops the body of the response. */
const readOnly = (action: Action) => byMethod({ GET: action, HEAD: action });

/** Wraps an action on a server. Responds with 404 for unknown servers. The request body is ignored. */
const onServer = (
  act: (routes: RouteContext, context: ExchangeContext, server: ManagedServer) => Promise<void>,
): Action => {
  return (routes, context, id) => {
    if (id === undefined) return undefined;
    const server = findOrRefuse(routes, context, refuseWithError, () => routes.mcp.servers.require(id));
    if (server === null) return undefined;
    return () => {
      act(routes, context, server).catch((error: unknown) => fail(routes, context, error));
    };
  };
};

/** Responds with an error. Logs internal errors. */
export function fail(
  { log, redactor }: Pick<GatewayRuntime, 'log' | 'redactor'>,
  context: ExchangeContext,
  error: unknown,
): void {
  if (!(error instanceof GatewayError)) {
    const reason = String((error as Error)?.stack ?? error);
    log.error({ request_id: context.requestId, reason }, 'internal error in a request');
  }
  context.fail(error, (text) => redactor.redact(text));
}

/** Returns a function that logs an internal error outside of any request. */
export function internalErrorReporter(log: Log): (error: unknown) => void {
  return (error) =>
    log.error({ reason: String((error as Error)?.stack ?? error) }, 'internal error in a request');
}

/** Route of access keys. Its code is imported at the first request. */
const onKeys = (name: keyof typeof keyActions): Action => {
  const act = async (call: Omit<KeyCall, 'keys'>) => {
    const { keyActions } = await import('./api/key-routes.ts');
    await keyActions[name]({ ...call, keys: await call.routes.accessKeys.open() });
  };
  return (routes, context, id = '') =>
    (_, body) => {
      act({ routes, context, id, body }).catch((error: unknown) =>
        context.reply.guard(() => fail(routes, context, error)),
      );
    };
};

const keyRoute = (methods: Readonly<Record<string, Action>>): Route => ({
  access: 'operator',
  role: 'admin',
  methods: byMethod(methods),
});

const refuseWithError = (routes: RouteContext, context: ExchangeContext, error: GatewayError) =>
  fail(routes, context, error);

function refuseWithRpcError(_: RouteContext, context: ExchangeContext, error: GatewayError): void {
  context.rpcError(error, undefined);
}

const mcp = byMethod({
  POST: (routes, context, id) => {
    const endpoint = requireEndpoint(routes, context, id);
    if (endpoint === null || !admitPost(context)) return undefined;
    return (_, body) => postMessage(routes, context, endpoint, body);
  },
  GET: (routes, context, id) => {
    const endpoint = requireEndpoint(routes, context, id);
    if (endpoint === null) return undefined;
    return () => openStream(routes, context, endpoint);
  },
  DELETE: (routes, context, id) => {
    const endpoint = requireEndpoint(routes, context, id);
    if (endpoint === null) return undefined;
    return () => deleteSession(routes, context, endpoint);
  },
});

/** The message can require a higher role (mcp/message-role.ts). */
const mcpRoute: Route = { access: 'client', role: 'viewer', isMcp: true, hasMessages: true, methods: mcp };

export const fixedRoutes: ReadonlyMap<string, Route> = new Map(
  Object.entries<Route>({
    '/health': { gate: 'health', access: 'read', methods: readOnly(immediate(health)) },
    '/servers': {
      methods: readOnly(
        inSlices(async (routes, context) => {
          const text = textIn(routes, context);
          const servers = lazyList(routes.mcp.servers.all(), (server) => serverRecord(server, text));
          return { servers } satisfies LazyBody<ServerList>;
        }),
      ),
    },
    '/nodes': {
      role: 'admin',
      methods: readOnly(immediate((routes, context) => context.json(200, nodesAnswer(routes.node)))),
    },
    '/stats': { methods: readOnly(inSlices(stats)) },
    '/logs': { methods: readOnly(catching(handleLogs)) },
    '/history/calls': { methods: readOnly(catching(handleCalls)) },
    '/audit': {
      access: 'operator',
      role: 'operator',
      methods: readOnly((routes, context) => () => {
        void listAudit(routes, context);
      }),
    },
    '/mcp': mcpRoute,
    '/rpc': {
      access: 'client',
      role: 'viewer',
      hasMessages: true,
      methods: byMethod({
        POST: (routes, context) => (admitRpc(context) ? (_, body) => rpc(routes, context, body) : undefined),
      }),
    },
    '/whoami': { methods: readOnly(immediate(whoami)) },
    '/admin/keys': keyRoute({ GET: onKeys('list'), HEAD: onKeys('list'), POST: onKeys('create') }),
    '/admin/reload': {
      role: 'admin',
      methods: byMethod({ POST: (routes, context) => () => void reload(routes, context) }),
    },
  }),
);

const serverMethods = readOnly(
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

/**
 * Routes by the shape of the path, where `*` is a name. Start and stop require only `client` access, because
 * clients can start servers by calling them.
 */
export const namedRoutes: ReadonlyMap<string, Route> = new Map(
  Object.entries<Route>({
    '/mcp/*': mcpRoute,
    '/servers/*': { methods: serverMethods },
    '/servers/*/start': { access: 'client', methods: startMethods },
    '/servers/*/stop': { access: 'client', methods: stopMethods },
    '/admin/keys/*': keyRoute({ DELETE: onKeys('revoke') }),
    '/admin/keys/*/rotate': keyRoute({ POST: onKeys('rotate') }),
  }),
);

/** Returns the route for a raw path. MCP addresses may end with a slash, as some clients add one. */
export function routeOf(rawPath: string): Route | undefined {
  const path = rawPath.startsWith('/mcp/') && rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath;
  const fixedRoute = fixedRoutes.get(path);
  if (fixedRoute !== undefined) return fixedRoute;
  const [empty, head, segment, verb, ...rest] = segmentsOf(path);
  if (empty !== '' || segment === undefined || segment === '' || rest.length > 0) return undefined;
  const route = namedRoutes.get(verb === undefined ? `/${head}/*` : `/${head}/*/${verb}`);
  const id = decodeSegment(segment);
  if (route === undefined || id === undefined) return undefined;
  const { methods, access, role, isMcp, hasMessages } = route;
  return { methods, access, role, isMcp, hasMessages, id };
}

/** Returns the segments of a path. The first two segments of `/admin/keys/…` count as one. */
function segmentsOf(path: string): string[] {
  if (!path.startsWith('/admin/keys/')) return path.split('/');
  const [empty = '', admin, keys, ...rest] = path.split('/');
  return [empty, `${admin}/${keys}`, ...rest];
}

function decodeSegment(segment: string): string | undefined {
  try {
    return segment.includes('%') ? decodeURIComponent(segment) : segment;
  } catch {
    return undefined;
  }
}

/** Returns the endpoint for a path below /mcp. For unknown names, refuses the request and returns null. */
function requireEndpoint(
  routes: RouteContext,
  context: ExchangeContext,
  id: string | undefined,
): Endpoint | null {
  if (id === undefined) return allServers;
  const { clients, servers } = routes.mcp;
  // Server ids never start with @.
  const isProfile = id.startsWith('@');
  const endpoint = findOrRefuse(routes, context, refuseWithRpcError, () =>
    isProfile ? { profile: clients.profiles.get(id.slice(1)) } : { server: servers.require(id) },
  );
  if (endpoint === null) routes.requestAudit?.recordUnknown(context, id);
  return endpoint;
}

/** Returns the result of `find`. If it throws a GatewayError, calls `refuse` and returns null. */
function findOrRefuse<T>(
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

/** Maximum length of errors and stderr lines in the brief view (record-view.ts). */
const MAX_TEXT = 2_000;

/** Returns a function that redacts text, and cuts it in the brief view. Throws InvalidQueryError. */
function textIn(
  { redactor }: RouteContext,
  { request, isFromInspector }: ExchangeContext,
): (text: string) => string {
  const { isBrief } = viewIn(request.query, isFromInspector);
  return (text) => (isBrief ? redactor.excerpt(text, MAX_TEXT) : redactor.redact(text));
}

function whoami(_: RouteContext, context: ExchangeContext): void {
  const { principal } = context;
  const role = roleOf(principal) ?? null;
  context.json(200, { principal: principalText(principal), tenant: null, role } satisfies Whoami);
}

function health({ life, version, alarms, triggers, proofFor }: RouteContext, context: ExchangeContext): void {
  const status = life.isEnding ? 'draining' : 'ok';
  const uptime_seconds = life.startTime.ageSeconds;
  const body = {
    status,
    version,
    uptime_seconds,
    alarms: alarmStates(alarms),
    ...(triggers !== undefined && alarms.has('disk_full') ? { triggers: 'the store has no disk space' } : {}),
  };
  context.json(life.isEnding ? 503 : 200, body, proofFor(context.request));
}

/** Time that GET /stats gives the store to count deliveries. */
const STATS_TIMEOUT_MS = 1_000;

async function stats(routes: RouteContext): Promise<LazyBody<Stats>> {
  const { mcp, life, node, triggers, alarms, redactor } = routes;
  const { router, sessions } = mcp.clients;
  const more = await triggers?.figures.stats(STATS_TIMEOUT_MS);
  return {
    ...(node.cluster === undefined ? {} : { node: node.name }),
    uptime_seconds: life.startTime.ageSeconds,
    alarms: alarmRecords(alarms, redactor),
    requests: { ...router.counts },
    sessions: sessions.size,
    listens: sessions.listens,
    servers: lazyRecord(mcp.servers.all(), (server) => [server.id, serverStats(server)]),
    ...profileStats(mcp.clients),
    ...more,
    limits: {
      'limits.in_flight': mcp.clients.inFlight.usageOf(mcp.servers.all()),
      'limits.sessions': sessions.usage,
      ...more?.limits,
    },
  };
}

async function listAudit(routes: RouteContext, context: ExchangeContext): Promise<void> {
  const { requestAudit } = routes;
  try {
    if (requestAudit === undefined)
      throw new NotFoundError('this gateway has no audit; set audit.path in gateway.yaml and restart it');
    await requestAudit.list(context);
  } catch (error) {
    fail(routes, context, error);
  }
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
