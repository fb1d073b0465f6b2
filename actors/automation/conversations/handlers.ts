// The handlers by target. A handler lives as long as its agent is unchanged, so that a reload breaks no connection of
// others.

import type { Agent } from '../../../config/resources/agents/agent.ts';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Handler } from '../../handlers/handler.ts';
import { type MakeModelAgent, makeHandler } from '../../handlers/make-handler.ts';

interface Kept {
  readonly agent: Agent;
  readonly handler: Handler | undefined;
}

export class Handlers {
  readonly #modelAgent: MakeModelAgent | undefined;
  #kept: ReadonlyMap<string, Kept> = new Map();

  constructor(modelAgent?: MakeModelAgent) {
    this.#modelAgent = modelAgent;
  }

  /** Of all agents that were loaded, in the order of their files. */
  get agents(): readonly Agent[] {
    return [...this.#kept.values()].map(({ agent }) => agent);
  }

  /** Undefined for one that is not there, or has nobody to answer for it. */
  of({ kind, name }: Target): Handler | undefined {
    return kind === 'agent' ? this.#kept.get(name)?.handler : undefined;
  }

  use(agents: readonly Agent[]): void {
    const before = this.#kept;
    this.#kept = new Map(
      agents.map((agent) => {
        const kept = before.get(agent.name);
        if (kept?.agent.hash === agent.hash) return [agent.name, kept];
        return [agent.name, { agent, handler: makeHandler(agent, this.#modelAgent) }];
      }),
    );
  }
}
