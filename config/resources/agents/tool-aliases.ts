// Translates tools and tool servers of agents in the notations of other programs, where an item of `tools`
// can be a tool, a server or a disabled tool. The schema's fields are `tools`, `mcp_servers` and
// `policy.deny`. Refuses tools that are built into other programs, because only servers provide tools here.

import { joinPath } from '../../reader/field-path.ts';
import { type FieldTable, translateFields } from '../../reader/field-table.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import {
  memberOf,
  scalarLike,
  textOf,
  withItems,
  withMember,
  withoutMembers,
} from '../../reader/yaml-members.ts';
import type { YamlMap, YamlTree } from '../../reader/yaml-tree.ts';

/** Translations of the fields of tool servers. */
const servers: FieldTable = {
  mcp_servers: {
    fields: {
      transport: 'type',
      endpoint: 'url',
      timeout_secs: 'request_timeout_seconds',
      timeout_seconds: 'request_timeout_seconds',
      tools: { value: (list) => (list.kind === 'list' ? mapOf(list.offset, pairOf('allow', list)) : list) },
    },
  },
};

/** Built-in tools of other programs. Refused unless a server is named. */
const foreignBuiltIns = new Set([
  ...['shell', 'bash', 'exec', 'http', 'file', 'filesystem', 'git', 'kubectl', 'helm', 'docker', 'terraform'],
  ...['argocd', 'flux', 'aws', 'gcloud', 'az', 'slack', 'github', 'pagerduty', 'prometheus', 'grafana'],
]);

/** Converts a mapping of servers by name, the format of desktop clients, to a list. */
export function toolServers(servers: YamlTree, reader: SchemaReader, path: string): YamlTree {
  if (servers.kind !== 'map') return servers;
  const items = servers.pairs.map(({ key, keyOffset, value }, index): YamlTree => {
    const hasServer = memberOf(value, 'server') !== undefined;
    const inner = memberOf(value, 'name') ?? memberOf(value, 'server');
    if (inner !== undefined && textOf(inner) !== key) {
      const itemPath = joinPath(path, index);
      reader.recordPosition(itemPath, keyOffset, inner.offset);
      reader.report(itemPath, `already has the name ${key}; remove this one, or write the servers as a list`);
    }
    const name = { kind: 'scalar', offset: keyOffset, end: keyOffset, value: key } as const;
    const others = value.kind === 'map' ? value.pairs.filter((pair) => pair.key !== 'name') : [];
    return mapOf(keyOffset, ...(hasServer ? [] : [{ key: 'name', keyOffset, value: name }]), ...others);
  });
  return { kind: 'list', offset: servers.offset, items };
}

/** Keys of an item that only refers to a tool and defines no server. */
const nameKeys = ['name', 'server', 'enabled', 'description', 'source'];

/** Moves each item of `tools` to its field, and translates the fields of tool servers. */
export function withTools(reader: SchemaReader, agent: YamlMap, path: string): YamlTree {
  const tools = memberOf(agent, 'tools');
  if (tools?.kind !== 'list') return translateFields(reader, agent, path, servers);
  const list = memberOf(agent, 'mcp_servers');
  const canAddServers = list === undefined || list.kind === 'list';
  const [denied, serverEntries]: [YamlTree[], YamlTree[]] = [[], []];
  const items = tools.items.flatMap((item, index) => {
    if (item.kind !== 'map') return [item];
    const name = nameIn(item);
    if (isDisabled(item)) {
      if (name !== undefined) denied.push(name);
      return [];
    }
    const itemPath = joinPath(joinPath(path, 'tools'), index);
    reader.recordPosition(itemPath, item.offset, item.offset);
    const server = canAddServers ? serverIn(item) : undefined;
    if (server !== undefined) {
      serverEntries.push(server.entry);
      return [scalarLike(item, `${server.name}/*`)];
    }
    if (name !== undefined && item.pairs.every(({ key }) => nameKeys.includes(key))) return [name];
    reader.report(itemPath, itemFault(item));
    return [];
  });
  // If all items are disabled, `tools` is removed, because an empty list would allow no tools.
  const hasPolicy = canHavePolicy(agent);
  const areAllDisabled = tools.items.length > 0 && tools.items.every(isDisabled);
  let rest: YamlTree = withMember(agent, 'tools', () => ({ ...tools, items }));
  if (hasPolicy && areAllDisabled) rest = withoutMembers(rest, ['tools']);
  if (hasPolicy) rest = withItems(rest, ['policy', 'deny'], denied, tools.offset);
  return translateFields(
    reader,
    withItems(rest, ['mcp_servers'], serverEntries, tools.offset),
    path,
    servers,
  );
}

