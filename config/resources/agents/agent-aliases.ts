// Translates agents in the notations of other programs to the fields of agent-schema.ts: other field names,
// model settings in a mapping, other forms of memory. Refuses unsupported fields with a remedy.

import { joinPath } from '../../reader/field-path.ts';
import { type FieldTable, refuse, refusing, translateFields } from '../../reader/field-table.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import {
  memberOf,
  renameKeys,
  scalarLike,
  textOf,
  withMember,
  withoutMembers,
} from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { toolServers, withTools } from './tool-aliases.ts';

const modelSettings = ['temperature', 'max_tokens', 'timeout_seconds'];
const notPassedOn = `is not supported for models; supported: ${modelSettings.join(', ')}`;
const ofProvider = 'belongs to the provider: write it under providers of the gateway file';
const asServers = 'use mcp_servers instead';
const NO_EFFECT =
  'the storage setting is ignored: conversations are in the store of the gateway; write memory: { messages: 40 }, or none';

/** Translations of model settings, next to `model` or in a `model` mapping. */
const settings: FieldTable = {
  maxTokens: 'max_tokens',
  timeoutSeconds: 'timeout_seconds',
  timeout_secs: 'timeout_seconds',
  // The inner objects have no meaning: each puts related fields on one line.
  ...refusing({
    ...{ api_key: ofProvider, apiKey: ofProvider, base_url: ofProvider, baseUrl: ofProvider },
    ...{ top_p: notPassedOn, topP: notPassedOn, top_k: notPassedOn, topK: notPassedOn, seed: notPassedOn },
    ...{ stop: notPassedOn, frequency_penalty: notPassedOn, presence_penalty: notPassedOn },
  }),
};

/** Translations of all fields in an agent's `spec`. */
const fields: FieldTable = {
  ...settings,
  instructions: 'system_prompt',
  system: 'system_prompt',
  systemPrompt: 'system_prompt',
  maxIterations: 'max_iterations',
  fallbacks: 'fallback',
  fallback_models: 'fallback',
  fallbackModels: 'fallback',
  mcpServers: 'mcp_servers',
  outputSchema: 'output_schema',
  environment: 'env',
  maxContextMessages: 'max_context_messages',
  memory: { value: memory },
  mcp_servers: { value: toolServers },
  ...refusing({
    triggers: 'must be in a separate file: write a Trigger with this agent as its default_agent',
    tool_restrictions: 'use policy: { deny: […], ask: […] } instead',
    llm: 'use model: PROVIDER:MODEL instead',
    modelConfigRef: 'cannot be resolved: write the model and its settings here',
    mcp: asServers,
    toolsets: asServers,
    shell: 'is not built in: put the commands into a tool server, and list it under mcp_servers',
    retry: 'use retries: NUMBER instead',
    tags: 'use metadata.labels instead',
    resources: 'have no effect: the gateway runs agents itself; remove them',
    agents: 'must be a Fleet: write it as a separate document',
    response_format: 'use output_schema with a JSON Schema instead',
    stream: 'has no effect: answers are always streamed; remove it',
  }),
};

/** Translates an agent's `spec` at `path` to the fields of the schema. Reports unsupported fields. */
export function translateAgent(reader: SchemaReader, spec: YamlTree, path: string): YamlTree {
  if (spec.kind !== 'map') return spec;
  let agent = translateFields(reader, spec, path, fields);
  for (const key of ['model_config', 'modelParams', 'model']) agent = liftSettings(reader, agent, path, key);
  agent = withProvider(reader, agent, path);
  agent = withMemoryLimit(reader, agent, path);
  return withTools(reader, agent, path);
}

/**
 * Moves the settings of the mapping `key` to the agent. The mapping `model` also contains the model's name.
 */
function liftSettings(reader: SchemaReader, agent: YamlMap, path: string, key: string): YamlMap {
  const pair = agent.pairs.find((each) => each.key === key);
  if (pair?.value.kind !== 'map') return agent;
  const fieldPath = joinPath(path, key);
  const rest = without(agent, key);
  if (key !== 'model') return withSettings(reader, rest, pair.value, fieldPath, path);
  const mapping = renameKeys(reader, pair.value, fieldPath, (name) =>
    name === 'name' || name === 'model_id' ? 'model' : undefined,
  );
  const [provider, model] = ['provider', 'model'].map((name) => memberOf(mapping, name));
  const withoutModel = withSettings(reader, rest, without(mapping, 'provider', 'model'), fieldPath, path);
  reader.recordPosition(fieldPath, pair.keyOffset, pair.value.offset);
  const [providerName, modelName] = [textOf(provider), textOf(model)];
  if (model !== undefined && providerName !== undefined && modelName !== undefined)
    return withPairs(withoutModel, { ...pair, value: scalarLike(model, `${providerName}:${modelName}`) });
  reader.report(
    fieldPath,
    'expected PROVIDER:MODEL, such as google:gemini-2.5-flash, or a mapping with provider and name',
  );
  return withoutModel;
}

