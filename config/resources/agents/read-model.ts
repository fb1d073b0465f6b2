// Converts an agent's validated `spec` to its model runtime: the settings of an agent that the gateway runs
// with a model and tools. Checks rules that the schema cannot express.

import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import { type AgentSpec, memorySchema } from './agent-schema.ts';
import { readServers } from './agent-servers.ts';
import { definitionOf } from './definition-text.ts';
import { MAX_HISTORY_CHARACTERS, MAX_HISTORY_MESSAGES } from './history-limits.ts';
import type { AgentMemory, AgentServer, ModelName, ModelRuntime } from './model-runtime.ts';
import type { WrittenSpec } from './read-spec.ts';
import { builtInFault, isForeignBuiltIn } from './tool-aliases.ts';

/** Returns the model runtime; undefined if no model is set. `file` is the agent's file. */
export function readModel(
  reader: SchemaReader,
  { spec, output_schema, tree }: WrittenSpec,
  file: string,
): ModelRuntime | undefined {
  const servers = readServers(reader, spec, file);
  checkTools(reader, spec, servers);
  checkServerPatterns(reader, spec);
  checkVariables(reader, spec, servers);
  checkMemory(reader, spec);
  if (!reader.has('spec.model') || tree === undefined) return undefined;
  // Taken apart because these members are optional in the schema, but always present in the runtime.
  const { approval_channel, ...policy } = spec.policy;
  const { tokens, tool_calls, cost } = spec.budget;
  return {
    kind: 'model',
    models: [
      modelName(spec.model ?? UNKNOWN),
      ...spec.fallback.filter((each) => each !== undefined).map(modelName),
    ],
    system_prompt: spec.system_prompt ?? '',
    temperature: spec.temperature,
    max_tokens: spec.max_tokens,
    max_iterations: spec.max_iterations,
    timeout_seconds: spec.timeout_seconds,
    retries: spec.retries,
    servers,
    tools: spec.tools,
    policy: { ...policy, approval_channel },
    interrupted_calls: spec.interrupted_calls,
    memory: memoryOf(spec.memory),
    output_schema,
    budget: { tokens, tool_calls, cost },
    definition: definitionOf(tree),
  };
}

/**
 * Replaces a model with an error, or a model from a variable that will be set later. Its provider and model
 * name are ''.
 */
const UNKNOWN = ':';

/** Splits a model name at the first colon: the part after the provider may contain colons. */
function modelName(text: string): ModelName {
  const colon = text.indexOf(':');
  return { provider: text.slice(0, colon), model: text.slice(colon + 1) };
}

function memoryOf(written: AgentSpec['memory']): AgentMemory {
  const filled = fillDefaults(memorySchema, written === 'none' || written === undefined ? {} : written);
  return written === 'none' ? { ...filled, messages: 0 } : filled;
}

/** Warns of memory limits above the limits of the stored history. */
function checkMemory(reader: SchemaReader, { memory }: AgentSpec): void {
  if (typeof memory !== 'object') return;
  const limits = { messages: MAX_HISTORY_MESSAGES, characters: MAX_HISTORY_CHARACTERS };
  for (const name of ['messages', 'characters'] as const)
    if ((memory[name] ?? 0) > limits[name])
      reader.report(
        `spec.memory.${name}`,
        `is limited to ${limits[name]}, the maximum of stored ${name} per conversation`,
        'warning',
      );
}

/** Reports tools without a server, an empty list of tools, and names of other programs' built-in tools. */
function checkTools(
  reader: SchemaReader,
  { tools, mcp_servers }: AgentSpec,
  servers: readonly AgentServer[],
): void {
  const names = tools.filter((each) => each !== undefined);
  if (mcp_servers.length === 0 && names.length > 0 && !reader.isFaulty('spec.mcp_servers')) {
    reader.report('spec.tools', builtInFault(names));
    return;
  }
  if (tools.length === 0 && mcp_servers.length > 0 && reader.has('spec.tools'))
    reader.report(
      'spec.tools',
      'is empty: remove it to allow all tools, or remove the servers to allow none',
    );
  for (const [index, name] of tools.entries())
    if (name !== undefined && isForeignBuiltIn(name)) {
      const [server] = servers;
      const hint = server === undefined ? '' : `; write a tool of a server as ${server.name}/${name}`;
      reader.report(`spec.tools[${index}]`, `${builtInFault([name])}${hint}`);
    }
}

/** Warns of patterns SERVER/TOOL whose server is not among the agent's servers: they match no tool. */
function checkServerPatterns(reader: SchemaReader, { tools, policy, mcp_servers }: AgentSpec): void {
  if (reader.isFaulty('spec.mcp_servers')) return;
  const serverNames = mcp_servers.flatMap((each) =>
    typeof each === 'object' ? (each.name ?? each.server ?? []) : (each ?? []),
  );
  // A server without a name has an error, and may be the server of a pattern.
  if (serverNames.length < mcp_servers.length || serverNames.length === 0) return;
  const lists = { 'spec.tools': tools, 'spec.policy.ask': policy.ask, 'spec.policy.deny': policy.deny };
  for (const [path, patterns] of Object.entries(lists))
    for (const [index, pattern] of patterns.entries()) {
      const [server = '', ...rest] = pattern?.split('/') ?? [];
      if (rest.length === 0 || !/^[\w.-]+$/.test(server) || serverNames.includes(server)) continue;
      const near = suggest(server, serverNames);
      const advice = near === undefined ? '' : `; did you mean ${near}/${rest.join('/')}?`;
      const message = `matches no tool: mcp_servers has no server ${server}${advice}`;
      reader.report(joinPath(path, index), message, 'warning');
    }
}

/** Warns of variables without a local inline server that could use them. */
function checkVariables(reader: SchemaReader, { env }: AgentSpec, servers: readonly AgentServer[]): void {
  if (Object.keys(env).length === 0 || servers.some(({ entry }) => entry?.runtime === 'stdio')) return;
  reader.reportKey('spec.env', 'has no effect: mcp_servers has no inline local server', 'warning');
}
