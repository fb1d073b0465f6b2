// The HTTP front: a listener, the gate every request passes, and the routes behind it. A part of the gateway: started last,
// drained first.
//
// FR1  the row of the route table decides which checks a request passes (Gate): Host and Origin, sender, method, access, in this
//     order, before the action runs. Webhooks and the inspector verify their senders themselves (dispatch.ts).
// FR2  while draining, /health says so, work in flight ends, and new work is refused with 503.

import { StoppedError } from '../../actors/base/errors/errors.ts';
import type { Part } from '../../actors/base/supervision/part.ts';
import { operator } from '../../actors/identity/principal.ts';
import { listenSetting } from '../../config/gateway-file/daemon-form.ts';
import { isLoopback, parseListenAddr } from '../../config/gateway-file/listen-addr.ts';
import { InspectorAccess } from '../inspector/access.ts';
import { EntryLinks } from '../inspector/entry-links.ts';
import { Inspector } from '../inspector/inspector.ts';
import { Dispatch } from './dispatch.ts';
import type { HttpServices } from './http-services.ts';
import { holderOfKey } from './identification.ts';
import { listen } from './listener/listen.ts';
import { Readers } from './listener/readers.ts';
import type { Listener, RequestHandler } from './listener/seam.ts';
import { ExchangeContext } from './mcp/exchange-context.ts';
import type { Elsewhere } from './nodes/elsewhere.ts';
import { proofHeaders } from './operator-proof.ts';
import { OriginGuard } from './origin-guard.ts';
import type { RouteContext } from './route-context.ts';
import { RouteTable } from './route-table.ts';
import type { Action } from './routes.ts';
import type { TriggersFront } from './triggers-front.ts';

export interface FrontOptions {
  readonly http: HttpServices;
  /** Undefined without automation. */
  readonly triggers?: TriggersFront | undefined;
  /** Undefined without node.address. */
  readonly nodes?: Elsewhere | undefined;
  /** What has the address in place of the gateway file, for whoever has to change it. */
  readonly addressSetting?: string | undefined;
  /** Reads the configuration again and applies it, and gives what has changed; throws ConfigError. */
  reload(): Promise<object>;
}

/** The page for browsers, if there is one. */
interface Page {
  readonly access: InspectorAccess;
  readonly inspector: Inspector;
  readonly links: EntryLinks;
  /** False without an operator token or API key. */
  readonly hasOperator: boolean;
}

const DRAIN_POLL_MS = 20;
/** For the answers to calls that were given up to leave; a client that takes none must not hold up the end. */
const LAST_WORDS_MS = 250;

export class Front implements Part {
  readonly #http: HttpServices;
  readonly #triggers: TriggersFront | undefined;
  readonly #page: Page | undefined;
  readonly #listener: Listener;

  /** Rejects as `listen` does. */
  static async open(options: FrontOptions): Promise<Front> {
    const { http, addressSetting } = options;
    const { config, log } = http.gateway;
    const { host, port } = parseListenAddr(config.listen_addr);
    const page = pageOf(options, host);
    const listener = await listen({
      host,
      port,
      maxBodyBytes: config.limits.body_bytes,
      readers: Readers.for(config.limits.message_bytes),
      handler: handlerOf(options, host, page),
      onFault: http.reportFault,
      setting: addressSetting ?? listenSetting(config),
    });
    const { fallbackReason: reason } = listener;
    if (reason !== undefined)
      log.warn({ reason }, 'node:http serves; see "Another Node version" in the README');
    return new Front(options, page, listener);
  }

  private constructor({ http, triggers }: FrontOptions, page: Page | undefined, listener: Listener) {
    this.#http = http;
    this.#triggers = triggers;
    this.#page = page;
    this.#listener = listener;
  }

  /** Whether there is a page for browsers. */
  get hasInspector(): boolean {
    return this.#page !== undefined;
  }

  /** Creates a one-time link to the inspector and returns its path; undefined if there is no inspector or operator. */
  openLink(): string | undefined {
    return this.#page?.hasOperator ? this.#page.links.create() : undefined;
  }

  get address(): Listener['address'] {
    return this.#listener.address;
  }

  get kind(): Listener['kind'] {
    return this.#listener.kind;
  }

  async drain(graceMs: number): Promise<void> {
    const listener = this.#listener;
    const { mcp } = this.#http.gateway;
    const deadline = performance.now() + graceMs;
    // Streams that only listen would never end by themselves; their clients come back to the next gateway.
    mcp.clients.sessions.closeStreams();
    mcp.lines.endWatches();
    this.#triggers?.closeStreams();
    this.#page?.inspector.close();
    const settled = async (until: number) => {
      while (listener.open > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    };
    await settled(deadline);
    if (listener.open > 0) {
      // Told, not cut off: a client must know that its call has not been answered, a sender that its event is kept.
      this.#triggers?.automation.endWaits();
      mcp.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
      await settled(deadline + LAST_WORDS_MS);
    }
    listener.stopListening();
    listener.close();
  }
}

/** Without an API key, the page is served on loopback addresses only, unless the configuration allows others. */
function pageOf({ http, triggers }: FrontOptions, host: string): Page | undefined {
  const { gateway, operatorToken } = http;
  const { api_key, inspector: settings } = gateway.config;
  const { enabled, insecure } = settings;
  if (enabled === false) return undefined;
  const isOpen = api_key === '';
  // It was warned of when the file was read.
  if (isOpen && !isLoopback(host) && !(enabled === true && insecure)) return undefined;
  const secret = isOpen ? operatorToken : api_key;
  const access = new InspectorAccess({ secret, isOpen });
  const links = new EntryLinks();
  const api = new RouteTable({ triggers });
  const inspector = new Inspector({
    ...{ gateway, access, links, triggers },
    apiRoute: (path) => api.ofApi(path),
    root: gateway.life.root,
    operator: isOpen ? operator : holderOfKey,
  });
  return { access, inspector, links, hasOperator: secret !== '' };
}

/** Returns the handler of the listener (FR1). */
function handlerOf(options: FrontOptions, host: string, page: Page | undefined): RequestHandler {
  const { http, triggers, nodes, reload } = options;
  const { gateway, heartbeat, operatorToken, unproven } = http;
  const { config, log, redactor, version, life, mcp, node } = gateway;
  const routes: RouteContext = {
    ...{ config, log, redactor, version, life, mcp, node, heartbeat, triggers, nodes, reload },
    proofFor: (request) =>
      proofHeaders(request, operatorToken, { host, port: request.localPort }, config.state_dir),
  };
  const dispatch = new Dispatch(http, routes);
  const inspect: Action | undefined =
    page &&
    ((_, context) => {
      context.reply.limitBody(unproven);
      return page.inspector.handle(routes, context);
    });
  const table = new RouteTable({ inspector: inspect, triggers });
  const guard = new OriginGuard({
    host,
    allowedHosts: config.allowed_hosts,
    allowedOrigins: config.allowed_origins,
    vouchesFor: page && ((context) => page.access.knowsPageOf(context)),
  });
  return (request, reply) => {
    const context = new ExchangeContext(request, reply);
    const route = table.of(request);
    context.isMcp = route.isMcp === true;
    const { gate } = route;
    if (gate === 'webhook') return dispatch.dispatch(route, context);
    if (!guard.admits(context, gate === 'health')) return undefined;
    if (request.method === 'OPTIONS' && request.headers.origin !== undefined) {
      guard.preflight(context);
      return undefined;
    }
    return gate === undefined ? dispatch.identify(route, context) : dispatch.dispatch(route, context);
  };
}
