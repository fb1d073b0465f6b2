// Tool servers that stand among the `tools` of an agent, as others write them: `- type: MCP` with a `config`, or `- mcp:`. Each is an
// entry of `mcp_servers`, and in its place among the tools stand all of its tools.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, scalarLike, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { isSwitchedOff } from './switched-off-tools.ts';

const SERVERS = 'mcp_servers';
/** With one of them, or with `server`, there is something to start or to reach. */
const wayKeys = ['command', 'url', 'endpoint'];

/** `spec` with such items moved; what is no such item, or lacks what it needs, is left for whoever reads `tools`. */
export function serversOutOfTools(reader: SchemaReader, spec: YamlMap, path: string): YamlMap {
  const tools = memberOf(spec, 'tools');
  if (tools?.kind !== 'list') return spec;
  const moved: YamlTree[] = [];
  const items = tools.items.map((item, index) => {
    const server = item.kind === 'map' ? serverIn(item) : undefined;
    if (server === undefined) return item;
    const at = joinPath(joinPath(path, 'tools'), index);
    reader.place(at, item.offset, item.offset);
    moved.push(server.entry);
    return scalarLike(item, `${server.name}/*`);
  });
  if (moved.length === 0) return spec;
  const before = spec.pairs.find(({ key }) => key === SERVERS);
  if (before !== undefined && before.value.kind !== 'list') return spec;
  const known = before?.value.kind === 'list' ? before.value.items : [];
  const list: YamlTree = {
    kind: 'list',
    offset: before?.value.offset ?? tools.offset,
    items: [...known, ...moved],
  };
  const servers: YamlPair = { key: SERVERS, keyOffset: before?.keyOffset ?? tools.offset, value: list };
  const pairs = spec.pairs.filter((pair) => pair !== before);
  return {
    ...spec,
    pairs: [
      ...pairs.map((pair) => (pair.key === 'tools' ? { ...pair, value: { ...tools, items } } : pair)),
      servers,
    ],
  };
}

interface FoundServer {
  readonly name: string;
  readonly entry: YamlTree;
}

function serverIn(item: YamlMap): FoundServer | undefined {
  if (isSwitchedOff(item)) return undefined;
  const settings = settingsIn(item);
  if (settings?.kind === 'scalar') {
    const id = textOf(settings);
    return id === undefined ? undefined : { name: id, entry: scalarLike(settings, id) };
  }
  if (settings?.kind !== 'map') return undefined;
  const nameTree = memberOf(settings, 'name') ?? memberOf(item, 'name') ?? memberOf(settings, 'server');
  const name = textOf(nameTree);
  const isOfCatalog = memberOf(settings, 'server') !== undefined;
  const hasWay = wayKeys.some((key) => memberOf(settings, key) !== undefined);
  if (nameTree === undefined || name === undefined || (!hasWay && !isOfCatalog)) return undefined;
  const own = settings.pairs.filter(({ key }) => key !== 'name');
  const named: YamlPair[] = isOfCatalog ? [] : [{ key: 'name', keyOffset: item.offset, value: nameTree }];
  return { name, entry: { ...settings, pairs: [...named, ...withProgram(own)] } };
}

/** What is said of the server: under `mcp`, under `config`, or beside `type: MCP`. */
function settingsIn(item: YamlMap): YamlTree | undefined {
  const mcp = memberOf(item, 'mcp');
  if (mcp !== undefined) return mcp;
  if (!/^mcp/i.test(textOf(memberOf(item, 'type')) ?? '')) return undefined;
  const config = memberOf(item, 'config');
  if (config !== undefined) return config;
  return {
    ...item,
    pairs: item.pairs.filter(({ key }) => !['type', 'enabled', 'description'].includes(key)),
  };
}

/** `command: [npx, -y, x]` is a program and its first arguments. */
function withProgram(pairs: readonly YamlPair[]): readonly YamlPair[] {
  const command = pairs.find(({ key }) => key === 'command');
  if (command?.value.kind !== 'list') return pairs;
  const [program, ...first] = command.value.items;
  if (program === undefined) return pairs;
  const args = pairs.find(({ key }) => key === 'args');
  const more = args?.value.kind === 'list' ? args.value.items : [];
  const all: YamlTree = { ...command.value, items: [...first, ...more] };
  return [
    ...pairs.filter((pair) => pair !== command && pair !== args),
    { ...command, value: program },
    { key: 'args', keyOffset: command.keyOffset, value: all },
  ];
}
