// Serves GET /inspector/runs/ID/feed. The first stream imports the viewer: a gateway without triggers never
// loads it.

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import { HolderBudget } from '../../../actors/base/bounds/holder-budget.ts';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import { type Principal, principalText } from '../../../actors/identity/principal.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { streamHeaders } from '../response-headers.ts';

const NO_AGENTS =
  'this gateway has no agents, so there are no runs; set spec.agents.directory in the gateway file';

/**
 * Maximum number of open streams (A8, ARCHITECTURE.md). One principal can use 64, so watching programs leave
 * slots for the operator.
 */
export const STREAM_SLOTS = 128;

export class RunStreams {
  readonly #gateway: Pick<GatewayRuntime, 'redactor' | 'life'>;
  readonly #automation: RunningAutomation | undefined;
  readonly #slots = new HolderBudget(STREAM_SLOTS);

  /** `automation` is undefined without triggers. */
  constructor(gateway: Pick<GatewayRuntime, 'redactor' | 'life'>, automation: RunningAutomation | undefined) {
    this.#gateway = gateway;
    this.#automation = automation;
  }

  /** Opens the stream, or responds with the error. */
  async open(context: ExchangeContext, id: string): Promise<void> {
    let close: (() => void) | undefined;
    let isAborted = false;
    const openStream = (): HttpStream => {
      context.reply.onAbort(() => {
        isAborted = true;
        close?.();
      });
      return context.reply.stream(200, context.headers(streamHeaders));
    };
    try {
      // An open stream delays the shutdown.
      if (this.#gateway.life.isEnding) context.refuseWhileDraining();
      else if (this.#automation === undefined) context.error(404, NO_AGENTS);
      else close = await this.watch(this.#automation, id, context.principal, openStream);
      if (isAborted) close?.();
    } catch (error) {
      context.fail(error, (text) => this.#gateway.redactor.redact(text));
    }
  }

  /**
   * Returns a function that closes the viewer. Rejects with NotFoundError or OverloadedError before it calls
   * `openStream`.
   */
  async watch(
    automation: RunningAutomation,
    id: string,
    principal: Principal,
    openStream: () => HttpStream,
  ): Promise<() => void> {
    const { runs, store, feed } = automation;
    const { RunViewer } = await import('./viewer.ts');
    await runs.run(id);
    const release = this.#slots.hold(1, principalText(principal));
    if (release === undefined) throw new OverloadedError('too many viewers of runs; close one of the pages');
    const { redactor } = this.#gateway;
    try {
      const viewer = new RunViewer({ runs, store, feed, redactor, onEnd: release }, id, openStream);
      return () => viewer.close();
    } catch (error) {
      release();
      throw error;
    }
  }
}
