// What the front serves for triggers: webhooks, the routes of triggers and deliveries, their figures. Loaded with the automation
// only, so that a gateway without triggers does not have this code in memory.

import type { RunningAutomation } from '../../actors/automation/running-automation.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { Webhook } from '../../actors/platforms/webhooks/webhook.ts';
import { AutomationFigures } from './api/automation-figures.ts';
import { answerAutomation, automationRouteOf } from './api/automation-routes.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { type Action, byMethod, fail, type Route } from './routes.ts';
import type { Webhooks } from './webhooks.ts';

export interface TriggersFrontOptions {
  readonly gateway: Pick<Gateway, 'log' | 'redactor' | 'store'>;
  readonly automation: RunningAutomation;
  readonly webhooks: Webhooks;
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

  /** Returns the row of the route table for a raw path; undefined for paths outside the automation. */
  routeAt(path: string): Route | undefined {
    const found = automationRouteOf(path);
    if (found === undefined) return undefined;
    const { gateway } = this.#options;
    const action: Action = ({ heartbeat, life, mcp, redactor }, context) => {
      const { operator, runs, approvals, feed } = this.automation;
      const host = { operator, runs, approvals, feed, mcp, redactor, heartbeat, isDraining: life.isEnding };
      return answerAutomation(host, found, context, (error) => fail(gateway, context, error));
    };
    const { method } = found.route;
    return { methods: byMethod(method === 'GET' ? { GET: action, HEAD: action } : { [method]: action }) };
  }

  /** Returns the second step of a request to a webhook; undefined if it was answered. */
  receive(context: ExchangeContext, hook: Webhook): BodyHandler | undefined {
    return this.#options.webhooks.receive(context, hook);
  }

  /** Ends the streams of runs, which would never end by themselves; who reads them comes back to the next gateway. */
  closeStreams(): void {
    this.automation.feed.close();
  }
}
