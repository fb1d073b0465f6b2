// A handler whose code is loaded when it is asked for the first time: who has no agent of that kind never has the code for it.

import type { AgentReply, Handler, Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

export class LateHandler implements Handler {
  readonly #load: () => Promise<Handler>;
  #loading: Promise<Handler> | undefined;

  constructor(load: () => Promise<Handler>) {
    this.#load = load;
  }

  async run(job: Job, context: HandlerContext): Promise<AgentReply | Parked> {
    this.#loading ??= this.#load();
    let handler: Handler;
    try {
      handler = await this.#loading;
    } catch (error) {
      // The next one tries again.
      this.#loading = undefined;
      throw error;
    }
    return handler.run(job, context);
  }
}
