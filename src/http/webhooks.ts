// Serves the requests of webhooks, at the address of the gateway and at addresses of their own. Loaded with the automation only,
// so that a gateway without triggers does not have this code in memory.

import type { Address, OpenListener } from '../../actors/automation/triggers/webhook-listeners.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { Webhook } from '../../actors/platforms/webhooks/webhook.ts';
import type { BodyBudget } from './body/body-budget.ts';
import { closing } from './closing.ts';
import { listen } from './listener/listen.ts';
import type { BodyHandler, ListenerOptions } from './listener/seam.ts';
import { ExchangeContext } from './mcp/exchange-context.ts';
import { RefusedEvents } from './refused-events.ts';
import { fail, faultReporter } from './routes.ts';
import { webhook } from './webhook-endpoint.ts';

export class Webhooks {
  readonly #gateway: Pick<Gateway, 'config' | 'log' | 'redactor'>;
  readonly #unproven: BodyBudget;
  readonly #refused: RefusedEvents;

  /** `unproven` is the budget for bodies of senders that are not identified yet. */
  constructor(gateway: Pick<Gateway, 'config' | 'log' | 'redactor'>, unproven: BodyBudget) {
    this.#gateway = gateway;
    this.#unproven = unproven;
    this.#refused = new RefusedEvents(gateway.log);
  }

  /** Opens a listener for webhooks alone. */
  readonly open: OpenListener = async ({ host, port }: Address, at) => {
    const { config, log } = this.#gateway;
    const handler: ListenerOptions['handler'] = (request, reply) => {
      const context = new ExchangeContext(request, reply);
      const hook = at(request.path);
      if (hook !== undefined) return this.receive(context, hook);
      context.error(404, 'there is no webhook at this path');
      return undefined;
    };
    const listener = await listen({
      ...{ host, port, handler, maxBodyBytes: config.limits.body_bytes, setting: 'port' },
      onFault: faultReporter(log),
    });
    return closing(listener);
  };

  /** Handles a request to a webhook; undefined when it has been answered. */
  receive(context: ExchangeContext, hook: Webhook): BodyHandler | undefined {
    return webhook(context, hook, this.#unproven, this.#fail);
  }

  readonly #fail = (context: ExchangeContext, error: unknown): void => {
    if (!this.#refused.answer(context, error)) fail(this.#gateway, context, error);
  };
}
