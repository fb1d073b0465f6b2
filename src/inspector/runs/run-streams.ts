// Serves GET /inspector/runs/ID/feed. The first stream imports the viewer: a gateway without triggers never loads it.
//
// RSM1  at most MAX_VIEWERS streams are open, so that a page which opens streams in a loop cannot exhaust the listener (A8).

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { streamHeaders } from '../answer-headers.ts';
import type { RunViewer } from './run-viewer.ts';

const NO_AGENTS = 'this gateway has no agents, so no runs; spec.agents in its file names a folder of them';
const MAX_VIEWERS = 64;

export class RunStreams {
  readonly #gateway: Pick<Gateway, 'redactor' | 'life'>;
  readonly #automation: RunningAutomation | undefined;
  readonly #viewers = new Set<RunViewer>();

  /** `automation` is undefined without triggers. */
  constructor(gateway: Pick<Gateway, 'redactor' | 'life'>, automation: RunningAutomation | undefined) {
    this.#gateway = gateway;
    this.#automation = automation;
  }

  /** Opens the stream, or responds with the error. */
  async open(context: ExchangeContext, id: string): Promise<void> {
    let leave: (() => void) | undefined;
    let isGone = false;
    const begin = (): HttpStream => {
      context.reply.onAbort(() => {
        isGone = true;
        leave?.();
      });
      return context.reply.stream(200, context.headers(streamHeaders));
    };
    try {
      // An open stream delays the shutdown.
      if (this.#gateway.life.isEnding) context.refuseWhileDraining();
      else if (this.#automation === undefined) context.error(404, NO_AGENTS);
      else leave = await this.watch(this.#automation, id, begin);
      if (isGone) leave?.();
    } catch (error) {
      context.fail(error, (text) => this.#gateway.redactor.redact(text));
    }
  }

  /** Returns a function that ends the stream. Rejects with NotFoundError or OverloadedError before it calls `begin`. */
  async watch(automation: RunningAutomation, id: string, begin: () => HttpStream): Promise<() => void> {
    const { runs, store, feed } = automation;
    const { RunViewer } = await import('./run-viewer.ts');
    await runs.run(id);
    if (this.#viewers.size >= MAX_VIEWERS)
      throw new OverloadedError('too many watch runs already; close one of their pages');
    const { redactor } = this.#gateway;
    const onEnd = () => this.#viewers.delete(viewer);
    const viewer: RunViewer = new RunViewer({ runs, store, feed, redactor, onEnd }, id, begin);
    this.#viewers.add(viewer);
    return () => viewer.close();
  }
}
