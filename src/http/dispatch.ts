// Dispatches the requests of one listener to their routes: identifies the sender, and checks the method and access.
// During the identification, bodies count in the budget for unproven senders (UB1).

import type { Verdict } from '../../actors/identity/principal.ts';
import { whenKnown } from './body/unproven-body.ts';
import type { HttpServices } from './http-services.ts';
import { accessOf, refusalOf, refuse } from './identification.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import type { RouteContext } from './route-context.ts';
import type { Route } from './routes.ts';

export class Dispatch {
  readonly #http: Pick<HttpServices, 'identification' | 'unproven' | 'callGuard'>;
  readonly #routes: RouteContext;

  constructor(http: Pick<HttpServices, 'identification' | 'unproven' | 'callGuard'>, routes: RouteContext) {
    this.#http = http;
    this.#routes = routes;
  }

  /** Calls the action of the route once the sender is identified. */
  identify(route: Route, context: ExchangeContext): BodyHandler | undefined {
    const { request, reply } = context;
    const { identification, unproven } = this.#http;
    const verdict = identification.of(request.headers);
    if (!(verdict instanceof Promise)) return this.identified(verdict, route, context);
    reply.limitBody(unproven);
    return whenKnown(
      request,
      unproven,
      verdict.then((known) => this.identified(known, route, context)),
    );
  }

  /** Calls the action of the route for an identified sender, or refuses the sender. */
  identified(verdict: Verdict, route: Route, context: ExchangeContext): BodyHandler | undefined {
    if ('refused' in verdict) {
      refuse(context, verdict);
      return undefined;
    }
    context.principal = verdict;
    return this.dispatch(route, context);
  }

  /** Checks the access and calls the action of the method. Webhooks and pages check the access themselves. */
  dispatch(route: Route, context: ExchangeContext): BodyHandler | undefined {
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
    const mayBeGuarded = this.#http.callGuard !== undefined && access === 'client';
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
    const refusal = refusalOf(context.principal, access, this.#http.callGuard?.());
    if (refusal === undefined) return false;
    refuse(context, refusal);
    return true;
  }
}
