// Serves GET /inspector/runs/ID/feed. The first stream imports the viewer: a gateway without triggers never
// loads it. MAX_VIEWERS limits the streams, so that a page that opens streams in a loop cannot exhaust the
// listener (A8, ARCHITECTURE.md).

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { streamHeaders } from '../response-headers.ts';
import type { RunViewer } from './viewer.ts';

const NO_AGENTS =
  'this gateway has no agents, so there are no runs; set spec.agents.directory in the gateway file';
const MAX_VIEWERS = 64;

export class RunStreams {
  readonly #gateway: Pick<GatewayRuntime, 'redactor' | 'life'>;
  readonly #automation: RunningAutomation | undefined;
  readonly #viewers = new Set<RunViewer>();

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
      else close = await this.watch(this.#automation, id, openStream);
      if (isAborted) close?.();
    } catch (error) {
      context.fail(error, (text) => this.#gateway.redactor.redact(text));
    }
  }

  /**
   * Returns a function that closes the viewer. Rejects with NotFoundError or OverloadedError before it calls
   * `openStream`.
   */
  async watch(automation: RunningAutomation, id: string, openStream: () => HttpStream): Promise<() => void> {
    const { runs, store, feed } = automation;
    const { RunViewer } = await import('./viewer.ts');
    await runs.run(id);
    if (this.#viewers.size >= MAX_VIEWERS)
      throw new OverloadedError('too many viewers of runs; close one of the pages');
    const { redactor } = this.#gateway;
    const onEnd = () => this.#viewers.delete(viewer);
    const viewer: RunViewer = new RunViewer({ runs, store, feed, redactor, onEnd }, id, openStream);
    this.#viewers.add(viewer);
    return () => viewer.close();
  }
}
