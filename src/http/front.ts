// The HTTP front: a listener, the gate every request passes, and the routes behind it. A part of the gateway's actor
// tree: booted last, drained first.
//
// FR1  every request passes, in this order: Host and Origin, who asks, route, method, limits; /health only what it must. A
//     webhook passes nothing but its own checks, the inspector has an access of its own in the place of the key, and a
//     browser at `/` is redirected with no key (FRD1). Access is checked before the action runs (route-access.ts). Who
//     has to be asked for is waited for; meanwhile nothing of the request is looked at, and its body has a bound (UB1).
// FR2  while draining, /health says so, work in flight ends, and new work is refused with 503.

import { StoppedError } from '../../actors/base/errors/errors.ts';
import type { Part, RootRef } from '../../actors/base/supervision/part.ts';
import { isRefusal, operator, type Principal, type Verdict } from '../../actors/identity/principal.ts';
import { listenSetting } from '../../config/gateway-file/daemon-form.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { isLoopback, parseListenAddr } from '../../config/gateway-file/listen-addr.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import { InspectorAccess, isInspector } from '../inspector/access.ts';
import { EntryLinks } from '../inspector/entry-links.ts';
import { Inspector } from '../inspector/inspector.ts';
import { ApiKey } from './api-key.ts';
import { BodyBudget } from './body/body-budget.ts';
import { whenKnown } from './body/unproven-body.ts';
import { isAtFrontDoor, openFrontDoor } from './front-door.ts';
import { holderOfKey, Identification, refuse } from './identification.ts';
import { listen } from './listener/listen.ts';
import { Readers } from './listener/readers.ts';
import type { BodyHandler, HttpReply, HttpRequest, Listener } from './listener/seam.ts';
import { ExchangeContext } from './mcp/exchange-context.ts';
import { Heartbeat } from './mcp/heartbeat.ts';
import type { NodesFront, NodesHost } from './nodes/nodes-front.ts';
import { proofHeaders } from './operator-proof.ts';
import { operatorTokenOf } from './operator-token.ts';
import { OriginGuard } from './origin-guard.ts';
import { accessOf, refusalOf } from './route-access.ts';
import type { RouteContext, ServedGateway } from './route-context.ts';
import { faultReporter, type Route, routeOf } from './routes.ts';
import type { TriggersFront } from './triggers-front.ts';

/** The automation of the gateway, as far as the front needs it before its boot. */
export interface TriggersPart {
  /** First guard in the loaded files, if any. */
  callGuard(): CallGuard | undefined;
  /** Returns what the front serves of it, once it runs. */
  serve(heartbeat: Heartbeat): Promise<TriggersFront>;
}

export interface FrontOptions {
  readonly gateway: ServedGateway;
  /** Budget for bodies of senders that are not identified yet. @default one of its own */
  readonly unproven?: BodyBudget | undefined;
  readonly triggers?: TriggersPart | undefined;
  /** Makes the listener for other nodes, if they can reach this one. */
  readonly nodes?: ((front: NodesHost) => NodesFront) | undefined;
  /** What has the address in place of the gateway file, for whoever has to change it. */
  readonly addressSetting?: string | undefined;
  /** Reads the configuration again and applies it, and gives what has changed; throws ConfigError. */
  reload(): Promise<object>;
}

/** The paths of triggers; what is there is known where there are some. */
const OF_TRIGGERS = /^\/(?:triggers|agents|fleets|flows|deliveries|runs|approvals)(?:\/|$)/;

const DRAIN_POLL_MS = 20;
/** For the answers to calls that were given up to leave; a client that takes none must not hold up the end. */
const LAST_WORDS_MS = 250;

export class Front implements Part {
  readonly name = 'front';
  readonly gateway: ServedGateway;
  /** Keeps streams alive. */
  readonly heartbeat = new Heartbeat();
  /** Budget for bodies of senders that are not identified yet. */
  readonly unproven: BodyBudget;
  readonly reportFault: (error: unknown) => void;
  /** Set where other nodes can reach this one. */
  readonly nodes: NodesFront | undefined;
  readonly #options: FrontOptions;
  readonly #key: ApiKey;
  #routes: RouteContext;
  #listener: Listener | undefined;
  #inspector: Inspector | undefined;
  /** '' with an API key, or if the disk is full. */
  #operatorToken = '';
  readonly #links = new EntryLinks();
  #identification: Identification;
  #guard: OriginGuard | undefined;
  /** Set from the boot on where there are triggers. */
  #triggers: TriggersFront | undefined;

