// The HTTP front: a listener, the gate every request passes, and the routes behind it. A part of the gateway's actor
// tree: booted last, drained first.
//
// FR1  the row of the route table decides which checks a request passes (Gate): Host and Origin, sender, method, access, in this
//     order, before the action runs. Webhooks and the inspector verify their senders themselves. Nothing else of a request is
//     read while its sender is identified, and its body is bounded (UB1).
// FR2  while draining, /health says so, work in flight ends, and new work is refused with 503.

import { StoppedError } from '../../actors/base/errors/errors.ts';
import type { Part, RootRef } from '../../actors/base/supervision/part.ts';
import { isRefusal, operator, type Principal, type Verdict } from '../../actors/identity/principal.ts';
import { listenSetting } from '../../config/gateway-file/daemon-form.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { isLoopback, parseListenAddr } from '../../config/gateway-file/listen-addr.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import { InspectorAccess } from '../inspector/access.ts';
import { EntryLinks } from '../inspector/entry-links.ts';
import { Inspector } from '../inspector/inspector.ts';
import { BodyBudget } from './body/body-budget.ts';
import { whenKnown } from './body/unproven-body.ts';
import { ApiKey, accessOf, holderOfKey, Identification, refusalOf, refuse } from './identification.ts';
import { listen } from './listener/listen.ts';
import { Readers } from './listener/readers.ts';
import type { BodyHandler, HttpReply, HttpRequest, Listener } from './listener/seam.ts';
import { ExchangeContext } from './mcp/exchange-context.ts';
import { Heartbeat } from './mcp/heartbeat.ts';
import type { NodesFront, NodesHost } from './nodes/nodes-front.ts';
import { proofHeaders } from './operator-proof.ts';
import { operatorTokenOf } from './operator-token.ts';
import { OriginGuard } from './origin-guard.ts';
import type { RouteContext, ServedGateway } from './route-context.ts';
import { RouteTable } from './route-table.ts';
import { type Action, faultReporter, type Route } from './routes.ts';
import type { TriggersFront } from './triggers-front.ts';

/** The automation of the gateway, as far as the front needs it before its boot. */
export interface TriggersPart {
  /** First guard in the loaded files, if any. */
  callGuard(): CallGuard | undefined;
  /** Returns the HTTP side of the automation, once the automation runs. */
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
  readonly #table = new RouteTable({
    inspector: () => this.#inspect,
    triggers: () => this.#triggers,
  });
  #listener: Listener | undefined;
  #inspector: Inspector | undefined;
  #inspect: Action | undefined;
  /** '' with an API key, or if the disk is full. */
  #operatorToken = '';
  readonly #links = new EntryLinks();
  #identification: Identification;
  #guard: OriginGuard | undefined;
  /** Set at the boot if there are triggers. */
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
    const inspector = new Inspector({
      gateway: this.gateway,
      root,
      access,
      links: this.#links,
      operator: isOpen ? operator : holderOfKey,
      triggers: this.#triggers,
      apiRoute: (path) => this.#table.ofNode(path),
    });
    this.#inspector = inspector;
    this.#inspect = (routes, context) => {
      context.reply.limitBody(this.unproven);
      return inspector.handle(routes, context);
    };
  }

  #handle(request: HttpRequest, reply: HttpReply): BodyHandler | undefined {
    const context = new ExchangeContext(request, reply);
    const route = this.#table.of(request);
    context.isMcp = route.isMcp === true;
    const { gate } = route;
    if (gate === 'webhook') return this.#dispatch(route, context);
    if (this.#guard?.admits(context, gate === 'health') !== true) return undefined;
    if (request.method === 'OPTIONS' && request.headers.origin !== undefined) {
      this.#guard.preflight(context);
      return undefined;
    }
    return gate === undefined ? this.#identify(route, context) : this.#dispatch(route, context);
  }

  /** A request forwarded by a node that has checked Host and Origin. `principal`: the sender identified there, or that node itself. */
  readonly takeFromNode = (
    request: HttpRequest,
    reply: HttpReply,
    principal?: Principal,
  ): BodyHandler | undefined => {
    const context = new ExchangeContext(request, reply);
    context.isFromNode = true;
    const route = this.#table.ofNode(request.path);
    context.isMcp = route.isMcp === true;
    return principal === undefined
      ? this.#identify(route, context)
      : this.#identified(principal, route, context);
  };

  #identify(route: Route, context: ExchangeContext): BodyHandler | undefined {
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

  #identified(verdict: Verdict, route: Route, context: ExchangeContext): BodyHandler | undefined {
    if (!isRefusal(verdict)) {
      context.principal = verdict;
      return this.#dispatch(route, context);
    }
    refuse(context, verdict);
    return undefined;
  }

  /** Calls the action of the method, once its access is checked. Webhooks and pages check the access themselves. */
  #dispatch(route: Route, context: ExchangeContext): BodyHandler | undefined {
    const { method } = context.request;
    const { methods, access, id, gate } = route;
    const action = typeof methods === 'function' ? methods : methods.get(method);
    if (action === undefined) {
      const allow = typeof methods === 'function' ? '' : [...methods.keys()].join(', ');
      context.error(405, `${method} is not possible here; try ${allow}`, [['allow', allow]]);
      return undefined;
    }
    if (gate === undefined && this.#isRefused(context, method, access)) return undefined;
    const handle = action(this.#routes, context, id);
    const mayBeGuarded = this.#triggers !== undefined && access === 'client';
    return mayBeGuarded ? handle && this.#checkAgain(context, access, handle) : handle;
  }

  /** A reload may bring a guard while the body arrives. */
  #checkAgain(context: ExchangeContext, access: Route['access'], handle: BodyHandler): BodyHandler {
    return (request, body, reply) => {
      if (!this.#isRefused(context, request.method, access)) handle(request, body, reply);
    };
  }

  /** Returns true if the request was refused because its sender lacks the access. */
  #isRefused(context: ExchangeContext, method: string, declared: Route['access']): boolean {
    const access = accessOf(method, declared);
    const refusal = refusalOf(context.principal, access, this.#options.triggers?.callGuard());
    if (refusal === undefined) return false;
    refuse(context, refusal);
    return true;
  }
}
