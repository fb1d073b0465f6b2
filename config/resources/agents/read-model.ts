// An agent with a model, from what was read of its `spec` to what runs it: names of models apart, servers filled, and the rules
// that a schema cannot say.

import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import { type AgentSpec, memorySchema } from './agent-schema.ts';
import { readServers } from './agent-servers.ts';
import { definitionOf } from './definition-text.ts';
import { KEPT_CHARACTERS, KEPT_MESSAGES } from './kept-history.ts';
import type { AgentMemory, AgentServer, ModelName, ModelRuntime } from './model-runtime.ts';
import type { WrittenSpec } from './read-spec.ts';
import { builtInFault, isBuiltInElsewhere } from './tool-aliases.ts';

/** `file` is the agent's. Undefined without a model. */
export function readModel(
  reader: SchemaReader,
  { spec, output_schema, tree }: WrittenSpec,
  file: string,
): ModelRuntime | undefined {
  const servers = readServers(reader, spec, file);
  checkTools(reader, spec, servers);
  checkPlaces(reader, spec);
  checkVariables(reader, spec, servers);
  checkMemory(reader, spec);
  if (!reader.has('spec.model') || tree === undefined) return undefined;
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

/** Of a model that was reported, or whose variable will be set where the file is used. */
const UNKNOWN = ':';

/** Up to the first colon: names of models may have more of them. */
function modelName(text: string): ModelName {
  const at = text.indexOf(':');
  return { provider: text.slice(0, at), model: text.slice(at + 1) };
}

function memoryOf(written: AgentSpec['memory']): AgentMemory {
  const filled = fillDefaults(memorySchema, written === 'none' || written === undefined ? {} : written);
  return written === 'none' ? { ...filled, messages: 0 } : filled;
}

function checkMemory(reader: SchemaReader, { memory }: AgentSpec): void {
  if (typeof memory !== 'object') return;
  const kept = { messages: KEPT_MESSAGES, characters: KEPT_CHARACTERS };
  for (const name of ['messages', 'characters'] as const)
    if ((memory[name] ?? 0) > kept[name])
      reader.report(
        `spec.memory.${name}`,
        `means ${kept[name]}: no more ${name} of a conversation are kept`,
        'warning',
      );
}

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
      'names no tool: leave it out for all that its servers offer, or take the servers out for none',
    );
  for (const [index, name] of tools.entries())
    if (name !== undefined && isBuiltInElsewhere(name)) {
      const [server] = servers;
      const hint = server === undefined ? '' : `; a tool of a server is written ${server.name}/${name}`;
      reader.report(`spec.tools[${index}]`, `${builtInFault([name])}${hint}`);
    }
}

/** A pattern of SERVER/TOOL whose server is none of the agent's is that of no tool. */
function checkPlaces(reader: SchemaReader, { tools, policy, mcp_servers }: AgentSpec): void {
  if (reader.isFaulty('spec.mcp_servers')) return;
  const known = mcp_servers.flatMap((each) =>
    typeof each === 'object' ? (each.name ?? each.server ?? []) : (each ?? []),
  );
  // One that could not be read may be the one that is meant.
  if (known.length < mcp_servers.length || known.length === 0) return;
  const lists = { 'spec.tools': tools, 'spec.policy.ask': policy.ask, 'spec.policy.deny': policy.deny };
  for (const [path, patterns] of Object.entries(lists))
    for (const [index, pattern] of patterns.entries()) {
      const [server = '', ...rest] = pattern?.split('/') ?? [];
      if (rest.length === 0 || !/^[\w.-]+$/.test(server) || known.includes(server)) continue;
      const near = suggest(server, known);
      const advice = near === undefined ? '' : `; did you mean ${near}/${rest.join('/')}?`;
      const message = `names no tool: there is no server ${server} under mcp_servers${advice}`;
      reader.report(joinPath(path, index), message, 'warning');
    }
}

function checkVariables(reader: SchemaReader, { env }: AgentSpec, servers: readonly AgentServer[]): void {
  if (Object.keys(env).length === 0 || servers.some(({ entry }) => entry?.runtime === 'stdio')) return;
  reader.reportKey(
    'spec.env',
    'has no effect: it is for local servers of its own, and there is none under mcp_servers',
    'warning',
  );
}
