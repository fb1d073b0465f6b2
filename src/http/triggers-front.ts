// Serves the automation (triggers, agents, fleets and flows) over HTTP: webhooks, API routes and statistics.
// Imported only if the gateway has automation, to save memory in other gateways.

import type { RunningAutomation } from '../../actors/automation/running-automation.ts';
import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { Webhook } from '../../actors/platforms/webhooks/webhook.ts';
import { AutomationFigures } from './api/automation-figures.ts';
import { automationRouteOf, handleAutomation } from './api/automation-routes.ts';
import type { BodyHandler } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { type Action, byMethod, fail, type Route } from './routes.ts';
import type { Webhooks } from './webhooks.ts';

export interface TriggersFrontOptions {
  readonly gateway: Pick<GatewayRuntime, 'log' | 'redactor'>;
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

  /** Returns the route for a raw path; undefined unless the path belongs to the automation. */
  routeAt(path: string): Route | undefined {
    const match = automationRouteOf(path);
    if (match === undefined) return undefined;
    const { gateway } = this.#options;
    const action: Action = ({ heartbeat, life, mcp, redactor }, context) => {
      const { operator, runs, approvals, feed } = this.automation;
      const host = { operator, runs, approvals, feed, mcp, redactor, heartbeat, isDraining: life.isEnding };
      return handleAutomation(host, match, context, (error) => fail(gateway, context, error));
    };
    const { method, role } = match.route;
    return {
      role,
      methods: byMethod(method === 'GET' ? { GET: action, HEAD: action } : { [method]: action }),
    };
  }

  /**
   * Starts to handle a webhook request. Returns the handler for its body; undefined if the request was
   * already answered.
   */
  receive(context: ExchangeContext, hook: Webhook): BodyHandler | undefined {
    return this.#options.webhooks.receive(context, hook);
  }

  /**
   * Closes the event streams of runs, which would otherwise stay open. The clients reconnect to the next
   * gateway.
   */
  closeStreams(): void {
    this.automation.feed.close();
  }
}
