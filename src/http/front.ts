// The HTTP front: a listener, the gate every request passes, and the routes behind it. A part of the gateway's actor
// tree: booted last, drained first.
//
// W1  every request passes, in this order: Host and Origin, key, route, method, limits; /health only what it must.
// W2  while draining, /health says so, work in flight ends, and new work is refused with 503.

import { Reception } from '../../actors/client/reception.ts';
import { StoppedError } from '../../actors/errors.ts';
import type { Gateway, Part } from '../../actors/gateway/gateway.ts';
import type { CatalogDifference } from '../../actors/gateway/server-fleet.ts';
import { isLoopback, parseListenAddr } from '../../config/listen-addr.ts';
import { InspectorAccess, isInspector } from '../inspector/access.ts';
import { Inspector } from '../inspector/inspector.ts';
import { ApiKey } from './api-key.ts';
import { ExchangeContext } from './exchange-context.ts';
import { Heartbeat } from './heartbeat.ts';
import { listen } from './listen.ts';
import { OriginGuard } from './origin-guard.ts';
import { type Route, routeOf } from './routes.ts';
import type { BodyHandler, HttpReply, HttpRequest, Listener } from './seam.ts';

export interface FrontOptions {
  readonly prefer?: 'uws' | 'node' | undefined;
  /** Reads the configuration again and applies it; throws ConfigError. */
  reload(): Promise<CatalogDifference>;
}

const DRAIN_POLL_MS = 20;
/** For the answers to calls that were given up to leave; a client that takes none must not hold up the end. */
const LAST_WORDS_MS = 250;

export class Front implements Part {
  readonly name = 'front';
  readonly heartbeat = new Heartbeat();
  readonly options: FrontOptions;
  #gateway: Gateway | undefined;
  #reception: Reception | undefined;
  #listener: Listener | undefined;
  #inspector: Inspector | undefined;
  #key = new ApiKey('');
  #guard: OriginGuard | undefined;

  constructor(options: FrontOptions) {
    this.options = options;
  }

  /** To be called once, before boot: the gateway and its front know each other. */
  attach(gateway: Gateway): void {
    this.#gateway = gateway;
    this.#reception = new Reception(gateway);
    this.#key = new ApiKey(gateway.config.api_key);
  }

  get gateway(): Gateway {
    if (this.#gateway === undefined) throw new Error('the front has not been attached to a gateway');
    return this.#gateway;
  }

  get reception(): Reception {
    if (this.#reception === undefined) throw new Error('the front has not been attached to a gateway');
    return this.#reception;
  }

  /** Where it listens, once booted. */
  get address(): { readonly host: string; readonly port: number } | undefined {
    return this.#listener?.address;
  }

  get kind(): Listener['kind'] | undefined {
    return this.#listener?.kind;
  }

  async boot(): Promise<void> {
    const { config, log } = this.gateway;
    const { host, port } = parseListenAddr(config.listen_addr);
    const guard = new OriginGuard({
      host,
      allowedHosts: config.allowed_hosts,
      allowedOrigins: config.allowed_origins,
    });
    this.#guard = guard;
    const { prefer } = this.options;
    this.#listener = await listen({
      host,
      port,
      maxBodyBytes: config.limits.body_bytes,
      handler: (request, reply) => this.#handle(request, reply),
      onFault: (error) =>
        log.error({ reason: String((error as Error)?.stack ?? error) }, 'a request failed by a fault'),
      ...(prefer === undefined ? {} : { prefer }),
    });
    guard.ownPort = this.#listener.address.port;
    this.#openInspector(host, guard);
    if (this.#listener.fallbackReason !== undefined) {
      log.warn(
        { reason: this.#listener.fallbackReason },
        'node:http serves; see "Another Node version" in the README',
      );
    }
  }

  async drain(graceMs: number): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    const deadline = performance.now() + graceMs;
    // Streams that only listen would never end by themselves; their clients come back to the next gateway.
    this.gateway.sessions.closeStreams();
    this.#inspector?.close();
    const settled = async (until: number) => {
      while (listener.open > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    };
    await settled(deadline);
    if (listener.open > 0) {
      // Told, not cut off: a client must know that its call has not been answered.
      this.gateway.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
      await settled(deadline + LAST_WORDS_MS);
    }
    listener.stopListening();
    this.heartbeat.stop();
    listener.close();
  }

  /** Whoever can reach the listener could watch: without a key only those on this machine may. */
  #openInspector(host: string, guard: OriginGuard): void {
    const { config, log } = this.gateway;
    const { enabled, insecure } = config.inspector;
    if (enabled === false) return;
    if (config.api_key === '' && !isLoopback(host) && !(enabled === true && insecure)) {
      log.warn({}, 'the inspector is off: this address is open to others and there is no api_key');
      return;
    }
    const access = new InspectorAccess(this.#key, config.api_key);
    guard.vouchesFor = (context) => access.knowsPageOf(context);
    this.#inspector = new Inspector({
      gateway: this.gateway,
      reception: this.reception,
      access,
      reload: () => this.options.reload(),
    });
  }

  #handle(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const { headers } = request;
    const context = new ExchangeContext(request, reply);
    const route = routeOf(request.path);
    const isHealth = route?.isOpen === true;
    if (this.#guard?.admits(context, isHealth) !== true) return undefined;
    if (request.method === 'OPTIONS' && headers.origin !== undefined) {
      this.#guard.preflight(context);
      return undefined;
    }
    if (this.#inspector !== undefined && isInspector(request.path)) return this.#inspector.handle(context);
    if (!isHealth && !this.#key.admits(context)) return undefined;
    if (route === undefined) {
      context.error(
        404,
        `nothing is at ${JSON.stringify(request.path.slice(0, 200))}; MCP clients use /mcp, and GET /servers lists the servers`,
      );
      return undefined;
    }
    return this.#dispatch(route, context);
  }

  #dispatch(route: Route, context: ExchangeContext): BodyHandler | undefined {
    const { method } = context.request;
    const action = route.methods.get(method);
    if (action === undefined) {
      const allow = [...route.methods.keys()].join(', ');
      context.error(405, `${method} is not possible here; try ${allow}`, [['allow', allow]]);
      return undefined;
    }
    return action(this, context, route.id);
  }
}
