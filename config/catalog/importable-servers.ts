// Reads the servers that the command `servers import` copies from a client's file or a catalog. The entries
// have the catalog's field names. References such as `${VAR}` are not replaced by values. Invalid entries are
// skipped and reported.

import { dirname, resolve } from 'node:path';
import type { Problem } from '../reader/problem.ts';
import { SchemaReader } from '../reader/schema-reader.ts';
import { SecretValues } from '../reader/secret-values.ts';
import type { SourceFile } from '../reader/source-file.ts';
import { memberOf, plainValue, textOf } from '../reader/yaml-members.ts';
import { parseYamlTree, type YamlTree } from '../reader/yaml-tree.ts';
import { writtenKeys } from './catalog-schema.ts';
import { clientKeys, dialectOf } from './dialects/dialect.ts';
import { nestedServers } from './dialects/locate-servers.ts';
import { type CatalogServerMap, findServers, readServer } from './read-catalog.ts';

/** Server entry with the catalog's field names, without defaults. */
export type OwnEntry = Readonly<Record<string, unknown>>;

export interface ImportableServer {
  readonly id: string;
  readonly entry: OwnEntry;
  /** Line number, from 1. */
  readonly line: number;
  /** Project folder of the server in Claude Code's file. */
  readonly project: string | undefined;
}

/**
 * Returns the servers and problems of a file. `hasServers` is false for a file without a server list, such as
 * the settings of an editor. It is true for an invalid file, so that the command reports the problems.
 */
export function importableServers(
  source: SourceFile,
  { root, problems, isBroken } = parseYamlTree(source),
): {
  readonly servers: readonly ImportableServer[];
  readonly problems: readonly Problem[];
  readonly hasServers: boolean;
} {
  if (root === undefined || isBroken) return { servers: [], problems, hasServers: problems.length > 0 };
  const projects = projectLists(root, source.path);
  const hasServerList =
    ['servers', ...clientKeys].some((key) => memberOf(root, key) !== undefined) ||
    nestedServers(root) !== undefined;
  if (!hasServerList && projects.length === 0) return { servers: [], problems: [], hasServers: false };
  const lists = [
    ...(hasServerList
      ? [{ project: undefined, find: (reader: SchemaReader) => findServers(reader, root, source.path) }]
      : []),
    ...projects.map(({ project, list }) => ({ project, find: () => list })),
  ];
  const servers: ImportableServer[] = [];
  const all = [...problems];
  for (const { project, find } of lists) {
    const reader = new SchemaReader(source, {}, new SecretValues());
    reader.unknownKeys = 'warning';
    // References stay in the entries, so it does not matter here that all variables are unset.
    reader.isUnsetReported = false;
    const list = find(reader);
    if (list !== undefined) servers.push(...serversIn(reader, list, source, project));
    all.push(...reader.problems);
  }
  return { servers, problems: all, hasServers: true };
}

function serversIn(
  reader: SchemaReader,
  list: CatalogServerMap,
  source: SourceFile,
  project: string | undefined,
): ImportableServer[] {
  // Variables of an `envFile` become references, so that the import copies no secrets.
  const dialect = list.dialect && { ...list.dialect, envFiles: 'references' as const };
  return list.map.pairs.flatMap((pair) => {
    const read = readServer(reader, pair, { ...list, dialect }, source.path);
    if (read?.id === undefined || reader.isFaulty(read.path)) return [];
    const folder = dialect?.folder ?? dirname(source.path);
    const entry = ownEntry(plainValue(read.tree) as OwnEntry, folder, dialect?.workspace);
    return [{ id: read.id, entry, line: source.problem(pair.keyOffset, '').line, project }];
  });
}

/** Returns the servers of each project: Claude Code stores the servers of all projects in one file. */
function projectLists(root: YamlTree, path: string): { project: string; list: CatalogServerMap }[] {
  const projects = memberOf(root, 'projects');
  return (projects?.kind === 'map' ? projects.pairs : []).flatMap(({ key: project, value }) => {
    const map = memberOf(value, 'mcpServers');
    if (map?.kind !== 'map' || map.pairs.length === 0) return [];
    const disabled = memberOf(value, 'disabledMcpServers');
    const disabledNames = disabled?.kind === 'list' ? disabled.items.map(textOf) : [];
    const dialect = {
      ...dialectOf(root, map, 'mcpServers', path),
      folder: project,
      workspace: project,
      isOff: (name: string) => disabledNames.includes(name),
    };
    return [{ project, list: { key: 'mcpServers', map, dialect } }];
  });
}

/**
 * Returns the entry with the catalog's field names and absolute paths, without unknown keys, which the reader
 * has reported. A server of a project gets the project folder as `cwd`, because its client starts it there.
 */
function ownEntry(written: OwnEntry, folder: string, workspace: string | undefined): OwnEntry {
  const { type, runtime, disabled, enabled, tools, disabledTools, excludeTools, ...others } = written;
  const { enabledTools, includeTools, command, args, url, cwd, ...rest } = others;
  const isOff = enabled === false || disabled === true;
  const { allow = enabledTools ?? includeTools, deny = [] } = (tools ?? {}) as Record<string, unknown>;
  const denied = [deny, disabledTools ?? [], excludeTools ?? []].flat();
  const toolFilter = {
    ...(allow === undefined ? {} : { allow }),
    ...(denied.length === 0 ? {} : { deny: denied }),
  };
  const isLocal = command !== undefined;
  const gatewayEntry: Record<string, unknown> = {
    ...(isOff ? { enabled: false } : {}),
    ...(type === 'sse' || runtime === 'sse' ? { runtime: 'sse' } : {}),
    ...(isLocal ? { command: /[\\/]/.test(String(command)) ? absolute(folder, command) : command } : {}),
    ...(args === undefined ? {} : { args }),
    ...(url === undefined ? {} : { url }),
    ...(isLocal && (cwd ?? workspace) !== undefined ? { cwd: absolute(folder, cwd ?? workspace) } : {}),
    ...rest,
    ...(Object.keys(toolFilter).length === 0 ? {} : { tools: toolFilter }),
  };
  // Fields of the other kind of server: many clients write them empty in every entry.
  const stray = isLocal ? ['headers'] : ['args', 'env', 'inherit_env'];
  return Object.fromEntries(
    Object.entries(gatewayEntry).filter(([key, value]) => {
      return !stray.includes(key) && writtenKeys.includes(key) && !isEmpty(value);
    }),
  );
}

/** Keeps a path that begins with a variable: the variable contains the base folder. */
function absolute(folder: string, path: unknown): string {
  const text = String(path);
  return text.startsWith('${') ? text : resolve(folder, text);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
