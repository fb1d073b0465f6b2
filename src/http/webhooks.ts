// Serves webhook requests, at the gateway's address and at separate addresses of triggers. Imported only if
// the gateway has automation, to save memory in other gateways.

import type { ListenerAddress, OpenListener } from '../../actors/automation/triggers/webhook-listeners.ts';
import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { Webhook } from '../../actors/platforms/webhooks/webhook.ts';
import type { BodyBudget } from './body/body-budget.ts';
import { gracefulCloser } from './graceful-close.ts';
import { listen } from './listener/listen.ts';
import type { BodyHandler, ListenerOptions } from './listener/seam.ts';
import { ExchangeContext } from './mcp/exchange-context.ts';
import { RefusedEvents } from './refused-events.ts';
import { fail, internalErrorReporter } from './routes.ts';
import { handleWebhook } from './webhook-endpoint.ts';

type WebhookGateway = Pick<GatewayRuntime, 'config' | 'log' | 'alarms' | 'redactor'>;

export class Webhooks {
  readonly #gateway: WebhookGateway;
  readonly #unverifiedBodies: BodyBudget;
  readonly #refused: RefusedEvents;

  /** `unverifiedBodies` limits the memory for request bodies of unverified senders. */
  constructor(gateway: WebhookGateway, unverifiedBodies: BodyBudget) {
    this.#gateway = gateway;
    this.#unverifiedBodies = unverifiedBodies;
    this.#refused = new RefusedEvents(gateway.log);
  }

  /** Opens a separate listener that serves only webhooks. Returns its close function. */
  readonly open: OpenListener = async ({ host, port }: ListenerAddress, at) => {
    const { config, log, alarms } = this.#gateway;
    const handler: ListenerOptions['handler'] = (request, reply) => {
      const context = new ExchangeContext(request, reply, alarms);
      const hook = at(request.path);
      if (hook !== undefined) return this.receive(context, hook);
      context.error(404, 'there is no webhook at this path');
      return undefined;
    };
    // `setting` is the field that error messages name if the address cannot be opened.
    const listener = await listen({
      ...{ host, port, handler, maxBodyBytes: config.limits.body_bytes, setting: 'port' },
      onFault: internalErrorReporter(log),
    });
    return gracefulCloser(listener);
  };

  /** Handles a webhook request. Returns undefined if it has already responded. */
  receive(context: ExchangeContext, hook: Webhook): BodyHandler | undefined {
    return handleWebhook(context, hook, this.#unverifiedBodies, this.#fail);
  }

  readonly #fail = (context: ExchangeContext, error: unknown): void => {
    if (!this.#refused.respond(context, error)) fail(this.#gateway, context, error);
  };
}
