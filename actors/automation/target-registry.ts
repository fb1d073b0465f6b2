// Registry of the targets (agents, fleets and flows): their handlers and built-in triggers, and the tools of
// model agents. A reload replaces all targets between two events. The code for fleets, flows and models is
// loaded at the start (preload-targets.ts), and after a reload with the first run.

import type { Agent } from '../../config/resources/agents/agent.ts';
import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import type { Fleet } from '../../config/resources/fleets/fleet.ts';
import type { Flow } from '../../config/resources/flows/flow.ts';
import { inlineAgents } from '../../config/resources/inline-agents.ts';
import type { Target } from '../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../config/resources/triggers/trigger.ts';
import type { ApprovalTriggers } from '../agents/approvals/approvals.ts';
import type { FleetServices } from '../agents/fleets/handler.ts';
import type { FlowServices } from '../agents/flows/handler.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../agents/handlers/handler.ts';
import type { HandlerContext } from '../agents/handlers/handler-context.ts';
import { makeHandler } from '../agents/handlers/make-handler.ts';
import type { Parked } from '../agents/handlers/parked.ts';
import { type RunSlots, runSlots } from '../agents/handlers/run-slots.ts';
import { AgentToolBoxes } from '../agents/model-agent/agent-tool-boxes.ts';
import type { ModelAgentServices } from '../agents/model-agent/model-agent.ts';
import type { ToolBoxes } from '../agents/model-agent/tool-box.ts';
import type { LoadableModels } from '../agents/models/model.ts';
import { describeLoadError } from '../base/errors/load-error.ts';
import type { Log } from '../base/errors/log.ts';
import type { GatewayRuntime } from '../gateway/gateway.ts';
import type { Adapters } from '../platforms/adapters.ts';
import { Handlers, type LoadedTargets } from './conversations/handlers.ts';
import { BuiltInTriggers } from './triggers/built-in-triggers.ts';
import type { TriggerRegistry } from './triggers/registry.ts';

/** Returns the trigger lookup for approvals. By name it also finds the built-in triggers of targets. */
export function approvalTriggers(
  adapters: Pick<Adapters, 'ofPlatform'>,
  triggers: Pick<TriggerRegistry, 'all' | 'get'>,
  targets: Pick<TargetRegistry, 'builtInTrigger'>,
): ApprovalTriggers {
  return {
    adapterOf: (platform) => adapters.ofPlatform(platform),
    trigger: (name) => {
      const trigger = triggers.get(name) ?? targets.builtInTrigger(name);
      return trigger?.enabled === true ? trigger : undefined;
    },
    triggers: () => triggers.all().filter(({ enabled }) => enabled),
  };
}

/** Handler that is created with the first run: gateways without such agents never load its code. */
export class LazyHandler implements Handler {
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
      // The next call retries.
      this.#loading = undefined;
      throw error;
    }
    return handler.run(job, context);
  }
}

/** Loads the services for model agents, except their tools. */
export type LoadModelServices = (
  log: Log,
) => Promise<Pick<ModelAgentServices, 'readDefinition'> & { readonly models: LoadableModels }>;

/** Parsers for the definitions of earlier runs. Each rejects with ConfigError. */
export interface StoredDefinitions {
  readonly fleet: FleetServices['readDefinition'];
  readonly flow: FlowServices['readDefinition'];
}

export interface TargetRegistryOptions {
  readonly modelServices: LoadModelServices;
  readonly definitions: StoredDefinitions;
}

/** Parts of the gateway that agents use. */
type AgentsHost = Pick<GatewayRuntime, 'config' | 'log' | 'life' | 'mcp'>;

export class TargetRegistry {
  readonly #options: TargetRegistryOptions;
  readonly #handlers: Handlers;
  readonly #triggers = new BuiltInTriggers();
  /** Handlers of inline agents and fleets. */
  readonly #inline = new WeakMap<Agent | Fleet, Handler>();
  readonly #log: Log;
  readonly #toolBoxes: AgentToolBoxes;
  #hasSeveralProviders = false;
  /** Slots for the steps of all runs. */
  readonly slots: RunSlots;

