// The tools of an agent's run, at the servers of its own and at those of the catalog, called in this process.
//
// TB1  an agent sees, and can call, what its servers offer, their `tools` let through, and its own `tools` name; nothing else,
//      whatever a model or a server says.
// TB2  while one of its servers cannot be asked, none of its tools are listed: a run with fewer tools would do something else
//      than the same run a minute later. Its attempt fails, and is tried again.
//
// Arguments are not checked against the schema of their tool here: a server has to do that anyway, and its complaint tells a
// model more. A schema is what a stranger has written: its `pattern` could make a check take minutes of the thread that serves
// everybody (A6).

import { setMaxListeners } from 'node:events';
import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import { NotFoundError, StoppedError, UnsentError } from '../../base/errors/errors.ts';
import type { InProcessClient } from '../../mcp/clients/in-process-client.ts';
import type { ManagedServer } from '../../mcp/servers/managed-server.ts';
import { AgentServers, type AgentServersHost, type ServerLease } from './agent-servers.ts';
import { boundedTools } from './bounded-tools.ts';
import { foundTool } from './found-tool.ts';
import { toolAnswer } from './tool-answer.ts';
import type { CallOptions, FoundTool, ToolAnswer, ToolBox, ToolBoxes } from './tool-box.ts';
import { loadToolScopes, type ToolScope, toolScopes } from './tool-scope.ts';

export interface ToolsHost extends AgentServersHost {
  readonly inProcess: InProcessClient;
}

interface Services {
  readonly servers: AgentServers;
  readonly client: InProcessClient;
}

/** For a server that has to be started first. */
const LIST_MS = 120_000;

export class AgentToolBoxes implements ToolBoxes {
  /** Of agents' own. */
  readonly servers: AgentServers;
  readonly #client: InProcessClient;

  constructor(host: ToolsHost) {
    this.servers = new AgentServers(host);
    this.#client = host.inProcess;
  }

  open(agent: string, servers: readonly AgentServer[], patterns: readonly string[]): ToolBox {
    const services = { servers: this.servers, client: this.#client };
    return new AgentToolBox(services, agent, servers, patterns);
  }
}

class AgentToolBox implements ToolBox {
  readonly #services: Services;
  readonly #agent: string;
  readonly #servers: readonly AgentServer[];
  readonly #patterns: readonly string[];
  readonly #leases = new Map<string, ServerLease>();
  #scopes: Promise<ReadonlyMap<string, ToolScope>> | undefined;
  #isReleased = false;

  constructor(
    services: Services,
    agent: string,
    servers: readonly AgentServer[],
    patterns: readonly string[],
  ) {
    this.#services = services;
    this.#agent = agent;
    this.#servers = servers;
    this.#patterns = patterns;
  }

  async list(signal: AbortSignal, timeoutMs: number): Promise<readonly FoundTool[]> {
    const giveUp = new AbortController();
    const either = AbortSignal.any([signal, giveUp.signal]);
    // One request for each server.
    setMaxListeners(0, either);
    try {
      const lists = await Promise.all(this.#servers.map((server) => this.#listOf(server, either, timeoutMs)));
      return boundedTools(this.#agent, lists.flat());
    } finally {
      // One has failed: the others are not waited for.
      giveUp.abort();
    }
  }

  async call(
    { server: name, tool }: Pick<FoundTool, 'server' | 'tool'>,
    args: Readonly<Record<string, unknown>>,
    { key, signal, timeoutMs, trace, onProgress }: CallOptions,
  ): Promise<ToolAnswer> {
    const from = this.#servers.find((one) => one.name === name);
    if (from === undefined || !(await this.#scopeOf(from))(tool))
      throw new UnsentError(
        new NotFoundError(
          `agent ${this.#agent} has no tool ${JSON.stringify(`${name}/${tool}`.slice(0, 200))}`,
        ),
      );
    const server = await this.#reach(from);
    const options = { server, key, signal, timeoutMs, trace, onProgress };
    return toolAnswer(await this.#services.client.callTool(tool, args, options));
  }

  release(): void {
    this.#isReleased = true;
    for (const lease of this.#leases.values()) lease.release();
    this.#leases.clear();
  }

  async #listOf(from: AgentServer, signal: AbortSignal, leftMs: number): Promise<FoundTool[]> {
    const isInScope = await this.#scopeOf(from);
    const server = await this.#reach(from);
    const timeoutMs = Math.min(LIST_MS, leftMs);
    const listed = await this.#services.client.listTools({ server, signal, timeoutMs });
    const tools = new Map<string, FoundTool>();
    for (const item of listed) {
      const tool = foundTool(from.name, item);
      if (tool !== undefined && !tools.has(tool.tool) && isInScope(tool.tool)) tools.set(tool.tool, tool);
    }
    return [...tools.values()];
  }

  async #scopeOf(from: AgentServer): Promise<ToolScope> {
    this.#scopes ??= loadToolScopes(this.#servers, this.#patterns).then(() =>
      toolScopes(this.#servers, this.#patterns),
    );
    return (await this.#scopes).get(from.name) ?? (() => false);
  }

  /** How the client finds it: one of the catalog by its id. */
  async #reach({ name, entry }: AgentServer): Promise<string | ManagedServer> {
    if (this.#isReleased)
      throw new UnsentError(new StoppedError(`the run of agent ${this.#agent} has ended`));
    if (entry === undefined) return name;
    const lease = this.#leases.get(name) ?? this.#services.servers.lease(this.#agent, name, entry);
    this.#leases.set(name, lease);
    return lease.server();
  }
}
