// Who answers: the agents, fleets and flows that were loaded, the trigger that each has by itself, and the tools of agents with a model.
// All of it changes with a reload, between two events. What runs fleets, flows and models is loaded with the first of them that is asked.

import type { Agent } from '../../config/resources/agents/agent.ts';
import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import type { Fleet } from '../../config/resources/fleets/fleet.ts';
import type { Flow } from '../../config/resources/flows/flow.ts';
import { inlineAgents } from '../../config/resources/inline-agents.ts';
import type { Target } from '../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../config/resources/triggers/trigger.ts';
import type { ApprovalPlaces } from '../agents/approvals/approvals.ts';
import type { FleetServices } from '../agents/fleets/fleet-handler.ts';
import type { FlowServices } from '../agents/flows/flow-handler.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../agents/handlers/handler.ts';
import type { HandlerContext } from '../agents/handlers/handler-context.ts';
import { makeHandler } from '../agents/handlers/make-handler.ts';
import type { Parked } from '../agents/handlers/parked.ts';
import { AgentToolBoxes, type ToolsHost } from '../agents/model-agent/agent-tool-boxes.ts';
import type { ModelAgentServices } from '../agents/model-agent/model-agent.ts';
import type { ToolBoxes } from '../agents/model-agent/tool-box.ts';
import { installationFault } from '../base/errors/installation-fault.ts';
import type { Log } from '../base/errors/log.ts';
import type { Adapters } from '../platforms/adapters.ts';
import { type Answering, Handlers } from './conversations/handlers.ts';
import { OwnTriggers } from './triggers/own-triggers.ts';
import type { TriggerRegistry } from './triggers/trigger-registry.ts';

/** Returns the approval places: enabled triggers, and the built-in triggers for agents, fleets and flows. */
export function approvalPlaces(
  adapters: Pick<Adapters, 'ofPlatform'>,
  triggers: Pick<TriggerRegistry, 'all' | 'get'>,
  targets: Pick<TargetRegistry, 'trigger'>,
): ApprovalPlaces {
  return {
    adapterOf: (platform) => adapters.ofPlatform(platform),
    trigger: (name) => {
      const trigger = triggers.get(name) ?? targets.trigger(name);
      return trigger?.enabled === true ? trigger : undefined;
    },
    triggers: () => triggers.all().filter(({ enabled }) => enabled),
  };
}

/** Loads the handler's code with the first run: gateways without such agents never load it. */
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
      // The next call loads again.
      this.#loading = undefined;
      throw error;
    }
    return handler.run(job, context);
  }
}

/** What agents with a model need besides their tools; asked when the first of them is. */
export type LoadModelServices = (log: Log) => Promise<Omit<ModelAgentServices, 'toolBoxes' | 'log'>>;

/** Definitions that runs have begun with, as they are read today. Each rejects with ConfigError. */
export interface KeptDefinitions {
  readonly fleet: FleetServices['readDefinition'];
  readonly flow: FlowServices['readDefinition'];
}

export interface TargetRegistryOptions {
  readonly modelServices: LoadModelServices;
  readonly definitions: KeptDefinitions;
}

/** The gateway, as far as agents need it. */
type AgentsHost = ToolsHost & { readonly log: Log };

export class TargetRegistry {
  readonly #options: TargetRegistryOptions;
  readonly #handlers: Handlers;
  readonly #triggers = new OwnTriggers();
  /** Of agents and fleets that are written in what asks them. */
  readonly #inline = new WeakMap<Agent | Fleet, Handler>();
  readonly #log: Log;
  readonly #toolBoxes: AgentToolBoxes;

  constructor(options: TargetRegistryOptions, host: AgentsHost) {
    this.#options = options;
    this.#log = host.log;
    this.#toolBoxes = new AgentToolBoxes(host);
    this.#handlers = new Handlers({
      agent: (agent) => this.#agent(agent),
      fleet: (fleet) => new LateHandler(() => this.#fleet(fleet)),
      flow: (flow) => new LateHandler(() => this.#flow(flow)),
    });
  }

  use(loaded: Answering): void {
    this.#handlers.use(loaded);
    this.#toolBoxes.servers.want(withModel([...loaded.agents, ...inlineAgents(loaded)]));
    this.#triggers.use(loaded);
  }

  /** No server of an agent is started any more. */
  close(): void {
    this.#toolBoxes.servers.close();
  }

  /** Each kind in the order of its files. */
  get loaded(): Answering {
    return this.#handlers.loaded;
  }

  /** Undefined for one that is not there, or has nobody to answer for it. */
  handlerOf(target: Target): Handler | undefined {
    return this.#handlers.of(target);
  }

  /** The trigger that one of them has by itself. */
  triggerOf(target: Target): ManualTrigger | undefined {
    return this.#triggers.of(target);
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
    return this.#toolBoxes;
  }

  #agent(agent: Agent): Handler | undefined {
    return makeHandler(agent, (runtime, file) => new LateHandler(() => this.#modelAgent(runtime, file)));
  }

  /** By name, or one that is written in what asks it. */
  #agentOf(agent: string | Agent): Handler | undefined {
    if (typeof agent === 'string') return this.#handlers.of({ kind: 'agent', name: agent });
    return this.#kept(agent, () => this.#agent(agent));
  }

  #fleetOf(fleet: string | Fleet): Handler | undefined {
    if (typeof fleet === 'string') return this.#handlers.of({ kind: 'fleet', name: fleet });
    return this.#kept(fleet, () => new LateHandler(() => this.#fleet(fleet)));
  }

  #kept(inline: Agent | Fleet, make: () => Handler | undefined): Handler | undefined {
    const handler = this.#inline.get(inline) ?? make();
    if (handler !== undefined) this.#inline.set(inline, handler);
    return handler;
  }

  async #modelAgent(runtime: ModelRuntime, file: string): Promise<Handler> {
    const log = this.#log;
    const [{ ModelAgent }, services] = await loading('agents with a model', () =>
      Promise.all([import('../agents/model-agent/model-agent.ts'), this.#options.modelServices(log)]),
    );
    return new ModelAgent(runtime, file, { ...services, toolBoxes: this.toolBoxes, log });
  }

  async #fleet(fleet: Fleet): Promise<Handler> {
    const { FleetHandler } = await loading('fleets', () => import('../agents/fleets/fleet-handler.ts'));
    return new FleetHandler(fleet, {
      handlerOf: ({ agent }) => this.#agentOf(agent),
      readDefinition: this.#options.definitions.fleet,
    });
  }

  async #flow(flow: Flow): Promise<Handler> {
    const { FlowHandler } = await loading('flows', () => import('../agents/flows/flow-handler.ts'));
    return new FlowHandler(flow, {
      handlerOf: (work) => (work.type === 'Agent' ? this.#agentOf(work.agent) : this.#fleetOf(work.fleet)),
      readDefinition: this.#options.definitions.flow,
    });
  }
}

async function loading<T>(what: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new HandlerError(`what runs ${what} ${installationFault(error)}`, { isFinal: false, cause: error });
  }
}

/** Those that the gateway runs itself, with the servers that they bring along. */
function withModel(agents: readonly Agent[]) {
  return agents.flatMap(({ name, runtime }) =>
    runtime.kind === 'model' ? { name, servers: runtime.servers } : [],
  );
}
