// Tool servers and tools as others write them. A tool that is built in elsewhere is none here: what runs commands is a tool
// server, which says itself what it offers, and which people can look at.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, renamed, textOf, withMember } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlTree } from '../../reader/yaml-tree.ts';
import { isSwitchedOff, toolNamed } from './switched-off-tools.ts';

const serverAliases: Readonly<Record<string, string>> = {
  transport: 'type',
  endpoint: 'url',
  timeout_secs: 'request_timeout_seconds',
  timeout_seconds: 'request_timeout_seconds',
};

/** Built in elsewhere; to be told from tools of those names that a server has, which are written SERVER/TOOL. */
const builtInElsewhere = new Set([
  ...['shell', 'bash', 'exec', 'http', 'file', 'filesystem', 'git', 'kubectl', 'helm', 'docker', 'terraform'],
  ...['argocd', 'flux', 'aws', 'gcloud', 'az', 'slack', 'github', 'pagerduty', 'prometheus', 'grafana'],
]);

/** Servers by name, as the files of desktop clients have them, as a list. */
export function serversListed(reader: SchemaReader, servers: YamlTree, path: string): YamlTree {
  if (servers.kind !== 'map') return servers;
  const items = servers.pairs.map(({ key, keyOffset, value }, index): YamlTree => {
    const settings = value.kind === 'map' ? value.pairs : [];
    const within = memberOf(value, 'name') ?? memberOf(value, 'server');
    if (within !== undefined && textOf(within) !== key) {
      const at = joinPath(joinPath(path, 'mcp_servers'), index);
      reader.place(at, keyOffset, within.offset);
      reader.report(
        at,
        `is under the name ${key} already; take this one out, or write the servers as a list`,
      );
    }
    const name = { kind: 'scalar', offset: keyOffset, end: keyOffset, value: key } as const;
    const others = settings.filter((pair) => pair.key !== 'name');
    const hasServer = memberOf(value, 'server') !== undefined;
    const pairs = hasServer ? others : [{ key: 'name', keyOffset, value: name }, ...others];
    return { kind: 'map', offset: keyOffset, pairs };
  });
  return { kind: 'list', offset: servers.offset, items };
}

/** Entries of `mcp_servers`: `transport` is `type`, and a list of tools is what is allowed. */
export function toolServersMeant(reader: SchemaReader, servers: YamlTree, path: string): YamlTree {
  if (servers.kind !== 'list') return servers;
  const items = servers.items.map((item, index) => {
    if (item.kind !== 'map') return item;
    const at = joinPath(joinPath(path, 'mcp_servers'), index);
    reader.place(at, item.offset, item.offset);
    reader.alsoKnown(at, Object.keys(serverAliases));
    const named = renamed(reader, item, at, (key) =>
      Object.hasOwn(serverAliases, key) ? serverAliases[key] : undefined,
    );
    return withMember(named, 'tools', (tools) => (tools.kind === 'list' ? allowing(tools) : tools));
  });
  return { ...servers, items };
}

function allowing(tools: YamlTree): YamlMap {
  return {
    kind: 'map',
    offset: tools.offset,
    pairs: [{ key: 'allow', keyOffset: tools.offset, value: tools }],
  };
}

/** With nothing else an item of `tools` is a name. */
const plainKeys = ['name', 'server', 'enabled', 'description', 'source'];

/** Items of `tools`: `- name: x` is `- x`, or `- s/x` where its server is named. What would be built in is refused. */
export function toolsMeant(reader: SchemaReader, tools: YamlTree, path: string): YamlTree {
  if (tools.kind !== 'list') return tools;
  const items = tools.items.flatMap((item, index) => {
    if (item.kind !== 'map') return [item];
    const at = joinPath(joinPath(path, 'tools'), index);
    reader.place(at, item.offset, item.offset);
    if (isSwitchedOff(item)) return [];
    const name = toolNamed(item);
    if (name !== undefined && item.pairs.every(({ key }) => plainKeys.includes(key))) return [name];
    reader.report(at, mappingFault(item));
    return [];
  });
  return { ...tools, items };
}

function mappingFault(item: YamlMap): string {
  const word = textOf(memberOf(item, 'type')) ?? textOf(memberOf(item, 'name')) ?? '';
  if (/^mcp/i.test(word) || memberOf(item, 'mcp') !== undefined || memberOf(item, 'server') !== undefined)
    return 'is a tool server: write it under mcp_servers, as - { name: NAME, command: PROGRAM, args: [ARGUMENT] }';
  return builtInFault([word === '' ? 'it' : word.slice(0, 60)]);
}

/** What to do about tools of which no server is known. */
export function builtInFault(names: readonly string[]): string {
  const list = names.slice(0, 5).join(', ');
  return `${list} ${names.length === 1 ? 'is' : 'are'} not built in: put what is needed into a tool server, write that under mcp_servers, and name its tools here, or leave tools out`;
}

/** Whether a name means what others have built in, and not a tool of a server. */
export const isBuiltInElsewhere = (name: string) => builtInElsewhere.has(name.toLowerCase());
