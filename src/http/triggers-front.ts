// What the front serves for triggers: webhooks, the routes of triggers and deliveries, their figures. Loaded with the automation
// only, so that a gateway without triggers does not have this code in memory.

import type { RunningAutomation } from '../../actors/automation/running-automation.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { Webhook } from '../../actors/platforms/webhooks/webhook.ts';
import { AutomationFigures } from './api/automation-figures.ts';
import { answerAutomation, automationRouteOf, type FoundRoute } from './api/automation-routes.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import type { Heartbeat } from './mcp/heartbeat.ts';
import { fail } from './routes.ts';
import type { Webhooks } from './webhooks.ts';

export interface TriggersFrontOptions {
  readonly gateway: Pick<Gateway, 'log' | 'redactor' | 'life' | 'store'>;
  readonly automation: RunningAutomation;
  readonly webhooks: Webhooks;
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
}

export class TriggersFront {
  readonly automation: RunningAutomation;
  readonly figures: AutomationFigures;
  readonly #options: TriggersFrontOptions;

  constructor(options: TriggersFrontOptions) {
    this.automation = options.automation;
    this.figures = new AutomationFigures(options.automation);
    this.#options = options;
  }

  /** The disk of the store is full: tools work, triggers do not. */
  get hasNoRoom(): boolean {
    return this.#options.gateway.store.hasNoRoom;
  }

  /** The route of a raw path; undefined when it is none of triggers. */
  routeAt(path: string): FoundRoute | undefined {
    return automationRouteOf(path);
  }

  /** The second step of a request to a route of triggers; undefined when it has been answered. */
  answer(context: ExchangeContext, found: FoundRoute): BodyHandler | undefined {
    const { operator, runs, approvals } = this.automation;
    const { heartbeat, gateway } = this.#options;
    const host = { operator, runs, approvals, heartbeat, isDraining: gateway.life.isEnding };
    return answerAutomation(host, context, found, (_, error) => fail(gateway, context, error));
  }

  /** The same for a request to a webhook. */
  receive(context: ExchangeContext, hook: Webhook): BodyHandler | undefined {
    return this.#options.webhooks.receive(context, hook);
  }

  /** Ends the streams of runs, which would never end by themselves; who reads them comes back to the next gateway. */
  closeStreams(): void {
    this.automation.feed.close();
  }
}