  constructor(options: TargetRegistryOptions, { config, log, life, mcp }: AgentsHost) {
    this.#options = options;
    this.#log = log;
    this.slots = runSlots(config.limits, () => this.#hasSeveralProviders);
    const { clients, agentServers } = mcp;
    this.#toolBoxes = new AgentToolBoxes({ life, inProcess: clients.inProcess, agentServers });
    this.#handlers = new Handlers({
      agent: (agent) => this.#agent(agent),
      fleet: (fleet) => new LazyHandler(() => this.#fleet(fleet)),
      flow: (flow) => new LazyHandler(() => this.#flow(flow)),
    });
  }

  use(loaded: LoadedTargets): void {
    this.#handlers.use(loaded);
    const agents = [...loaded.agents, ...inlineAgents(loaded)];
    this.#toolBoxes.servers.setLoaded(withModel(agents));
    this.#hasSeveralProviders = new Set(agents.flatMap(providerOf)).size > 1;
    this.#triggers.use(loaded);
  }

  /** Prevents new starts of agents' servers. */
  close(): void {
    this.#toolBoxes.servers.close();
  }

  /** Targets by kind, in the order of the files. */
  get loaded(): LoadedTargets {
    return this.#handlers.loaded;
  }

  /** Returns undefined if the target is unknown or has no handler. */
  handlerOf(target: Target): Handler | undefined {
    return this.#handlers.of(target);
  }

  /** Returns a target's built-in trigger. */
  builtInTriggerOf(target: Target): ManualTrigger | undefined {
    return this.#triggers.of(target);
  }

  /** Returns a built-in trigger by name. */
  builtInTrigger(name: string): ManualTrigger | undefined {
    return this.#triggers.get(name);
  }

  get longestTimeoutMs(): number {
    return this.#triggers.longestTimeoutMs;
  }

  /** Tools of model agents. */
  get toolBoxes(): ToolBoxes {
    return this.#toolBoxes;
  }

  #agent(agent: Agent): Handler | undefined {
    return makeHandler(agent, (runtime, file) => new LazyHandler(() => this.#modelAgent(runtime, file)));
  }

  /** Accepts a name or an inline agent. */
  #agentOf(agent: string | Agent): Handler | undefined {
    if (typeof agent === 'string') return this.#handlers.of({ kind: 'agent', name: agent });
    return this.#inlineHandler(agent, () => this.#agent(agent));
  }

  #fleetOf(fleet: string | Fleet): Handler | undefined {
    if (typeof fleet === 'string') return this.#handlers.of({ kind: 'fleet', name: fleet });
    return this.#inlineHandler(fleet, () => new LazyHandler(() => this.#fleet(fleet)));
  }

  #inlineHandler(inline: Agent | Fleet, make: () => Handler | undefined): Handler | undefined {
    const handler = this.#inline.get(inline) ?? make();
    if (handler !== undefined) this.#inline.set(inline, handler);
    return handler;
  }

  async #modelAgent(runtime: ModelRuntime, file: string): Promise<Handler> {
    const log = this.#log;
    const [{ ModelAgent }, services] = await loadCode('agents with a model', () =>
      Promise.all([import('../agents/model-agent/model-agent.ts'), this.#options.modelServices(log)]),
    );
    return new ModelAgent(runtime, file, { ...services, toolBoxes: this.toolBoxes, log, slots: this.slots });
  }

  async #fleet(fleet: Fleet): Promise<Handler> {
    const { FleetHandler } = await loadCode('fleets', () => import('../agents/fleets/handler.ts'));
    return new FleetHandler(fleet, {
      handlerOf: ({ agent }) => this.#agentOf(agent),
      readDefinition: this.#options.definitions.fleet,
    });
  }

  async #flow(flow: Flow): Promise<Handler> {
    const { FlowHandler } = await loadCode('flows', () => import('../agents/flows/handler.ts'));
    return new FlowHandler(flow, {
      handlerOf: (work) => (work.type === 'Agent' ? this.#agentOf(work.agent) : this.#fleetOf(work.fleet)),
      readDefinition: this.#options.definitions.flow,
      slots: this.slots,
    });
  }
}

async function loadCode<T>(label: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new HandlerError(`cannot load the code for ${label}: it ${describeLoadError(error)}`, {
      isFinal: false,
      cause: error,
    });
  }
}

/** Returns the model agents with their own servers. */
function withModel(agents: readonly Agent[]) {
  return agents.flatMap(({ name, runtime }) =>
    runtime.kind === 'model' ? { name, servers: runtime.servers } : [],
  );
}

/** Returns the provider of an agent's first model, whose slot it uses. */
function providerOf({ runtime }: Agent): readonly string[] {
  return runtime.kind === 'model' ? [runtime.models[0].provider] : [];
}
