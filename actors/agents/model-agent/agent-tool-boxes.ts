// The tools of an agent's run, at the servers of its own and at those of the catalog, called in this process.
//
// TB1  an agent sees, and can call, what its servers offer, their `tools` let through, and its own `tools` name; nothing else,
//      whatever a model or a server says.
// TB2  while one of its servers cannot be asked, none of its tools are listed: a run with fewer tools would do something else
//      than the same run a minute later. Its attempt fails, and is tried again.
// BDT1 (A8)  too many tools fail the run: the gateway never drops some silently, because the agent's author selects them.
//
// Arguments are not checked against the schema of their tool here: a server has to do that anyway, and its complaint tells a
// model more. A schema is what a stranger has written: its `pattern` could make a check take minutes of the thread that serves
// everybody (A6).

import { setMaxListeners } from 'node:events';
import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import type { ToolHints } from '../../../machines/agent-run/journal.ts';
import { NotFoundError, StoppedError, TooManyToolsError, UnsentError } from '../../base/errors/errors.ts';
import { loadToolFilters, toolFilter } from '../../mcp/clients/aggregate/tool-filter.ts';
import type { InProcessClient } from '../../mcp/clients/in-process-client.ts';
import type { Tool } from '../../mcp/clients/tool-request.ts';
import { JsonScanner } from '../../mcp/jsonrpc/json-scanner.ts';
import { checkItem } from '../../mcp/servers/lists/item-check.ts';
import { itemJson, readItem } from '../../mcp/servers/lists/lists.ts';
import type { ManagedServer } from '../../mcp/servers/managed-server.ts';
import { AgentServers, type AgentServersHost, type ServerLease } from './agent-servers.ts';
import { toolAnswer } from './tool-answer.ts';
import {
  type AllTools,
  type CallOptions,
  type FoundTool,
  OF_RUN,
  type RunTools,
  type ToolAnswer,
  type ToolBox,
  type ToolBoxes,
} from './tool-box.ts';
import { toolPatterns } from './tool-policy.ts';

type Members = Readonly<Record<string, unknown>>;

/** Converts a listed tool; returns undefined if it cannot be called. Server text is untrusted. */
export function foundTool(server: string, tool: Tool): FoundTool | undefined {
  const { name } = tool;
  // The journal replaces halves of surrogate pairs, and the tool is unreachable under the changed name.
  if (typeof name !== 'string' || name === '' || !name.isWellFormed()) return undefined;
  const { description, title, inputSchema, annotations } = validMembers(tool);
  const schema = isObject(inputSchema) ? inputSchema : {};
  return {
    server,
    tool: name,
    description: [description, title].find((text) => typeof text === 'string') ?? '',
    // The default is the same, and model providers require the member.
    inputSchema: { ...schema, type: 'object' },
    hints: hintsIn(isObject(annotations) ? annotations : {}),
  };
}

/** Returns the tool as merged lists contain it, because providers are as strict as MCP clients. */
function validMembers(tool: Tool): Members {
  // A tool with an unusable schema takes any arguments.
  const json = validJson(tool) ?? validJson({ ...tool, inputSchema: null });
  return json === undefined ? {} : (JSON.parse(json) as Members);
}

function validJson(tool: Tool): string | undefined {
  const item = readItem(new JsonScanner(Buffer.from(JSON.stringify(tool))), 'tools');
  const forms = item && checkItem('tools', item).forms;
  return forms && itemJson(forms.legacy);
}

/** Returns the hints with the defaults of the protocol: destructive and not idempotent. */
function hintsIn({ readOnlyHint, destructiveHint, idempotentHint }: Members): ToolHints {
  const isReadOnly = readOnlyHint === true;
  return {
    isReadOnly,
    isDestructive: !isReadOnly && destructiveHint !== false,
    isIdempotent: isReadOnly || idempotentHint === true,
  };
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Adds the tools that a fleet offers to members. */
export function withRunTools(box: ToolBox, tools: RunTools | undefined): AllTools {
  if (tools === undefined) return box;
  return {
    list: (signal, timeoutMs) => box.list(signal, timeoutMs),
    call: (tool, args, options) =>
      tool.server === OF_RUN ? tools.call(tool.tool, args, options) : box.call(tool, args, options),
  };
}

/** Limit of providers per request. */
const MAX_TOOLS = 128;
/** Size of names, descriptions and schemas. */
const MAX_BYTES = 262_144;
const MAX_NAMED = 10;

/** Returns the tools unchanged; each costs tokens in every model call. Throws TooManyToolsError. */
export function boundedTools(agent: string, tools: readonly FoundTool[]): readonly FoundTool[] {
  const bytes = tools.reduce((sum, tool) => sum + sizeOf(tool), 0);
  if (tools.length <= MAX_TOOLS && bytes <= MAX_BYTES) return tools;
  const [what, most] =
    tools.length > MAX_TOOLS
      ? [`${tools.length} tools`, `${MAX_TOOLS} are the most`]
      : [`tools with ${bytes} bytes of descriptions and schemas`, `${MAX_BYTES} are the most`];
  throw new TooManyToolsError(
    `agent ${agent} sees ${what} (${perServer(tools)}), and ${most}; narrow them by \`tools\`, such as ` +
      `tools: [${example(tools)}], or by tools.allow of a server`,
  );
}

function sizeOf({ tool, description, inputSchema }: FoundTool): number {
  return (
    Buffer.byteLength(tool) + Buffer.byteLength(description) + Buffer.byteLength(JSON.stringify(inputSchema))
  );
}

function perServer(tools: readonly FoundTool[]): string {
  const counts = new Map<string, number>();
  for (const { server } of tools) counts.set(server, (counts.get(server) ?? 0) + 1);
  const named = [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([server, count]) => `${server}: ${count}`);
  return [...named.slice(0, MAX_NAMED), ...(named.length > MAX_NAMED ? ['…'] : [])].join(', ');
}

function example(tools: readonly FoundTool[]): string {
  return tools[0] === undefined
    ? '"read_*"'
    : `${JSON.stringify(`${tools[0].server}/${tools[0].tool}`.slice(0, 80))}, "read_*"`;
}

/** Returns true if the agent sees the tool. */
export type ToolScope = (tool: string) => boolean;

type Patterns = AgentServer['tools'];

/** Loads the pattern matcher that scopes need. */
export function loadToolScopes(servers: readonly AgentServer[], patterns: readonly string[]): Promise<void> {
  return loadToolFilters([...servers.map(({ tools }) => tools), ...halves(servers, patterns)]);
}

/** Returns the scopes by server name. Without patterns an agent sees all tools that its servers allow. */
export function toolScopes(
  servers: readonly AgentServer[],
  patterns: readonly string[],
): ReadonlyMap<string, ToolScope> {
  const [named, placed] = halves(servers, patterns).map(toolFilter);
  return new Map(
    servers.map(({ name, tools }) => {
      const isLetThrough = toolFilter(tools);
      const isNamed: ToolScope = (tool) =>
        patterns.length === 0 || named?.(tool) === true || placed?.(`${name}/${tool}`) === true;
      return [name, (tool: string) => isLetThrough(tool) && isNamed(tool)];
    }),
  );
}

/** Patterns by form. */
function halves(servers: readonly AgentServer[], patterns: readonly string[]): Patterns[] {
  const { bare, placed } = toolPatterns(
    patterns,
    servers.map(({ name }) => name),
  );
  return [
    { allow: bare, deny: [] },
    { allow: placed, deny: [] },
  ];
}

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
