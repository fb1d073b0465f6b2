// Tools for agent runs, from the agent's servers and the catalog, called in this process. A tool is visible
// if its server offers it, the server's `tools` allow it, and the agent's `tools` match it. If a server is
// unavailable, listing fails and the attempt is repeated: with fewer tools the run would behave differently.
// Too many tools fail the run, because the agent's author must select fewer. Arguments are not validated
// here: servers validate them with better errors, and an untrusted `pattern` in a schema could block the
// thread.

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
import {
  type AgentTool,
  type AllTools,
  type CallOptions,
  RUN_SERVER,
  type RunTools,
  type ToolBox,
  type ToolBoxAnswer,
  type ToolBoxes,
} from './tool-box.ts';
import { toolPatterns } from './tool-policy.ts';
import { convertResult, MAX_RESULT_BYTES } from './tool-result.ts';

type ToolMembers = Readonly<Record<string, unknown>>;

/** Converts a listed tool; returns undefined if it cannot be called. Server text is untrusted. */
export function convertTool(server: string, tool: Tool): AgentTool | undefined {
  const { name } = tool;
  if (!isCallable(name)) return undefined;
  const { description, title, inputSchema, annotations } = validMembers(tool);
  const schema = isObject(inputSchema) ? inputSchema : {};
  return {
    server,
    tool: name,
    description: [description, title].find((text) => typeof text === 'string') ?? '',
    // `object` is the default of MCP, and model providers require the member.
    inputSchema: { ...schema, type: 'object' },
    hints: hintsIn(isObject(annotations) ? annotations : {}),
  };
}

/** The journal would change a name with an unpaired surrogate, and a call would not reach the tool. */
function isCallable(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.isWellFormed();
}

/**
 * Returns the tool's members after the check that tools for MCP clients must pass, because model providers
 * are as strict as clients.
 */
function validMembers(tool: Tool): ToolMembers {
  // A tool with an invalid schema is offered, but its schema is omitted.
  const json = validJson(tool) ?? validJson({ ...tool, inputSchema: null });
  return json === undefined ? {} : (JSON.parse(json) as ToolMembers);
}

function validJson(tool: Tool): string | undefined {
  const item = readItem(new JsonScanner(Buffer.from(JSON.stringify(tool))), 'tools');
  const forms = item && checkItem('tools', item).forms;
  return forms && itemJson(forms.legacy);
}

/** Returns the hints with the defaults of the protocol: destructive and not idempotent. */
function hintsIn({ readOnlyHint, destructiveHint, idempotentHint }: ToolMembers): ToolHints {
  const isReadOnly = readOnlyHint === true;
  return {
    isReadOnly,
    isDestructive: !isReadOnly && destructiveHint !== false,
    isIdempotent: isReadOnly || idempotentHint === true,
  };
}

function isObject(value: unknown): value is ToolMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Directs calls of RUN_SERVER to `tools`, the tools that a fleet offers to its manager, and all other
 * calls to `box`. `list` returns only the tools of `box`; begun-row.ts adds the fleet's tools.
 */
export function withRunTools(box: ToolBox, tools: RunTools | undefined): AllTools {
  if (tools === undefined) return box;
  return {
    list: (signal, timeoutMs) => box.list(signal, timeoutMs),
    call: (tool, args, options) =>
      tool.server === RUN_SERVER ? tools.call(tool.tool, args, options) : box.call(tool, args, options),
  };
}

/** Limit of providers per request. */
const MAX_TOOLS = 128;
/** Limit of names, descriptions and schemas together. */
const MAX_BYTES = 262_144;
/** Limit of servers that the error names. */
const MAX_NAMED = 10;

type ToolName = Pick<AgentTool, 'server' | 'tool'>;

/**
 * Throws TooManyToolsError, because each tool costs tokens in every model call. Converting 14,000 tools takes
 * a second, so tools are counted before.
 */
export function checkToolCount(agent: string, tools: readonly ToolName[]): void {
  if (tools.length <= MAX_TOOLS) return;
  throw tooManyTools(agent, tools, `${tools.length} tools`, `${MAX_TOOLS} are allowed`);
}

/** Returns the tools, or throws TooManyToolsError. */
export function checkToolSize(agent: string, tools: readonly AgentTool[]): readonly AgentTool[] {
  const bytes = tools.reduce((sum, tool) => sum + sizeOf(tool), 0);
  if (bytes <= MAX_BYTES) return tools;
  const found = `tools with ${bytes} bytes of descriptions and schemas`;
  throw tooManyTools(agent, tools, found, `${MAX_BYTES} are allowed`);
}

function tooManyTools(
  agent: string,
  tools: readonly ToolName[],
  found: string,
  allowed: string,
): TooManyToolsError {
  return new TooManyToolsError(
    `agent ${agent} sees ${found} (${perServer(tools)}), at most ${allowed}; restrict them by \`tools\`, e.g. ` +
      `tools: [${example(tools)}], or by tools.allow of a server`,
  );
}

function sizeOf({ tool, description, inputSchema }: AgentTool): number {
  return (
    Buffer.byteLength(tool) + Buffer.byteLength(description) + Buffer.byteLength(JSON.stringify(inputSchema))
  );
}

function perServer(tools: readonly ToolName[]): string {
  const counts = new Map<string, number>();
  for (const { server } of tools) counts.set(server, (counts.get(server) ?? 0) + 1);
  const parts = [...counts]
    .sort(([, each], [, other]) => other - each)
    .map(([server, count]) => `${server}: ${count}`);
  return [...parts.slice(0, MAX_NAMED), ...(parts.length > MAX_NAMED ? ['…'] : [])].join(', ');
}