/** Returns false for external programs and scripted models. Both refuse `policy` (read-agent.ts). */
const canHavePolicy = (agent: YamlMap) =>
  memberOf(agent, 'runtime') === undefined &&
  textOf(memberOf(agent, 'model'))?.startsWith('scripted:') !== true;

function isDisabled(item: YamlTree): boolean {
  const enabled = memberOf(item, 'enabled');
  return enabled?.kind === 'scalar' && enabled.value === false;
}

const isServerType = (item: YamlTree) => /^mcp/i.test(textOf(memberOf(item, 'type')) ?? '');

/** Returns TOOL or SERVER/TOOL; undefined for a whole server. */
function nameIn(item: YamlMap): YamlTree | undefined {
  const tree = memberOf(item, 'name');
  const [name, server] = [textOf(tree), textOf(memberOf(item, 'server'))];
  if (tree === undefined || name === undefined) return undefined;
  if (memberOf(item, 'mcp') !== undefined || isServerType(item)) return undefined;
  return scalarLike(tree, server === undefined ? name : `${server}/${name}`);
}

/** Returns the server that an item defines or names; undefined if it does neither, or is incomplete. */
function serverIn(item: YamlMap): { readonly name: string; readonly entry: YamlTree } | undefined {
  const inner = memberOf(item, 'mcp') ?? (isServerType(item) ? memberOf(item, 'config') : undefined);
  const settings =
    inner ?? (isServerType(item) ? withoutMembers(item, ['type', 'enabled', 'description']) : undefined);
  // The settings may be only the name of a server: `mcp: files`.
  const serverName = textOf(settings);
  if (settings === undefined || serverName !== undefined)
    return settings && serverName !== undefined
      ? { name: serverName, entry: scalarLike(settings, serverName) }
      : undefined;
  const isOfCatalog = memberOf(settings, 'server') !== undefined;
  const nameTree = memberOf(settings, 'name') ?? memberOf(item, 'name') ?? memberOf(settings, 'server');
  const name = textOf(nameTree);
  const isReachable = ['command', 'url', 'endpoint', 'server'].some((key) => memberOf(settings, key));
  if (settings.kind !== 'map' || nameTree === undefined || name === undefined || !isReachable)
    return undefined;
  const otherPairs = withProgram(settings).pairs.filter(({ key }) => key !== 'name');
  const namePairs = isOfCatalog ? [] : [{ key: 'name', keyOffset: item.offset, value: nameTree }];
  return { name, entry: { ...settings, pairs: [...namePairs, ...otherPairs] } };
}

/** Converts `command: [npx, -y, x]` to `command` and `args`. */
function withProgram(settings: YamlMap): YamlMap {
  const command = settings.pairs.find(({ key }) => key === 'command');
  if (command?.value.kind !== 'list') return settings;
  const [program, ...first] = command.value.items;
  if (program === undefined) return settings;
  const args = memberOf(settings, 'args');
  const items = [...first, ...(args?.kind === 'list' ? args.items : [])];
  const others = settings.pairs.filter(({ key }) => key !== 'command' && key !== 'args');
  const all = { key: 'args', keyOffset: command.keyOffset, value: { ...command.value, items } };
  return { ...settings, pairs: [...others, { ...command, value: program }, all] };
}

function itemFault(item: YamlMap): string {
  const word = textOf(memberOf(item, 'type')) ?? textOf(memberOf(item, 'name')) ?? '';
  if (/^mcp/i.test(word) || memberOf(item, 'mcp') !== undefined || memberOf(item, 'server') !== undefined)
    return 'is a tool server: write it under mcp_servers, as - { name: NAME, command: PROGRAM, args: [ARGUMENT] }';
  return builtInFault([word === '' ? 'it' : word.slice(0, 60)]);
}

/** Returns the error message about tools that no server provides, with the remedy. */
export function builtInFault(names: readonly string[]): string {
  const list = names.slice(0, 5).join(', ');
  return `${list} ${names.length === 1 ? 'is' : 'are'} not built in: add a tool server under mcp_servers, and list its tools here, or omit tools`;
}

/** Returns true for names of tools that are built into other programs. */
export const isForeignBuiltIn = (name: string) => foreignBuiltIns.has(name.toLowerCase());

const pairOf = (key: string, value: YamlTree) => ({ key, keyOffset: value.offset, value });

const mapOf = (offset: number, ...pairs: YamlMap['pairs']): YamlMap => ({ kind: 'map', offset, pairs });
