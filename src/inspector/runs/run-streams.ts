// The streams of runs: GET /inspector/runs/ID/feed. The viewer is loaded with the first of them: a gateway without triggers
// has none of it in memory.
//
// RSM1  at most MAX_VIEWERS pages watch runs at a time: a page that opens streams in a loop must not use up the listener (A8).

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

  /** `automation` where there are triggers. */
  constructor(gateway: Pick<Gateway, 'redactor' | 'life'>, automation: RunningAutomation | undefined) {
    this.#gateway = gateway;
    this.#automation = automation;
  }

  /** Answers a request for the stream of a run. */
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
      // A stream would hold up the end of the gateway.
      if (this.#gateway.life.isEnding) context.refuseWhileDraining();
      else if (this.#automation === undefined) context.error(404, NO_AGENTS);
      else leave = await this.watch(this.#automation, id, begin);
      if (isGone) leave?.();
    } catch (error) {
      context.fail(error, (text) => this.#gateway.redactor.redact(text));
    }
  }

  /** Returns the way to end the stream. Rejects with NotFoundError and OverloadedError, and then `begin` was not called. */
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
