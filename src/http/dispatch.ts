// Dispatches a listener's requests to their routes: identifies the sender, checks the method and the
// access, and calls the action of the route. Until the sender is identified, request bodies count in the
// memory budget for unverified senders.

import { isRefusal, type VerificationResult } from '../../actors/identity/principal.ts';
import { deferUntilVerified } from './body/unverified-body.ts';
import type { HttpServices } from './http-services.ts';
import { accessOf, refusalOf, refuse, requiredRole, roleRefusal } from './identification.ts';
import { isEncoded } from './listener/framing.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import type { RouteContext } from './route-context.ts';
import type { Route } from './routes.ts';

type DispatchServices = Pick<
  HttpServices,
  'identification' | 'accessKeys' | 'unverifiedBodies' | 'callGuard'
>;

export class Dispatch {
  readonly #http: DispatchServices;
  readonly #routes: RouteContext;

  constructor(http: DispatchServices, routes: RouteContext) {
    this.#http = http;
    this.#routes = routes;
  }

  /** Identifies the sender, then calls the action of the route. */
  identify(route: Route, context: ExchangeContext): BodyHandler | undefined {
    const { request, reply } = context;
    const { identification, unverifiedBodies } = this.#http;
    const verdict = identification.of(request.headers);
    if (!(verdict instanceof Promise)) return this.dispatchIdentified(verdict, route, context);
    reply.limitBody(unverifiedBodies);
    return deferUntilVerified(
      request,
      unverifiedBodies,
      verdict.then((result) => this.dispatchIdentified(result, route, context)),
    );
  }

  /** Calls the action of the route, or refuses the sender, depending on the result of the identification. */
  dispatchIdentified(
    verdict: VerificationResult,
    route: Route,
    context: ExchangeContext,
  ): BodyHandler | undefined {
    if (isRefusal(verdict)) {
      this.#routes.requestAudit?.recordSignIn(context, verdict.kind);
      refuse(context, verdict);
      return undefined;
    }
    context.principal = verdict;
    if (verdict.keyId !== undefined && mayStream(route, context))
      this.#http.accessKeys.watch(verdict, context.reply);
    return this.dispatch(route, context);
  }

  /** Checks the access and calls the action of the method. Webhooks and pages check the access themselves. */
  dispatch(route: Route, context: ExchangeContext): BodyHandler | undefined {
    const { method } = context.request;
    const { methods, access, id, gate } = route;
    const action = typeof methods === 'function' ? methods : methods.get(method);
    if (action === undefined) {
      const allow = typeof methods === 'function' ? '' : [...methods.keys()].join(', ');
      context.error(405, `${method} is not allowed here; allowed: ${allow}`, [['allow', allow]]);
      return undefined;
    }
    // Webhooks decode the bodies of their senders.
    if (gate !== 'webhook' && isEncoded(context.request.headers)) {
      context.error(415, 'encoded bodies are unsupported; send the body without Content-Encoding', [
        ['accept-encoding', 'identity'],
      ]);
      return undefined;
    }
    if (gate === undefined) {
      const { requestAudit } = this.#routes;
      if (isOperation(route, method) && requestAudit?.refusesOperation(context) === true) return undefined;
      if (this.#isRefused(context, method, route)) return undefined;
      const isMessage = route.hasMessages === true && method === 'POST';
      if (isMessage && requestAudit?.refusesMessage(context) === true) return undefined;
    }
    const handle = action(this.#routes, context, id);
    const mayBeGuarded = this.#http.callGuard !== undefined && access === 'client';
    return mayBeGuarded ? handle && this.#checkAfterBody(context, route, handle) : handle;
  }

  /** Repeats the access check when the body is complete, because a reload can add a guard of tool calls. */
  #checkAfterBody(context: ExchangeContext, route: Route, handle: BodyHandler): BodyHandler {
    return (request, body, reply) => {
      if (!this.#isRefused(context, request.method, route)) handle(request, body, reply);
    };
  }

  /** If the sender lacks the access or the role, refuses the request and returns true. */
  #isRefused(context: ExchangeContext, method: string, { access, role }: Route): boolean {
    const { principal } = context;
    const refusal =
      refusalOf(principal, accessOf(method, access), this.#http.callGuard?.()) ??
      roleRefusal(principal, requiredRole(method, role));
    if (refusal === undefined) return false;
    refuse(context, refusal);
    return true;
  }
}

/** False for a call, which is answered even if the access key of the sender is revoked. */
function mayStream({ access }: Route, { request: { method } }: ExchangeContext): boolean {
  return access !== 'client' || method === 'GET';
}

/** Returns true for requests that the gateway itself executes, except reads. */
function isOperation({ hasMessages }: Route, method: string): boolean {
  return hasMessages !== true && method !== 'GET' && method !== 'HEAD';
}
