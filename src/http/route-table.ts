// The route table of the front: one row per request. Rows of webhooks come first and are exact paths; then
// the fixed routes, the inspector and the front door, and the routes of triggers. Other paths get a row that answers 404.
//
// FRD1  the front door asks for no key. Its answer reveals only whether the inspector is on.

import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { type Action, byMethod, type Route, routeOf } from './routes.ts';
import type { TriggersFront } from './triggers-front.ts';

/** Parts of the front that have rows. */
export interface RouteSources {
  /** Serves a request to the inspector; undefined if it is off. */
  readonly inspector?: Action | undefined;
  /** Undefined without triggers. */
  readonly triggers?: TriggersFront | undefined;
}

const INSPECTOR = '/inspector';

const byAccept: HeaderList = [
  ['vary', 'Accept'],
  ['cache-control', 'no-store'],
];

const WITHOUT_INSPECTOR = `This is a gateway for MCP clients, which use /mcp.

Its page for browsers, the inspector, is off here. It is on where inspector.enabled of gateway.yaml is not false, and an
api_key is set or nobody but this machine can connect.
`;

/** Paths of the automation, which exist only if there are triggers. */
const OF_TRIGGERS = /^\/(?:triggers|agents|fleets|flows|deliveries|runs|approvals)(?:\/|$)/;

export class RouteTable {
  readonly #sources: RouteSources;
  readonly #frontDoor: Route;
  readonly #nothing: Route;

  constructor(sources: RouteSources) {
    this.#sources = sources;
    const openDoor: Action = (_, context) => answerBrowser(context, sources.inspector !== undefined);
    this.#frontDoor = { gate: 'page', methods: byMethod({ GET: openDoor, HEAD: openDoor }) };
    this.#nothing = { access: 'read', methods: (_, context) => this.#refuse(context) };
  }

  /** Returns the row of a request. */
  of(request: HttpRequest): Route {
    const { path } = request;
    const { triggers } = this.#sources;
    const hook = triggers?.automation.listeners.at(path);
    if (triggers !== undefined && hook !== undefined)
      return { gate: 'webhook', methods: (_, context) => triggers.receive(context, hook) };
    return routeOf(path) ?? this.#pageOf(request) ?? this.#ofAutomation(path);
  }

  /** Returns the row of an API path, without webhooks and pages. */
  ofApi(path: string): Route {
    return routeOf(path) ?? this.#ofAutomation(path);
  }

  #ofAutomation(path: string): Route {
    return this.#sources.triggers?.routeAt(path) ?? this.#nothing;
  }

  #pageOf({ method, path, headers }: HttpRequest): Route | undefined {
    const { inspector } = this.#sources;
    if (inspector !== undefined && (path === INSPECTOR || path.startsWith(`${INSPECTOR}/`)))
      return { gate: 'page', methods: inspector };
    const isBrowser =
      path === '/' && (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');
    return isBrowser ? this.#frontDoor : undefined;
  }

  #refuse(context: ExchangeContext): undefined {
    const { path } = context.request;
    const hasTriggers = this.#sources.triggers !== undefined;
    if (!hasTriggers && OF_TRIGGERS.test(path))
      context.error(
        404,
        'this gateway has no triggers, agents, fleets or flows; spec.triggers.directory, and directory under spec.agents, spec.fleets and spec.flows, name their folders',
      );
    else
      context.error(
        404,
        `nothing is at ${JSON.stringify(path.slice(0, 200))}; ${this.#hint(path, hasTriggers)}`,
      );
    return undefined;
  }

  #hint(path: string, hasTriggers: boolean): string {
    if (hasTriggers && /^\/deliveries\/[^/]/.test(path))
      return 'percent-encode the id of a delivery: it is one segment of the path, with %2F for a slash';
    const browsers = this.#sources.inspector === undefined ? '' : 'browsers /inspector, ';
    const lists = hasTriggers
      ? 'GET /servers lists the servers, and GET /triggers the triggers'
      : 'and GET /servers lists the servers';
    return `MCP clients use /mcp, ${browsers}${lists}`;
  }
}

function answerBrowser(context: ExchangeContext, hasInspector: boolean): undefined {
  if (hasInspector) context.empty(303, [...byAccept, ['location', INSPECTOR]]);
  else
    context.reply.send(
      404,
      context.headers([...byAccept, ['content-type', 'text/plain; charset=utf-8']]),
      WITHOUT_INSPECTOR,
    );
  return undefined;
}
