// Reads a catalog, the file that lists the MCP servers, from its parsed tree. A dialect is the format of a
// client program, such as an editor. The native format (`servers`) is strict: unknown keys and invalid
// entries are errors. In a dialect, unknown keys are warnings, and an invalid entry is skipped with a warning
// if another entry is valid.

import { dirname } from 'node:path';
import { joinPath } from '../reader/field-path.ts';
import { hasError } from '../reader/problem.ts';
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
import { foreignFormatHint } from './dialects/foreign-formats.ts';
import { translateEntry } from './dialects/import-entry.ts';
import { type NestedServers, nestedServers } from './dialects/locate-servers.ts';
import { entryAdvice } from './entry-advice.ts';
import { normaliseEntry, type WrittenEntry } from './normalise-entry.ts';

const serverId = new RegExp(serverIdPattern);

/** Returns the entries that could be read, and reports problems to `reader`. */
export function readCatalog(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  defaultIsolation?: ServerEntry['isolation'],
): Catalog {
  const servers: Record<string, ServerEntry> = Object.create(null);
  const list = findServers(reader, root, file);
  if (list === undefined) return { servers };
  /** Names in the file, by the id derived from each. */
  const claimedBy = new Map<string, string>();
  const invalidEntries: { readonly from: number; readonly to: number }[] = [];
  for (const pair of list.map.pairs) {
    const from = reader.problems.length;
    const read = readServer(reader, pair, list, file, defaultIsolation);
    if (read === undefined) continue;
    const { id, path, entry } = read;
    const earlier = id === undefined ? undefined : claimedBy.get(id);
    if (earlier !== undefined)
      reader.reportKey(path, `becomes the id ${id}, which ${JSON.stringify(earlier)} already has`);
    const isInvalid = list.dialect !== undefined && hasError(reader.problems.slice(from));
    if (isInvalid) invalidEntries.push({ from, to: reader.problems.length });
    if (id === undefined || isInvalid) continue;
    claimedBy.set(id, pair.key);
    if (entry !== undefined) servers[id] = entry;
  }
  if (Object.keys(servers).length > 0)
    for (const { from, to } of invalidEntries) reader.downgradeErrors(from, to, 'the server is skipped');
  return { servers };
}

interface ReadServer {
  /** Undefined if no id can be derived from the name. */
  readonly id: string | undefined;
  /** Path of the entry, for messages. */
  readonly path: string;
  /** Entry with the catalog's field names, before substitution and defaults. */
  readonly tree: YamlTree;
  readonly entry: ServerEntry | undefined;
}

/** Reads an entry; returns undefined if it is skipped. */
export function readServer(
  reader: SchemaReader,
  pair: YamlPair,
  { key, dialect }: CatalogServerMap,
  file: string,
  defaultIsolation?: ServerEntry['isolation'],
): ReadServer | undefined {
  const path = joinPath(key, pair.key);
  reader.recordPosition(path, pair.keyOffset, pair.value.offset);
  const tree = dialect === undefined ? pair.value : translateEntry(reader, pair, path, dialect);
  if (tree === undefined) return undefined;
  const id = dialect === undefined ? checkId(reader, pair, path) : deriveId(reader, pair, path);
  reader.registerAdvice(path, entryAdvice(tree));
  // A `${VAR}` in `args` may name a variable that the entry itself sets in `env`.
  reader.registerVariables(joinPath(path, 'args'), memberOf(tree, 'env'));
  // Entries in the files of desktop clients share one schema. It includes the aliases of all clients.
  const schema = dialect === undefined ? writtenEntrySchema : desktopEntrySchema;
  const read = reader.read(schema, tree, path) as WrittenEntry | undefined;
  const written = read && { ...read, isolation: read.isolation ?? defaultIsolation };
  const folder = dialect?.folder ?? dirname(file);
  const entry = written && normaliseEntry(reader, written, path, folder);
  return { id, path, tree, entry };
}

/** Mapping with the servers of a file. */
export interface CatalogServerMap {
  /** Path of the mapping in the file: `servers`, `mcpServers`, or a nested key. */
  readonly key: string;
  readonly map: YamlMap;
  /** Undefined for the native format. */
  readonly dialect: Dialect | undefined;
}