function example(tools: readonly ToolName[]): string {
  return tools[0] === undefined
    ? '"read_*"'
    : `${JSON.stringify(`${tools[0].server}/${tools[0].tool}`.slice(0, 80))}, "read_*"`;
}

/** Returns true if the agent sees the tool. */
export type ToolScope = (tool: string) => boolean;

type Patterns = AgentServer['tools'];

/** Loads the pattern matcher that scopes need. */
export function loadToolScopes(servers: readonly AgentServer[], patterns: readonly string[]): Promise<void> {
  return loadToolFilters([...servers.map(({ tools }) => tools), ...patternsByForm(servers, patterns)]);
}

/** Returns the scopes by server name. Without patterns an agent sees all tools allowed by the servers. */
export function toolScopes(
  servers: readonly AgentServer[],
  patterns: readonly string[],
): ReadonlyMap<string, ToolScope> {
  const [bareFilter, serverFilter] = patternsByForm(servers, patterns).map(toolFilter);
  return new Map(
    servers.map(({ name, tools }) => {
      const isAllowed = toolFilter(tools);
      const isNamed: ToolScope = (tool) =>
        patterns.length === 0 || bareFilter?.(tool) === true || serverFilter?.(`${name}/${tool}`) === true;
      return [name, (tool: string) => isAllowed(tool) && isNamed(tool)];
    }),
  );
}

/** Returns two filters: one for tool names, one for `SERVER/TOOL`. */
function patternsByForm(servers: readonly AgentServer[], patterns: readonly string[]): Patterns[] {
  const { bare, qualified } = toolPatterns(
    patterns,
    servers.map(({ name }) => name),
  );
  return [
    { allow: bare, deny: [] },
    { allow: qualified, deny: [] },
  ];
}

export interface ToolsHost extends AgentServersHost {
  readonly inProcess: InProcessClient;
}

interface ListedTool extends ToolName {
  /** The tool as listed by its server. */
  readonly item: Tool;
}

interface Services {
  readonly servers: AgentServers;
  readonly client: InProcessClient;
}

/** Limit per list request, including the start of the server. */
const LIST_MS = 120_000;

export class AgentToolBoxes implements ToolBoxes {
  /** Servers of agent files. */
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

  /** Name in the audit. */
  get #sender(): string {
    return `agent:${this.#agent}`;
  }

  async list(signal: AbortSignal, timeoutMs: number): Promise<readonly AgentTool[]> {
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    // One listener per server.
    setMaxListeners(0, either);
    try {
      const lists = await Promise.all(this.#servers.map((server) => this.#listOf(server, either, timeoutMs)));
      const found = lists.flat();
      checkToolCount(this.#agent, found);
      return checkToolSize(
        this.#agent,
        found.flatMap(({ server, item }) => convertTool(server, item) ?? []),
      );
    } finally {
      // Stops the remaining requests if one fails.
      failed.abort();
    }
  }

  async call(
    { server: name, tool }: Pick<AgentTool, 'server' | 'tool'>,
    args: Readonly<Record<string, unknown>>,
    { key, signal, timeoutMs, trace, onProgress }: CallOptions,
  ): Promise<ToolBoxAnswer> {
    const from = this.#servers.find((each) => each.name === name);
    if (from === undefined || !(await this.#scopeOf(from))(tool))
      throw new UnsentError(
        new NotFoundError(
          `agent ${this.#agent} has no tool ${JSON.stringify(`${name}/${tool}`.slice(0, 200))}`,
        ),
      );
    const server = await this.#reach(from);
    const maxResultBytes = MAX_RESULT_BYTES;
    const sender = this.#sender;
    const options = { server, key, signal, timeoutMs, trace, onProgress, maxResultBytes, sender };
    return convertResult(await this.#services.client.callTool(tool, args, options));
  }

  release(): void {
    this.#isReleased = true;
    for (const lease of this.#leases.values()) lease.release();
    this.#leases.clear();
  }

  /** Returns the listed tools in scope by name. */
  async #listOf(from: AgentServer, signal: AbortSignal, remainingMs: number): Promise<ListedTool[]> {
    const isInScope = await this.#scopeOf(from);
    const server = await this.#reach(from);
    const timeoutMs = Math.min(LIST_MS, remainingMs);
    const sender = this.#sender;
    const items = await this.#services.client.listTools({ server, signal, timeoutMs, sender });
    const tools = new Map<string, ListedTool>();
    for (const item of items) {
      const { name } = item;
      if (isCallable(name) && !tools.has(name) && isInScope(name))
        tools.set(name, { server: from.name, tool: name, item });
    }
    return [...tools.values()];
  }

  async #scopeOf(from: AgentServer): Promise<ToolScope> {
    this.#scopes ??= loadToolScopes(this.#servers, this.#patterns).then(() =>
      toolScopes(this.#servers, this.#patterns),
    );
    return (await this.#scopes).get(from.name) ?? (() => false);
  }

  /** Returns a catalog server's id, or the agent's leased server. */
  async #reach({ name, entry }: AgentServer): Promise<string | ManagedServer> {
    if (this.#isReleased)
      throw new UnsentError(new StoppedError(`the run of agent ${this.#agent} has ended`));
    if (entry === undefined) return name;
    const lease = this.#leases.get(name) ?? this.#services.servers.lease(this.#agent, name, entry);
    this.#leases.set(name, lease);
    return lease.server();
  }
}
