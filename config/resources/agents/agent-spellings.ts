// An agent as others write it, put into the words of agent-schema.ts: other names of fields, a model and what belongs to it in
// one mapping. What means nothing here is refused by name, with what to write instead.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import {
  memberOf,
  renamed,
  scalarLike,
  textOf,
  withMember,
  withoutMembers,
} from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { memoryMeant } from './memory-spellings.ts';
import { serversOutOfTools } from './servers-in-tools.ts';
import { withoutSwitchedOff } from './switched-off-tools.ts';
import { serversListed, toolServersMeant, toolsMeant } from './tool-spellings.ts';

const aliases: Readonly<Record<string, string>> = {
  instructions: 'system_prompt',
  system: 'system_prompt',
  systemPrompt: 'system_prompt',
  maxTokens: 'max_tokens',
  maxIterations: 'max_iterations',
  fallbacks: 'fallback',
  fallback_models: 'fallback',
  fallbackModels: 'fallback',
  timeoutSeconds: 'timeout_seconds',
  timeout_secs: 'timeout_seconds',
  mcpServers: 'mcp_servers',
  outputSchema: 'output_schema',
  environment: 'env',
};

/** Of a mapping that is about the model: what is passed on. */
const modelSettings = ['temperature', 'max_tokens', 'timeout_seconds'];

const refused: Readonly<Record<string, string>> = {
  triggers: 'stand in files of their own: make it a Trigger whose default_agent is this agent',
  tool_restrictions: 'is written as policy: { deny: […], ask: […] }',
  llm: 'is written as model: PROVIDER:MODEL',
  modelConfigRef: 'leads nowhere: write the model and its settings here',
  mcp: 'is written as mcp_servers',
  toolsets: 'is written as mcp_servers',
  shell: 'is not built in: put the commands into a tool server, and name that under mcp_servers',
  retry: 'is written as retries: NUMBER',
  tags: 'stand in metadata.labels',
  resources: 'have no effect here: the gateway runs agents itself; take them out',
  agents: 'make it a fleet, and fleets are not supported',
  response_format: 'is written as output_schema, with a JSON Schema',
  stream: 'has no effect: answers always come in pieces; take it out',
};

const modelSettingFault = `is not passed on to models; what is: ${modelSettings.join(', ')}`;
const ofProvider = 'belongs to the provider: write it under providers of the gateway file';
/** What others say of a model, beside it or among its settings. */
const refusedOfModel: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['api_key', 'apiKey', 'base_url', 'baseUrl'].map((key) => [key, ofProvider])),
  ...Object.fromEntries(
    ['top_p', 'topP', 'top_k', 'topK', 'seed', 'stop', 'frequency_penalty', 'presence_penalty'].map((key) => [
      key,
      modelSettingFault,
    ]),
  ),
};

/** The mapping in the words of the schema; reports what has none. `path` is where it stands. */
export function agentMeant(reader: SchemaReader, written: YamlTree, path: string): YamlTree {
  if (written.kind !== 'map') return written;
  reader.alsoKnown(path, Object.keys(aliases));
  const allowed = withoutRefused(reader, written, path, { ...refusedOfModel, ...refused });
  let spec = renamed(reader, allowed, path, (key) =>
    Object.hasOwn(aliases, key) ? aliases[key] : undefined,
  );
  spec = lifted(reader, spec, path, 'model_config');
  spec = lifted(reader, spec, path, 'modelParams');
  spec = modelMeant(reader, spec, path);
  spec = memoryMeant(reader, spec, path);
  spec = withMember(spec, 'mcp_servers', (servers) => serversListed(reader, servers, path)) as YamlMap;
  spec = serversOutOfTools(reader, withoutSwitchedOff(spec), path);
  const withServers = withMember(spec, 'mcp_servers', (servers) => toolServersMeant(reader, servers, path));
  return withMember(withServers, 'tools', (tools) => toolsMeant(reader, tools, path));
}

