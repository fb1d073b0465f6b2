// Selects the route for a request to the gateway's HTTP server (the front). Webhooks come first, by exact
// path; then the API routes, the inspector, the front door (`/` in a browser), and the routes of the
// automation. All other paths get a 404. The front door needs no key; its response reveals only whether the
// inspector is enabled.

import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { type Action, byMethod, type Route, routeOf } from './routes.ts';
import type { TriggersFront } from './triggers-front.ts';

/** Parts of the front that have routes of their own. */
export interface RouteSources {
  /** Serves requests to the inspector; undefined if disabled. */
  readonly inspector?: Action | undefined;
  /** Undefined if the gateway has no triggers. */
  readonly triggers?: TriggersFront | undefined;
}

const INSPECTOR = '/inspector';

const varyByAccept: HeaderList = [
  ['vary', 'Accept'],
  ['cache-control', 'no-store'],
];

const WITHOUT_INSPECTOR = `This is a gateway for MCP clients, which use /mcp.

Its page for browsers, the inspector, is off. To turn it on, remove "inspector.enabled: false" from gateway.yaml, and set
an api_key or listen on a loopback address.
`;

/**
 * Paths where MCP clients look for OAuth (RFC 8414, RFC 9728, and the default endpoints of MCP 2025-03-26).
 * With 401 instead of 404, clients wait for a sign-in.
 */
const OAUTH_PATH = /\/\.well-known\/(?:oauth-|openid-configuration)|^\/(?:authorize|register|token)$/;

/** Paths that require triggers, agents, fleets or flows. */
const AUTOMATION_PATH = /^\/(?:triggers|agents|fleets|flows|deliveries|runs|approvals)(?:\/|$)/;

export class RouteTable {
  readonly #sources: RouteSources;
  readonly #frontDoor: Route;
  readonly #notFound: Route;
  // `gate: 'page'` checks Host and Origin only; `access` requires a sender with this access. A function as
  // `methods` is the action for all methods.
  readonly #noOAuth: Route = { gate: 'page', methods: (_, context) => refuseOAuth(context) };

  constructor(sources: RouteSources) {
    this.#sources = sources;
    const redirect: Action = (_, context) => respondToBrowser(context, sources.inspector !== undefined);
    this.#frontDoor = { gate: 'page', methods: byMethod({ GET: redirect, HEAD: redirect }) };
    this.#notFound = { access: 'read', role: 'viewer', methods: (_, context) => this.#refuse(context) };
  }

  /** Returns the route for a request. */
  of(request: HttpRequest): Route {
    const { path } = request;
    const { triggers } = this.#sources;
    const hook = triggers?.automation.listeners.at(path);
    if (triggers !== undefined && hook !== undefined)
      return { gate: 'webhook', methods: (_, context) => triggers.receive(context, hook) };
    return routeOf(path) ?? this.#pageOf(request) ?? this.#ofAutomation(path);
  }

  /** Returns an API path's route. Ignores webhooks and pages. */
  ofApi(path: string): Route {
    return routeOf(path) ?? this.#ofAutomation(path);
  }

  #ofAutomation(path: string): Route {
    return this.#sources.triggers?.routeAt(path) ?? this.#notFound;
  }

  #pageOf({ method, path, headers }: HttpRequest): Route | undefined {
    const { inspector } = this.#sources;
    if (inspector !== undefined && (path === INSPECTOR || path.startsWith(`${INSPECTOR}/`)))
      return { gate: 'page', methods: inspector };
    if (OAUTH_PATH.test(path)) return this.#noOAuth;
    const isBrowser =
      path === '/' && (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');
    return isBrowser ? this.#frontDoor : undefined;
  }

  #refuse(context: ExchangeContext): undefined {
    const { path } = context.request;
    const hasTriggers = this.#sources.triggers !== undefined;
    if (!hasTriggers && AUTOMATION_PATH.test(path))
      context.error(
        404,
        'this gateway has no triggers, agents, fleets or flows; set spec.triggers.directory, or directory under spec.agents, spec.fleets or spec.flows',
      );
    else
      context.error(
        404,
        `no route for ${JSON.stringify(path.slice(0, 200))}; ${this.#hint(path, hasTriggers)}`,
      );
    return undefined;
  }

  #hint(path: string, hasTriggers: boolean): string {
    if (hasTriggers && /^\/deliveries\/[^/]/.test(path))
      return 'percent-encode the delivery id as one path segment (%2F for a slash)';
    const browsers = this.#sources.inspector === undefined ? '' : 'browsers /inspector, ';
    const lists = hasTriggers
      ? 'GET /servers lists the servers, and GET /triggers the triggers'
      : 'and GET /servers lists the servers';
    return `MCP clients use /mcp, ${browsers}${lists}`;
  }
}

function refuseOAuth(context: ExchangeContext): undefined {
  context.error(
    404,
    'this gateway has no OAuth server; clients send the API key or a token as Authorization: Bearer KEY',
  );
  return undefined;
}

function respondToBrowser(context: ExchangeContext, hasInspector: boolean): undefined {
  // Relative, because a proxy may add a prefix.
  if (hasInspector) context.empty(303, [...varyByAccept, ['location', INSPECTOR.slice(1)]]);
  else
    context.reply.send(
      404,
      context.headers([...varyByAccept, ['content-type', 'text/plain; charset=utf-8']]),
      WITHOUT_INSPECTOR,
    );
  return undefined;
}