/** Adds the model settings in `mapping` to the agent. Refuses other fields, and fields that the agent has. */
function withSettings(
  reader: SchemaReader,
  agent: YamlMap,
  mapping: YamlMap,
  from: string,
  path: string,
): YamlMap {
  const known = translateFields(reader, mapping, from, settings);
  const accepted = known.pairs.filter((pair) => {
    const isTwice = memberOf(agent, pair.key) !== undefined;
    if (!modelSettings.includes(pair.key)) refuse(reader, from, pair, notPassedOn);
    else if (isTwice) refuse(reader, from, pair, `duplicates ${joinPath(path, pair.key)}`);
    else return true;
    return false;
  });
  return withPairs(agent, ...accepted);
}

/** Joins `provider` and `model` into PROVIDER:MODEL. */
function withProvider(reader: SchemaReader, agent: YamlMap, path: string): YamlMap {
  const provider = agent.pairs.find(({ key }) => key === 'provider');
  if (provider === undefined) return agent;
  const rest = without(agent, 'provider');
  const [model, prefix] = [textOf(memberOf(rest, 'model')), textOf(provider.value)];
  if (model !== undefined && prefix !== undefined) {
    const modelName = model.startsWith(`${prefix}:`) ? model : `${prefix}:${model}`;
    return withMember(rest, 'model', (value) => scalarLike(value, modelName));
  }
  refuse(reader, path, provider, 'needs a model; or write model: PROVIDER:MODEL');
  return rest;
}

/** Values of `memory` that name a store. A number at the end is a count of messages. */
const store = /^(?:in[_-]?memory|(?:file|sqlite|redis|postgres(?:ql)?):?.*?(?::(\d+))?)$/i;
const storeKeys = ['type', 'backend', 'provider', 'persistence', 'enabled'];
const countKeys = ['max_messages', 'maxMessages', 'max_context_messages'];

/** Converts `memory` to `none` or the limits of the schema, with a warning if it names a store. */
function memory(value: YamlTree, reader: SchemaReader, path: string): YamlTree {
  const enabled = memberOf(value, 'enabled');
  const isOff = enabled?.kind === 'scalar' && enabled.value === false;
  const text = textOf(value) ?? '';
  if (isOff || /^(?:none|off|disabled)$/i.test(text)) return scalarLike(value, 'none');
  const found = store.exec(text);
  // A value that names no store is checked by the schema.
  if (found === null && !storeKeys.some((key) => memberOf(value, key) !== undefined)) return value;
  reader.recordPosition(path, value.offset, value.offset);
  reader.report(path, NO_EFFECT, 'warning');
  const number = found?.[1] === undefined ? undefined : scalarLike(value, Number(found[1]));
  const count = [value, memberOf(value, 'config')]
    .flatMap((each) => countKeys.map((key) => memberOf(each, key)))
    .reduce((first, each) => first ?? each, number);
  const limits = value.kind === 'map' ? value.pairs.filter(({ key }) => isLimit(key)) : [];
  return mapOf(value, ...limits, ...(count === undefined ? [] : [member('messages', count)]));
}

const isLimit = (key: string) => key === 'messages' || key === 'characters';

/** Moves `max_context_messages` to `memory.messages`. */
function withMemoryLimit(reader: SchemaReader, agent: YamlMap, path: string): YamlMap {
  const limit = agent.pairs.find(({ key }) => key === 'max_context_messages');
  if (limit === undefined) return agent;
  const rest = without(agent, limit.key);
  const before = memberOf(rest, 'memory');
  const messages = { ...limit, key: 'messages' };
  if (before === undefined)
    return withPairs(rest, { ...limit, key: 'memory', value: mapOf(limit.value, messages) });
  if (before.kind === 'map' && memberOf(before, 'messages') === undefined)
    return withMember(rest, 'memory', () => withPairs(before, messages));
  refuse(reader, path, limit, 'means memory.messages, which memory already sets');
  return rest;
}

const mapOf = ({ offset }: YamlTree, ...pairs: YamlPair[]): YamlMap => ({ kind: 'map', offset, pairs });

const member = (key: string, value: YamlTree): YamlPair => ({ key, keyOffset: value.offset, value });

const withPairs = (map: YamlMap, ...more: YamlPair[]): YamlMap => ({
  ...map,
  pairs: [...map.pairs, ...more],
});

const without = (map: YamlMap, ...keys: string[]): YamlMap => withoutMembers(map, keys);
