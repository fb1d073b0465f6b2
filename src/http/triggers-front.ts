// What the front serves for triggers: webhooks, the routes of triggers and deliveries, their figures. Loaded with the automation
// only, so that a gateway without triggers does not have this code in memory.

import type { Automation } from '../../actors/automation/automation.ts';
import type { Webhook } from '../../actors/platforms/webhooks/webhook.ts';
import { AutomationFigures } from './api/automation-figures.ts';
import { answerAutomation, automationRouteOf, type FoundRoute } from './api/automation-routes.ts';
import type { Front } from './front.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { RefusedEvents } from './refused-events.ts';
import { webhook } from './webhook-endpoint.ts';

export class TriggersFront {
  readonly automation: Automation;
  readonly figures: AutomationFigures;
  readonly #front: Pick<Front, 'gateway' | 'unproven' | 'heartbeat' | 'fail'>;
  readonly #refused = new RefusedEvents(() => this.#front.gateway.log);

  constructor(automation: Automation, front: Pick<Front, 'gateway' | 'unproven' | 'heartbeat' | 'fail'>) {
    this.automation = automation;
    this.figures = new AutomationFigures(automation);
    this.#front = front;
  }

  /** The disk of the store is full: tools work, triggers do not. */
  get hasNoRoom(): boolean {
    return this.#front.gateway.store.hasNoRoom;
  }

  /** The route of a raw path; undefined when it is none of triggers. */
  routeAt(path: string): FoundRoute | undefined {
    return automationRouteOf(path);
  }

  /** The second step of a request to a route of triggers; undefined when it has been answered. */
  answer(context: ExchangeContext, found: FoundRoute): BodyHandler | undefined {
    const { operator, runs, approvals } = this.automation;
    const { heartbeat, gateway } = this.#front;
    const host = { operator, runs, approvals, heartbeat, isDraining: gateway.isDraining };
    return answerAutomation(host, context, found, this.#front.fail);
  }

  /** Ends the streams of runs, which would never end by themselves; who reads them comes back to the next gateway. */
  closeStreams(): void {
    this.automation.feed.close();
  }

  /** The same for a request to a webhook. */
  receive(context: ExchangeContext, hook: Webhook): BodyHandler | undefined {
    return webhook(context, hook, this.#front.unproven, this.#failHook);
  }

  readonly #failHook = (context: ExchangeContext, error: unknown): void => {
    if (!this.#refused.answer(context, error)) this.#front.fail(context, error);
  };
}