function withoutRefused(
  reader: SchemaReader,
  map: YamlMap,
  path: string,
  words: Readonly<Record<string, string>>,
): YamlMap {
  const pairs = map.pairs.filter(({ key, keyOffset, value }) => {
    if (!Object.hasOwn(words, key)) return true;
    const at = joinPath(path, key);
    reader.place(at, keyOffset, value.offset);
    reader.reportKey(at, words[key] ?? '');
    return false;
  });
  return { ...map, pairs };
}

/** `model_config: { temperature: 0.2 }` is `temperature: 0.2`. */
function lifted(reader: SchemaReader, spec: YamlMap, path: string, key: string): YamlMap {
  const settings = memberOf(spec, key);
  if (settings?.kind !== 'map') return spec;
  return withSettings(reader, without(spec, key), joinPath(path, key), settings, path);
}

/** `spec` with the settings of a mapping `from`. */
function withSettings(
  reader: SchemaReader,
  spec: YamlMap,
  from: string,
  settings: YamlMap,
  path: string,
): YamlMap {
  const named = renamed(reader, settings, from, (key) =>
    Object.hasOwn(aliases, key) ? aliases[key] : undefined,
  );
  const pairs = named.pairs.filter(({ key, keyOffset, value }) => {
    const at = joinPath(from, key);
    reader.place(at, keyOffset, value.offset);
    if (!modelSettings.includes(key))
      reader.reportKey(
        at,
        Object.hasOwn(refusedOfModel, key) ? (refusedOfModel[key] ?? '') : modelSettingFault,
      );
    else if (memberOf(spec, key) !== undefined)
      reader.reportKey(at, `is there twice: ${joinPath(path, key)} too`);
    else return true;
    return false;
  });
  return { ...spec, pairs: [...spec.pairs, ...pairs] };
}

/** `{ provider: google, name: m }`, or `provider` beside `model`, is `google:m`. */
function modelMeant(reader: SchemaReader, spec: YamlMap, path: string): YamlMap {
  const model = spec.pairs.find(({ key }) => key === 'model');
  if (model?.value.kind === 'map') return modelOfMapping(reader, spec, model.value, model, path);
  const provider = spec.pairs.find(({ key }) => key === 'provider');
  if (provider === undefined) return spec;
  const at = joinPath(path, 'provider');
  reader.place(at, provider.keyOffset, provider.value.offset);
  const rest = without(spec, 'provider');
  const [name, of] = [textOf(model?.value), textOf(provider.value)];
  if (name === undefined || of === undefined) {
    reader.reportKey(at, 'needs a model beside it; or write model: PROVIDER:MODEL');
    return rest;
  }
  const whole = name.startsWith(`${of}:`) ? name : `${of}:${name}`;
  const meant = withMember(rest, 'model', (value) => scalarLike(value, whole));
  return meant.kind === 'map' ? meant : rest;
}

function modelOfMapping(
  reader: SchemaReader,
  spec: YamlMap,
  mapping: YamlMap,
  { keyOffset }: YamlPair,
  path: string,
): YamlMap {
  const at = joinPath(path, 'model');
  const named = renamed(reader, mapping, at, (key) =>
    key === 'name' || key === 'model_id' ? 'model' : undefined,
  );
  const [provider, model] = [textOf(memberOf(named, 'provider')), textOf(memberOf(named, 'model'))];
  const others = withoutMembers(named, ['provider', 'model']) as YamlMap;
  const rest = withSettings(reader, without(spec, 'model'), at, others, path);
  reader.place(at, keyOffset, mapping.offset);
  if (provider === undefined || model === undefined) {
    reader.report(
      at,
      'expected PROVIDER:MODEL, such as google:gemini-2.5-flash, or a mapping with provider and name',
    );
    return rest;
  }
  const value = scalarLike(memberOf(named, 'model') ?? mapping, `${provider}:${model}`);
  return { ...rest, pairs: [...rest.pairs, { key: 'model', keyOffset, value }] };
}

const without = (map: YamlMap, key: string): YamlMap => ({
  ...map,
  pairs: map.pairs.filter((pair) => pair.key !== key),
});
