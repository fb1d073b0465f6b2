// HTTP front, the client side of the gateway: the listener, the checks for each request, and the routes.
// Started last and drained first.
//
// - The route decides which checks a request must pass (Gate), in this order: Host and Origin, sender,
//   method, access. Webhooks and the inspector verify their senders themselves.
// - While draining, /health reports it, open requests may complete, and new work is refused with 503.

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
import type { RequestForwarder } from './nodes/request-forwarder.ts';
import { proofHeaders } from './operator-proof.ts';
import { OriginGuard } from './origin-guard.ts';
import type { RouteContext } from './route-context.ts';
import { RouteTable } from './route-table.ts';
import type { Action } from './routes.ts';
import type { TriggersFront } from './triggers-front.ts';

export interface FrontOptions {
  readonly http: HttpServices;
  /** Undefined if the gateway has no automation. */
  readonly triggers?: TriggersFront | undefined;
  /** Undefined if node.address is not set. */
  readonly forwarder?: RequestForwarder | undefined;
  /** Setting that overrides `listen_addr` of the gateway file, for error messages. */
  readonly addressSetting?: string | undefined;
  /** Path of the gateway file; undefined without such a file. */
  readonly gatewayFile?: string | undefined;
  /** Reloads the configuration and returns the changes. Rejects with ConfigError. */
  reload(): Promise<object>;
}

/** The enabled inspector. */
interface InspectorPage {
  readonly access: InspectorAccess;
  readonly inspector: Inspector;
  readonly links: EntryLinks;
  /** False if the gateway has no operator token and no API key. */
  readonly hasOperator: boolean;
}

const DRAIN_POLL_MS = 20;
/** Time to send the error responses of failed calls. Slow clients must not delay the shutdown. */
const FLUSH_MS = 250;

export class Front implements Part {
  readonly #http: HttpServices;
  readonly #triggers: TriggersFront | undefined;
  readonly #page: InspectorPage | undefined;
  readonly #listener: Listener;

  /** Opens the listener. Rejects like `listen`. */
  static async open(options: FrontOptions): Promise<Front> {
    const { http, addressSetting } = options;
    const { config, alarms } = http.gateway;
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
      alarms.raise(
        'fallback_listener',
        `node:http serves at half the speed, because ${reason}; install a build for this Node version, or set GATEWAY_HTTP=node`,
      );
    if (config.api_key === '' && !isLoopback(host))
      alarms.raise(
        'listener_without_key',
        `every client that reaches ${config.listen_addr} can call every tool; set api_key, or listen on loopback`,
      );
    return new Front(options, page, listener);
  }

  private constructor({ http, triggers }: FrontOptions, page: InspectorPage | undefined, listener: Listener) {
    this.#http = http;
    this.#triggers = triggers;
    this.#page = page;
    this.#listener = listener;
  }

  get hasInspector(): boolean {
    return this.#page !== undefined;
  }

  /**
   * Creates a one-time link to the inspector and returns its path. Returns undefined if there is no
   * inspector, or no client can authenticate as the operator.
   */
  createEntryLink(): string | undefined {
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
    // Streams that clients listen to never close on their own. The clients reconnect to the next gateway.
    mcp.clients.sessions.closeStreams();
    mcp.lines.endWatches();
    this.#triggers?.closeStreams();
    this.#page?.inspector.close();
    const waitUntilIdle = async (until: number) => {
      while (listener.open > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    };
    await waitUntilIdle(deadline);
    if (listener.open > 0) {
      // Open requests get a response: a client learns that its call failed, a sender that its event is
      // stored.
      this.#triggers?.automation.endWaits();
      mcp.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
      await waitUntilIdle(deadline + FLUSH_MS);
    }
    listener.stopListening();
    listener.close();
  }
}

/**
 * Returns the inspector; undefined if disabled. Without an API key it is served on loopback addresses only,
 * unless the configuration allows others.
 */
function pageOf({ http, triggers, gatewayFile }: FrontOptions, host: string): InspectorPage | undefined {
  const { gateway, operatorToken } = http;
  const { api_key, inspector: settings } = gateway.config;
  const { enabled, insecure } = settings;
  if (enabled === false) return undefined;
  /** If no key is configured, any sender may read the inspector. */
  const isOpen = api_key === '';
  // The reader of the configuration has logged a warning.
  if (isOpen && !isLoopback(host) && !(enabled === true && insecure)) return undefined;
  const secret = isOpen ? operatorToken : api_key;
  const access = new InspectorAccess({ secret, isOpen });
  const links = new EntryLinks();
  const api = new RouteTable({ triggers });
  const inspector = new Inspector({
    ...{ gateway, access, links, gatewayFile, triggers },
    apiRoute: (path) => api.ofApi(path),
    root: gateway.life.root,
    operator: isOpen ? operator : holderOfKey,
  });
  return { access, inspector, links, hasOperator: secret !== '' };
}

/** Returns the function that handles each request of the listener. */
function handlerOf(options: FrontOptions, host: string, page: InspectorPage | undefined): RequestHandler {
  const { http, triggers, forwarder, reload } = options;
  const { gateway, heartbeat, json, operatorToken, unverifiedBodies, accessKeys, requestAudit } = http;
  const { config, log, alarms, redactor, version, life, mcp, history, audit, node } = gateway;
  const routes: RouteContext = {
    ...{ config, log, alarms, redactor, version, life, mcp, history, audit, node, heartbeat, json, triggers },
    ...{ forwarder, reload, accessKeys, requestAudit },
    proofFor: (request) =>
      proofHeaders(request, operatorToken, { host, port: request.localPort }, config.state_dir),
  };
  const dispatch = new Dispatch(http, routes);
  const inspect: Action | undefined =
    page &&
    ((_, context) => {
      context.reply.limitBody(unverifiedBodies);
      return page.inspector.handle(routes, context);
    });
  const table = new RouteTable({ inspector: inspect, triggers });
  const guard = new OriginGuard({
    host,
    allowedHosts: config.allowed_hosts,
    allowedOrigins: config.allowed_origins,
    vouchesFor: page && ((context) => page.access.isPageRequest(context)),
  });
  return (request, reply) => {
    const context = new ExchangeContext(request, reply, alarms);
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
