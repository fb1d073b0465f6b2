// The agents that were loaded: who answers for each, the trigger that it has by itself, and the tools of those with a model. All of it
// changes with a reload, between two events.

import type { Agent } from '../../config/resources/agents/agent.ts';
import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import type { Target } from '../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../config/resources/triggers/trigger.ts';
import { AgentToolBoxes, type ToolsHost } from '../agents/agent-tool-boxes.ts';
import type { ModelAgentServices } from '../agents/model-agent.ts';
import type { ToolBoxes } from '../agents/tool-box.ts';
import { type Handler, HandlerError } from '../handlers/handler.ts';
import { LateHandler } from '../handlers/late-handler.ts';
import { installationFault } from '../installation-fault.ts';
import type { Log } from '../log.ts';
import { Handlers } from './conversations/handlers.ts';
import { AgentTriggers } from './triggers/agent-triggers.ts';

/** What agents with a model need besides their tools; asked when the first of them is. */
export type LoadModelServices = (log: Log) => Promise<Omit<ModelAgentServices, 'toolBoxes' | 'log'>>;

/** The gateway, as far as agents need it. */
type AgentsHost = ToolsHost & { readonly log: Log };

export class AgentRegistry {
  readonly #modelServices: LoadModelServices;
  readonly #handlers = new Handlers(
    (runtime, file) => new LateHandler(() => this.#modelAgent(runtime, file)),
  );
  readonly #triggers = new AgentTriggers();
  #host: AgentsHost | undefined;
  #toolBoxes: AgentToolBoxes | undefined;

  constructor(modelServices: LoadModelServices) {
    this.#modelServices = modelServices;
  }

  /** To be called once, before the first are there. */
  boot(host: AgentsHost): void {
    this.#host = host;
    this.#toolBoxes = new AgentToolBoxes(host);
  }

  use(agents: readonly Agent[]): void {
    this.#handlers.use(agents);
    this.#toolBoxes?.servers.want(withModel(agents));
    this.#triggers.use(agents);
  }

  /** No server of an agent is started any more. */
  close(): void {
    this.#toolBoxes?.servers.close();
  }

  /** In the order of their files. */
  get all(): readonly Agent[] {
    return this.#handlers.agents;
  }

  /** Undefined for one that is not there, or has nobody to answer for it. */
  handlerOf(target: Target): Handler | undefined {
    return this.#handlers.of(target);
  }

  /** The trigger that an agent has by itself. */
  triggerOf(agent: string): ManualTrigger | undefined {
    return this.#triggers.of(agent);
  }

  /** One of these by its name. */
  trigger(name: string): ManualTrigger | undefined {
    return this.#triggers.get(name);
  }

  get longestTimeoutMs(): number {
    return this.#triggers.longestTimeoutMs;
  }

  /** The tools of agents with a model. */
  get toolBoxes(): ToolBoxes {
    if (this.#toolBoxes === undefined) throw new Error('the tools of agents are there from the boot on');
    return this.#toolBoxes;
  }

  async #modelAgent(runtime: ModelRuntime, file: string): Promise<Handler> {
    if (this.#host === undefined) throw new Error('agents are asked from the boot on');
    const { log } = this.#host;
    try {
      const [{ ModelAgent }, services] = await Promise.all([
        import('../agents/model-agent.ts'),
        this.#modelServices(log),
      ]);
      return new ModelAgent(runtime, file, { ...services, toolBoxes: this.toolBoxes, log });
    } catch (error) {
      throw new HandlerError(`what runs agents with a model ${installationFault(error)}`, {
        isFinal: false,
        cause: error,
      });
    }
  }
}

/** Those that the gateway runs itself, with the servers that they bring along. */
function withModel(agents: readonly Agent[]) {
  return agents.flatMap(({ name, runtime }) =>
    runtime.kind === 'model' ? { name, servers: runtime.servers } : [],
  );
}