/**
 * Returns the file's servers and dialect; undefined, with problems reported, if the file contains no servers.
 */
export function findServers(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
): CatalogServerMap | undefined {
  reader.recordPosition('', root.offset, root.offset);
  if (root.kind !== 'map') {
    reader.report('', 'expected a mapping with the key servers (or mcpServers)');
    return undefined;
  }
  const keys = ['servers', ...clientKeys];
  // Two of these keys in one file are an error: see `other` below.
  const [pair, other] = keys.flatMap((key) => root.pairs.find((each) => each.key === key) ?? []);
  const nested = pair === undefined ? nestedServers(root) : undefined;
  if (nested !== undefined) return findNestedServers(reader, nested, file);
  const foreign = pair?.value.kind === 'map' ? undefined : foreignFormatHint(root);
  if (foreign !== undefined) {
    reader.report('', foreign);
    return undefined;
  }
  const isNative = pair?.key === 'servers' && !isVsCodeFile(root, pair.value, file);
  reader.unknownKeys = isNative || pair === undefined ? 'error' : 'warning';
  // Claude Code's file may have servers of projects only. They are below `projects`.
  const isClaudeCode = pair === undefined && memberOf(root, 'projects') !== undefined;
  if (isNative || (pair === undefined && !isClaudeCode)) reader.checkKeys(root, keys, '');
  if (pair === undefined) {
    const advice = isClaudeCode
      ? 'this file only has servers of projects; import them with the command "servers import"'
      : 'write servers: {} for a catalog without servers';
    reader.report('servers', `required, but missing; ${advice}`);
    return undefined;
  }
  reader.recordPosition(pair.key, pair.keyOffset, pair.value.offset);
  if (other !== undefined) {
    reader.recordPosition(other.key, other.keyOffset, other.value.offset);
    reader.reportKey(other.key, `use either ${pair.key} or ${other.key}, not both`);
  }
  if (pair.value.kind !== 'map') {
    reader.report(pair.key, 'expected a mapping from id to server; write {} for no servers');
    return undefined;
  }
  const { key, value: map } = pair;
  return { key, map, dialect: isNative ? undefined : dialectOf(root, map, key, file) };
}

function findNestedServers(
  reader: SchemaReader,
  { key, pair: { keyOffset, value }, owner, client }: NestedServers,
  file: string,
): CatalogServerMap | undefined {
  reader.unknownKeys = 'warning';
  reader.recordPosition(key, keyOffset, value.offset);
  if (value.kind !== 'map') {
    reader.report(key, 'expected a mapping from name to server');
    return undefined;
  }
  const envFiles = 'values';
  return { key, map: value, dialect: dialectOf(owner, value, key, file, envFiles, client) };
}

/** Excludes `.` and `..`: clients that normalise URL paths would remove them. */
function isId(text: string): boolean {
  return serverId.test(text) && text !== '.' && text !== '..';
}

function checkId(reader: SchemaReader, { key }: YamlPair, path: string): string | undefined {
  if (isId(key)) return key;
  const plain = plainId(key);
  // A shorter id lacks characters of the key, so it may not be the intended id.
  const advice = isId(plain) && key.length <= plain.length ? `; did you mean ${plain}?` : '';
  reader.reportKey(
    path,
    `an id has 1 to 64 of the characters A-Z a-z 0-9 . _ - (and is not . or ..)${advice}`,
  );
  return undefined;
}

/** Converts a name to an id. The result may be invalid, for example empty. */
export function plainId(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 64)
    .replace(/-+$/, '');
}

/** Returns the name as an id, with a warning if it had to be converted. */
function deriveId(reader: SchemaReader, { key }: YamlPair, path: string): string | undefined {
  if (isId(key)) return key;
  const plain = plainId(key);
  if (!isId(plain)) {
    reader.reportKey(path, 'cannot derive an id from this name; use characters of A-Z a-z 0-9 . _ -');
    return undefined;
  }
  reader.reportKey(path, `not a valid id; the server is named ${plain}`, 'warning');
  return plain;
}
