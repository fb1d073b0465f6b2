// From the catalog file's tree to a Catalog. Two dialects: our own `servers`, where a slip is an error, and a
// desktop client's `mcpServers`, whose files hold keys that are none of our business.

import { dirname } from 'node:path';
import { joinPath } from '../reader/field-path.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import type { YamlMap, YamlPair, YamlTree } from '../reader/yaml-tree.ts';
import {
  type Catalog,
  desktopEntrySchema,
  type ServerEntry,
  serverIdPattern,
  writtenEntrySchema,
} from './catalog-schema.ts';
import { entryHabits } from './entry-habits.ts';
import { normaliseEntry, type WrittenEntry } from './normalise-entry.ts';

const serverId = new RegExp(serverIdPattern);

/** With problems reported the result is a best effort. */
export function readCatalog(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  secrets: SecretValues,
  defaultIsolation?: ServerEntry['isolation'],
): Catalog {
  const servers: Record<string, ServerEntry> = Object.create(null);
  const list = findServers(reader, root);
  if (list === undefined) return { servers };
  const isDesktop = list.key === 'mcpServers';
  const claimedBy = new Map<string, string>();
  for (const pair of list.map.pairs) {
    const path = joinPath(list.key, pair.key);
    reader.place(path, pair.keyOffset, pair.value.offset);
    const id = isDesktop ? slug(reader, pair, path) : checkId(reader, pair, path);
    const earlier = id === undefined ? undefined : claimedBy.get(id);
    if (earlier !== undefined) {
      reader.reportKey(path, `becomes the id ${id}, which ${JSON.stringify(earlier)} has already`);
    }
    reader.knowHabits(path, entryHabits(pair.value));
    const schema = isDesktop ? desktopEntrySchema : writtenEntrySchema;
    const read = reader.read(schema, pair.value, path) as WrittenEntry | undefined;
    const written = read && { ...read, isolation: read.isolation ?? defaultIsolation };
    const entry = written && normaliseEntry(reader, written, path, dirname(file), secrets);
    if (id === undefined) continue;
    claimedBy.set(id, pair.key);
    if (entry !== undefined) servers[id] = entry;
  }
  return { servers };
}

function findServers(reader: SchemaReader, root: YamlTree): { key: string; map: YamlMap } | undefined {
  reader.place('', root.offset, root.offset);
  if (root.kind !== 'map') {
    reader.report('', 'expected a mapping with the key servers (or mcpServers)');
    return undefined;
  }
  const own = root.pairs.find(({ key }) => key === 'servers');
  const desktop = root.pairs.find(({ key }) => key === 'mcpServers');
  reader.unknownKeys = own === undefined && desktop !== undefined ? 'warning' : 'error';
  reader.checkKeys(root, ['servers', 'mcpServers'], '');
  const pair = own ?? desktop;
  if (pair === undefined) {
    reader.report('servers', 'required, but missing; a catalog without servers says servers: {}');
    return undefined;
  }
  reader.place(pair.key, pair.keyOffset, pair.value.offset);
  if (own !== undefined && desktop !== undefined) {
    reader.place('mcpServers', desktop.keyOffset, desktop.value.offset);
    reader.reportKey('mcpServers', 'a catalog has either servers or mcpServers, not both');
  }
  if (pair.value.kind !== 'map') {
    reader.report(pair.key, 'expected a mapping from id to server; without servers write {}');
    return undefined;
  }
  return { key: pair.key, map: pair.value };
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
function plainId(name: string): string {
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
