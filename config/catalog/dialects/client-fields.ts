// Field tables of clients whose entries have their own field names: client field → catalog field. Some
// targets (`enabledTools`, `disabledTools`, `timeout`) are names that several clients share; import-entry.ts
// and normalise-entry.ts translate them.

import { memberOf, scalarLike, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { transportOf } from '../transport-words.ts';
import type { DialectClient } from './dialect.ts';

/** New name of the field, or a function that returns the new members for a member of the file. */
type Rule = string | ((pair: YamlPair) => readonly YamlPair[]);

const omitted: Rule = () => [];
const omit = (...fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, omitted]));

/** Fields of all clients: `tools` may be a list, and `type: local` means a program. */
const common: Readonly<Record<string, Rule>> = {
  tools: (pair) => (pair.value.kind === 'list' ? [{ ...pair, key: 'enabledTools' }] : [pair]),
  type: (pair) => (textOf(pair.value) === 'local' ? [] : [pair]),
};

/** `~/.codex/config.toml`: learn.chatgpt.com/docs/extend/mcp. */
const codex: Readonly<Record<string, Rule>> = {
  http_headers: 'headers',
  env_http_headers: (pair) => [{ ...pair, key: 'headers', value: mapTexts(pair.value, referenceTo) }],
  bearer_token_env_var: (pair) => [headerOf(pair, 'Authorization', (name) => `Bearer ${referenceTo(name)}`)],
  // An item is a name, or an object `{ name, source }`.
  env_vars: (pair) => [{ ...pair, key: 'inherit_env', value: namesOf(pair.value) }],
  enabled_tools: 'enabledTools',
  disabled_tools: 'disabledTools',
  startup_timeout_sec: 'start_timeout_seconds',
  startup_timeout_ms: (pair) => [{ ...inSeconds(pair), key: 'start_timeout_seconds' }],
  tool_timeout_sec: 'timeout',
  ...omit('required', 'tools', 'default_tools_approval_mode', 'supports_parallel_tool_calls', 'scopes'),
  ...omit('oauth_resource', 'environment_id', 'experimental_environment'),
};

/** `opencode.json`: opencode.ai/docs/mcp-servers. The command is a list with the arguments. */
const opencode: Readonly<Record<string, Rule>> = {
  command: commandAndArguments,
  environment: 'env',
  // The value is a number, or an object with separate timeouts for start and calls.
  timeout: (pair) =>
    pair.value.kind === 'map' ? pair.value.pairs.flatMap(timeoutOf) : [{ ...pair, key: 'timeout' }],
  ...omit('type', 'codemode'),
};

/** `~/.config/goose/config.yaml`: goose-docs.ai/docs/guides/config-files. Secrets are in its keyring. */
const goose: Readonly<Record<string, Rule>> = {
  cmd: 'command',
  envs: 'env',
  env_keys: (pair) => [{ ...pair, key: 'env', value: referencesTo(pair.value) }],
  uri: 'url',
  type: (pair) => {
    const transport = transportOf(textOf(pair.value) ?? '');
    return transport === undefined ? [] : [{ ...pair, value: scalarLike(pair.value, transport) }];
  },
  // An empty list means all tools.
  available_tools: (pair) =>
    pair.value.kind === 'list' && pair.value.items.length === 0 ? [] : [{ ...pair, key: 'enabledTools' }],
  ...omit('name', 'display_name', 'bundled', 'socket'),
};

const tables: Partial<Record<DialectClient, Readonly<Record<string, Rule>>>> = { codex, opencode, goose };

/** Returns the translated entry. Mappings that several fields produce, such as `headers`, are merged. */
export function withCatalogFields(entry: YamlMap, client: DialectClient): YamlMap {
  const table = { ...common, ...tables[client] };
  const pairs: YamlPair[] = [];
  for (const pair of entry.pairs.flatMap((each) => translated(each, table))) {
    const at = pairs.findIndex(({ key, value }) => key === pair.key && value.kind === 'map');
    const earlier = pairs[at];
    if (earlier?.value.kind === 'map' && pair.value.kind === 'map')
      pairs[at] = {
        ...earlier,
        value: { ...earlier.value, pairs: [...earlier.value.pairs, ...pair.value.pairs] },
      };
    else pairs.push(pair);
  }
  return { ...entry, pairs };
}

function translated(pair: YamlPair, table: Readonly<Record<string, Rule>>): readonly YamlPair[] {
  const rule = Object.hasOwn(table, pair.key) ? table[pair.key] : undefined;
  if (rule === undefined) return [pair];
  return typeof rule === 'string' ? [{ ...pair, key: rule }] : rule(pair);
}

const referenceTo = (name: string): string => `\${${name}}`;

function headerOf(pair: YamlPair, name: string, text: (value: string) => string): YamlPair {
  const value = scalarLike(pair.value, text(textOf(pair.value) ?? ''));
  const { offset } = pair.value;
  const header = { key: name, keyOffset: pair.keyOffset, value };
  return { ...pair, key: 'headers', value: { kind: 'map', offset, pairs: [header] } };
}

function mapTexts(tree: YamlTree, change: (text: string) => string): YamlTree {
  if (tree.kind !== 'map') return tree;
  const pairs = tree.pairs.map((pair) => {
    const text = textOf(pair.value);
    return text === undefined ? pair : { ...pair, value: scalarLike(pair.value, change(text)) };
  });
  return { ...tree, pairs };
}

/** Returns a list of names for a list that may contain objects with a name. */
function namesOf(tree: YamlTree): YamlTree {
  if (tree.kind !== 'list') return tree;
  return { ...tree, items: tree.items.map((item) => memberOf(item, 'name') ?? item) };
}

/** Returns a mapping from each name of a list to the variable of that name. */
function referencesTo(tree: YamlTree): YamlTree {
  if (tree.kind !== 'list') return tree;
  const pairs = tree.items.flatMap((item) => {
    const name = textOf(item);
    if (name === undefined) return [];
    return [{ key: name, keyOffset: item.offset, value: scalarLike(item, referenceTo(name)) }];
  });
  return { kind: 'map', offset: tree.offset, pairs };
}

function commandAndArguments(pair: YamlPair): readonly YamlPair[] {
  if (pair.value.kind !== 'list') return [pair];
  const [command, ...items] = pair.value.items;
  if (command === undefined) return [];
  return [
    { ...pair, value: command },
    { ...pair, key: 'args', value: { ...pair.value, items } },
  ];
}

function timeoutOf(pair: YamlPair): readonly YamlPair[] {
  if (pair.key === 'startup') return [{ ...inSeconds(pair), key: 'start_timeout_seconds' }];
  return ['request', 'call', 'execution'].includes(pair.key) ? [{ ...pair, key: 'timeout' }] : [];
}

function inSeconds(pair: YamlPair): YamlPair {
  const { value } = pair;
  if (value.kind !== 'scalar' || typeof value.value !== 'number') return pair;
  return { ...pair, value: scalarLike(value, value.value / 1000) };
}