  constructor(options: FrontOptions) {
    const { config } = options.gateway;
    this.#options = options;
    this.gateway = options.gateway;
    this.#key = new ApiKey(config.api_key);
    this.#identification = new Identification(this.#key, undefined);
    this.reportFault = faultReporter(options.gateway.log);
    this.unproven = options.unproven ?? BodyBudget.for(config.limits.body_bytes);
    this.nodes = options.nodes?.(this);
    this.#routes = this.#routesTo(undefined);
  }

  /** Whether there is a page for browsers. */
  get hasInspector(): boolean {
    return this.#inspector !== undefined;
  }

  /** Creates a one-time link to the inspector and returns its path; undefined if there is no inspector or operator. */
  openLink(): string | undefined {
    return this.#inspector === undefined || this.#secret === '' ? undefined : this.#links.create();
  }

  /** Where it listens, once booted. */
  get address(): { readonly host: string; readonly port: number } | undefined {
    return this.#listener?.address;
  }

  get kind(): Listener['kind'] | undefined {
    return this.#listener?.kind;
  }

  async boot(root: RootRef): Promise<void> {
    const { config, log } = this.gateway;
    const { host, port } = parseListenAddr(config.listen_addr);
    this.#triggers = await this.#options.triggers?.serve(this.heartbeat);
    this.#routes = this.#routesTo(this.#triggers);
    const guard = new OriginGuard({
      host,
      allowedHosts: config.allowed_hosts,
      allowedOrigins: config.allowed_origins,
    });
    this.#guard = guard;
    this.#operatorToken = operatorTokenOf(this.gateway);
    this.#identification = await this.#identificationBy(config);
    this.#listener = await listen({
      host,
      port,
      maxBodyBytes: config.limits.body_bytes,
      readers: Readers.for(config.limits.message_bytes),
      handler: (request, reply) => this.#handle(request, reply),
      onFault: this.reportFault,
      setting: this.#options.addressSetting ?? listenSetting(config),
    });
    guard.ownPort = this.#listener.address.port;
    this.#openInspector(host, guard, root);
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
    const { mcp } = this.gateway;
    const deadline = performance.now() + graceMs;
    // Streams that only listen would never end by themselves; their clients come back to the next gateway.
    mcp.clients.sessions.closeStreams();
    mcp.lines.endWatches();
    this.#triggers?.closeStreams();
    this.#inspector?.close();
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
    this.heartbeat.stop();
    listener.close();
  }

  #routesTo(triggers: TriggersFront | undefined): RouteContext {
    const { heartbeat, nodes } = this;
    const { config, log, redactor, version, life, mcp, node } = this.gateway;
    return {
      ...{ config, log, redactor, version, life, mcp, node, heartbeat, triggers, nodes },
      proofFor: (request) => proofHeaders(request, this.#operatorToken, this.address, config.state_dir),
      reload: () => this.#options.reload(),
    };
  }

  /** What verifies tokens is loaded only where some are taken. */
  async #identificationBy({ auth }: GatewayConfig): Promise<Identification> {
    if (auth.jwt === undefined)
      return new Identification(this.#key, undefined, new ApiKey(this.#operatorToken));
    const { makeJwtVerifier } = await import('../../actors/identity/jwt/make-jwt-verifier.ts');
    return new Identification(this.#key, makeJwtVerifier(auth.jwt));
  }

  /** Operator secret; '' if missing. */
  get #secret(): string {
    return this.gateway.config.api_key === '' ? this.#operatorToken : this.gateway.config.api_key;
  }

  /** Whoever can reach the listener could watch: without a key only those on this machine may. */
  #openInspector(host: string, guard: OriginGuard, root: RootRef): void {
    const { config } = this.gateway;
    const { enabled, insecure } = config.inspector;
    if (enabled === false) return;
    // It was warned of when the file was read.
    if (config.api_key === '' && !isLoopback(host) && !(enabled === true && insecure)) return;
    const isOpen = config.api_key === '';
    const access = new InspectorAccess({ secret: this.#secret, isOpen });
    guard.vouchesFor = (context) => access.knowsPageOf(context);
    this.#inspector = new Inspector({
      gateway: this.gateway,
      root,
      access,
      links: this.#links,
      operator: isOpen ? operator : holderOfKey,
      triggers: this.#triggers,
      reload: () => this.#options.reload(),
    });
  }

  #handle(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const { headers } = request;
    const context = new ExchangeContext(request, reply);
    const hook = this.#triggers?.automation.listeners.at(request.path);
    if (hook !== undefined) return this.#triggers?.receive(context, hook);
    const route = routeOf(request.path);
    context.isMcp = route?.isMcp === true;
    const isHealth = route?.isOpen === true;
    if (this.#guard?.admits(context, isHealth) !== true) return undefined;
    if (request.method === 'OPTIONS' && headers.origin !== undefined) {
      this.#guard.preflight(context);
      return undefined;
    }
    if (this.#inspector !== undefined && isInspector(request.path)) {
      reply.limitBody(this.unproven);
      return this.#inspector.handle(context);
    }
    if (isHealth) return this.#dispatch(route, context);
    if (isAtFrontDoor(request)) {
      openFrontDoor(context, this.#inspector !== undefined);
      return undefined;
    }
    return this.#identify(route, context);
  }

  /** A request forwarded by a node that has checked Host and Origin. `principal`: the sender identified there, or that node itself. */
  readonly takeFromNode = (
    request: HttpRequest,
    reply: HttpReply,
    principal?: Principal,
  ): BodyHandler | undefined => {
    const context = new ExchangeContext(request, reply);
    context.isFromNode = true;
    const route = routeOf(request.path);
    context.isMcp = route?.isMcp === true;
    return principal === undefined
      ? this.#identify(route, context)
      : this.#identified(principal, route, context);
  };

  #identify(route: Route | undefined, context: ExchangeContext): BodyHandler | undefined {
    const { request, reply } = context;
    const verdict = this.#identification.of(request.headers);
    if (!(verdict instanceof Promise)) return this.#identified(verdict, route, context);
    reply.limitBody(this.unproven);
    return whenKnown(
      request,
      this.unproven,
      verdict.then((known) => this.#identified(known, route, context)),
    );
  }

  #identified(verdict: Verdict, route: Route | undefined, context: ExchangeContext): BodyHandler | undefined {
    if (isRefusal(verdict)) {
      refuse(context, verdict);
      return undefined;
    }
    context.principal = verdict;
    return route === undefined ? this.#elsewhere(context) : this.#dispatch(route, context);
  }

  /** What is asked of triggers, or nothing that there is. */
  #elsewhere(context: ExchangeContext): undefined | BodyHandler {
    const { path } = context.request;
    const found = this.#triggers?.routeAt(path);
    if (found !== undefined) {
      // The route itself answers other methods with 405.
      const { method } = context.request;
      const isRefused = method === found.route.method && this.#isRefused(context, method);
      return isRefused ? undefined : this.#triggers?.answer(context, found);
    }
    if (this.#triggers === undefined && OF_TRIGGERS.test(path))
      context.error(
        404,
        'this gateway has no triggers, agents, fleets or flows; spec.triggers.directory, and directory under spec.agents, spec.fleets and spec.flows, name their folders',
      );
    else
      context.error(404, `nothing is at ${JSON.stringify(path.slice(0, 200))}; ${this.#whereToLook(path)}`);
    return undefined;
  }

  #whereToLook(path: string): string {
    const hasTriggers = this.#triggers !== undefined;
    if (hasTriggers && /^\/deliveries\/[^/]/.test(path))
      return 'percent-encode the id of a delivery: it is one segment of the path, with %2F for a slash';
    const browsers = this.#inspector === undefined ? '' : 'browsers /inspector, ';
    const lists = hasTriggers
      ? 'GET /servers lists the servers, and GET /triggers the triggers'
      : 'and GET /servers lists the servers';
    return `MCP clients use /mcp, ${browsers}${lists}`;
  }

  #dispatch(route: Route, context: ExchangeContext): BodyHandler | undefined {
    const { method } = context.request;
    const action = route.methods.get(method);
    if (action === undefined) {
      const allow = [...route.methods.keys()].join(', ');
      context.error(405, `${method} is not possible here; try ${allow}`, [['allow', allow]]);
      return undefined;
    }
    if (this.#isRefused(context, method, route)) return undefined;
    const handle = action(this.#routes, context, route.id);
    const mayBeGuarded = this.#triggers !== undefined && route.access === 'client';
    return mayBeGuarded ? handle && this.#checkAgain(context, route, handle) : handle;
  }

  /** A reload may bring a guard while the body arrives. */
  #checkAgain(context: ExchangeContext, route: Route, handle: BodyHandler): BodyHandler {
    return (request, body, reply) => {
      if (!this.#isRefused(context, request.method, route)) handle(request, body, reply);
    };
  }

  /** Refuses the request if its sender lacks the access; true when it was refused. */
  #isRefused(
    context: ExchangeContext,
    method: string,
    route: Pick<Route, 'access' | 'isOpen'> = {},
  ): boolean {
    const access = accessOf(method, route.isOpen === true ? 'read' : route.access);
    const refusal = refusalOf(context.principal, access, this.#options.triggers?.callGuard());
    if (refusal === undefined) return false;
    refuse(context, refusal);
    return true;
  }
}
