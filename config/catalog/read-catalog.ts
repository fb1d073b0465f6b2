// From the catalog file's tree to a Catalog. Two dialects: our own `servers`, where a slip is an error, and those of
// clients (`mcpServers`, Zed's `context_servers`, VS Code's `servers`), whose files hold keys that are none of our business.

import { dirname } from 'node:path';
import { joinPath } from '../reader/field-path.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { memberOf } from '../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../reader/yaml-tree.ts';
import {
  type Catalog,
  desktopEntrySchema,
  type ServerEntry,
  serverIdPattern,
  writtenEntrySchema,
} from './catalog-schema.ts';
import { clientKeys, type Dialect, dialectOf, isVsCodeFile } from './dialects/dialect.ts';
import { inOurFields } from './dialects/entry-in-our-fields.ts';
import { entryHabits } from './entry-habits.ts';
import { normaliseEntry, type WrittenEntry } from './normalise-entry.ts';

const serverId = new RegExp(serverIdPattern);

/** With problems reported the result is a best effort. */
export function readCatalog(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  defaultIsolation?: ServerEntry['isolation'],
): Catalog {
  const servers: Record<string, ServerEntry> = Object.create(null);
  const list = findServers(reader, root, file);
  if (list === undefined) return { servers };
  const claimedBy = new Map<string, string>();
  for (const pair of list.map.pairs) {
    const read = readServer(reader, pair, list, file, defaultIsolation);
    if (read === undefined) continue;
    const { id, path, entry } = read;
    const earlier = id === undefined ? undefined : claimedBy.get(id);
    if (earlier !== undefined)
      reader.reportKey(path, `becomes the id ${id}, which ${JSON.stringify(earlier)} has already`);
    if (id === undefined) continue;
    claimedBy.set(id, pair.key);
    if (entry !== undefined) servers[id] = entry;
  }
  return { servers };
}

interface ReadServer {
  /** Undefined for a name of which none can be made. */
  readonly id: string | undefined;
  /** Of the entry, for messages. */
  readonly path: string;
  /** As a catalog of ours would have it, before anything was replaced or filled. */
  readonly tree: YamlTree;
  readonly entry: ServerEntry | undefined;
}

/** One server of a list; undefined for one that is left out. */
export function readServer(
  reader: SchemaReader,
  pair: YamlPair,
  { key, dialect }: ServerList,
  file: string,
  defaultIsolation?: ServerEntry['isolation'],
): ReadServer | undefined {
  const path = joinPath(key, pair.key);
  reader.place(path, pair.keyOffset, pair.value.offset);
  const tree = dialect === undefined ? pair.value : inOurFields(reader, pair, path, dialect);
  if (tree === undefined) return undefined;
  const id = dialect === undefined ? checkId(reader, pair, path) : slug(reader, pair, path);
  reader.knowHabits(path, entryHabits(tree));
  const schema = dialect === undefined ? writtenEntrySchema : desktopEntrySchema;
  const read = reader.read(schema, tree, path) as WrittenEntry | undefined;
  const written = read && { ...read, isolation: read.isolation ?? defaultIsolation };
  const folder = dialect?.folder ?? dirname(file);
  const entry = written && normaliseEntry(reader, written, path, folder);
  return { id, path, tree, entry };
}

export interface ServerList {
  readonly key: string;
  readonly map: YamlMap;
  /** Undefined in a catalog of our own. */
  readonly dialect: Dialect | undefined;
}

/** Where the servers of a file stand, and in whose words. Undefined, with problems reported, where there are none. */
export function findServers(reader: SchemaReader, root: YamlTree, file: string): ServerList | undefined {
  reader.place('', root.offset, root.offset);
  if (root.kind !== 'map') {
    reader.report('', 'expected a mapping with the key servers (or mcpServers)');
    return undefined;
  }
  const keys = ['servers', ...clientKeys];
  const [pair, other] = keys.flatMap((key) => root.pairs.find((each) => each.key === key) ?? []);
  const isOwn = pair?.key === 'servers' && !isVsCodeFile(root, pair.value, file);
  reader.unknownKeys = isOwn || pair === undefined ? 'error' : 'warning';
  const isClaudeCode = pair === undefined && memberOf(root, 'projects') !== undefined;
  if (isOwn || (pair === undefined && !isClaudeCode)) reader.checkKeys(root, keys, '');
  if (pair === undefined) {
    const advice = isClaudeCode
      ? 'this file has servers of its projects alone; the command "servers import" makes a catalog of them'
      : 'a catalog without servers says servers: {}';
    reader.report('servers', `required, but missing; ${advice}`);
    return undefined;
  }
  reader.place(pair.key, pair.keyOffset, pair.value.offset);
  if (other !== undefined) {
    reader.place(other.key, other.keyOffset, other.value.offset);
    reader.reportKey(other.key, `a catalog has either ${pair.key} or ${other.key}, not both`);
  }
  if (pair.value.kind !== 'map') {
    reader.report(pair.key, 'expected a mapping from id to server; without servers write {}');
    return undefined;
  }
  const { key, value: map } = pair;
  return { key, map, dialect: isOwn ? undefined : dialectOf(root, map, key, file) };
}

/** `.` and `..` would be eaten by every client that normalises the path of a URL. */
function isId(text: string): boolean {
  return serverId.test(text) && text !== '.' && text !== '..';
}

function checkId(reader: SchemaReader, { key }: YamlPair, path: string): string | undefined {
  if (isId(key)) return key;
  const plain = plainId(key);
  const advice = isId(plain) && key.length <= plain.length ? `; did you mean ${plain}?` : '';
  reader.reportKey(
    path,
    `an id has 1 to 64 of the characters A-Z a-z 0-9 . _ - (and is not . or ..)${advice}`,
  );
  return undefined;
}

/** A name as an id, as far as one can be made of it. */
export function plainId(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 64)
    .replace(/-+$/, '');
}

function slug(reader: SchemaReader, { key }: YamlPair, path: string): string | undefined {
  if (isId(key)) return key;
  const plain = plainId(key);
  if (!isId(plain)) {
    reader.reportKey(path, 'no id can be made of this name; use some of A-Z a-z 0-9 . _ -');
    return undefined;
  }
  reader.reportKey(path, `this name is no id; the server is called ${plain}`, 'warning');
  return plain;
}
