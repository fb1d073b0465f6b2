// The trigger that each agent has by itself, so that it can be asked without one of a file: through the API and from the terminal.
// It is none of those that are listed, paused or changed.
//
// AGT1  its name, `agent/NAME`, is none that a file can have.

import type { Agent } from '../../../config/resources/agents/agent.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { ManualTrigger, TriggerRetry } from '../../../config/resources/triggers/trigger.ts';

const PREFIX = 'agent/';
/** A script may take its time. */
const SCRIPT_SECONDS = 300;
/** So that the agent's own limit is over first, and says so. */
const MARGIN_SECONDS = 15;

/** Somebody waits for it: a moment, and not minutes. */
const RETRY: TriggerRetry = { attempts: 4, min_backoff_seconds: 1, max_backoff_seconds: 30, factor: 4 };

export class AgentTriggers {
  #byName: ReadonlyMap<string, ManualTrigger> = new Map();

  use(agents: readonly Agent[]): void {
    const before = this.#byName;
    this.#byName = new Map(
      agents.map((agent) => {
        const name = PREFIX + agent.name;
        const known = before.get(name);
        return [name, known?.hash === agent.hash ? known : triggerOf(name, agent)];
      }),
    );
  }

  /** By the name of the trigger. */
  get(name: string): ManualTrigger | undefined {
    return this.#byName.get(name);
  }

  of(agent: string): ManualTrigger | undefined {
    return this.#byName.get(PREFIX + agent);
  }

  /** What the most patient of them gives its handler. */
  get longestTimeoutMs(): number {
    return Math.max(0, ...[...this.#byName.values()].map((trigger) => trigger.timeout_seconds * 1000));
  }
}

function triggerOf(name: string, agent: Agent): ManualTrigger {
  return {
    name,
    type: 'Manual',
    config: { require_confirmation: false, allowed_commands: [], timeout: undefined },
    commands: [],
    default_target: agentTarget(agent.name),
    enabled: true,
    labels: {},
    annotations: {},
    retry: RETRY,
    timeout_seconds: secondsOf(agent),
    on_failure: 'silent',
    mentions: 'none',
    file: agent.file,
    hash: agent.hash,
  };
}

function secondsOf({ runtime }: Agent): number {
  return runtime.kind === 'scripted' ? SCRIPT_SECONDS : runtime.timeout_seconds + MARGIN_SECONDS;
}
