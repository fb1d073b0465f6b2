// Whose file a catalog is, where it is the file of a client (a desktop program, an editor, an assistant in the terminal)
// and not one of ours, and what must be known of the file to read its entries: where paths begin, what `inputs` say, which
// servers are switched off beside them.
//
// DIA1  our own dialect, `servers` in YAML, stays strict: only what no catalog of ours can have makes `servers` VS Code's.

import { homedir } from 'node:os';
import { basename, dirname } from 'node:path';
import { isJsonPath } from '../../reader/json-comments.ts';
import { memberOf, plainValue, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlTree } from '../../reader/yaml-tree.ts';

/** Clients whose words mean something else than those of the others. */
export type Client = 'cline' | 'gemini' | 'vscode' | 'zed' | 'any';

/** Of VS Code: an id of `inputs`, and what is taken where nobody is asked. */
export type Inputs = ReadonlyMap<string, string | undefined>;

export interface Dialect {
  readonly client: Client;
  /** Where relative paths begin. */
  readonly folder: string;
  /** The project it belongs to. */
  readonly workspace: string | undefined;
  readonly inputs: Inputs;
  /** Whether the file says beside its servers that the one of this name is off. */
  isOff(name: string): boolean;
  /** What is made of the variables in an `envFile`: their values, or references to variables of these names. */
  readonly envFiles: 'values' | 'references';
}

/** The keys under which clients keep servers. */
export const clientKeys = ['mcpServers', 'context_servers'] as const;

/** Words of VS Code's entries that ours do not have. */
const vsCodeWords = ['type', 'envFile', 'dev', 'gallery', 'sandbox', 'sandboxEnabled'];

/** Whether `servers` of this file are VS Code's (DIA1). */
export function isVsCodeFile(root: YamlTree, servers: YamlTree, path: string): boolean {
  if (!isJsonPath(path)) return false;
  if (memberOf(root, 'inputs') !== undefined || basename(dirname(path)) === '.vscode') return true;
  return hasWord(servers, vsCodeWords);
}

/** `key` is that of the servers, in the file or in a part of it. */
export function dialectOf(
  root: YamlTree,
  servers: YamlMap,
  key: string,
  path: string,
  envFiles: Dialect['envFiles'] = 'values',
): Dialect {
  const client = clientOf(servers, key, path);
  return { client, ...placesOf(path), inputs: inputsOf(root), isOff: switchedOff(root, client), envFiles };
}

function clientOf(servers: YamlMap, key: string, path: string): Client {
  if (key === 'servers') return 'vscode';
  if (key === 'context_servers') return 'zed';
  if (basename(path) === 'cline_mcp_settings.json') return 'cline';
  const isGemini = basename(dirname(path)) === '.gemini' || hasWord(servers, ['httpUrl', 'trust']);
  return isGemini ? 'gemini' : 'any';
}

function hasWord(servers: YamlTree, words: readonly string[]): boolean {
  if (servers.kind !== 'map') return false;
  return servers.pairs.some(({ value }) => words.some((word) => memberOf(value, word) !== undefined));
}

/** A folder such as `.vscode` stands in the project that it is about, or in the home folder. */
function placesOf(path: string): { folder: string; workspace: string | undefined } {
  const own = dirname(path);
  const isInProject = basename(path) === '.mcp.json';
  if (!isInProject && !basename(own).startsWith('.')) return { folder: own, workspace: undefined };
  const folder = isInProject ? own : dirname(own);
  return { folder, workspace: folder === homedir() ? undefined : folder };
}

function inputsOf(root: YamlTree): Inputs {
  const list = memberOf(root, 'inputs');
  const inputs = new Map<string, string | undefined>();
  for (const input of list?.kind === 'list' ? list.items : []) {
    const id = textOf(memberOf(input, 'id'));
    const password = memberOf(input, 'password');
    const isSecret = password !== undefined && plainValue(password) === true;
    if (id !== undefined) inputs.set(id, isSecret ? undefined : textOf(memberOf(input, 'default')));
  }
  return inputs;
}

/** Gemini's lists, as they stand now and as they stood before. */
function switchedOff(root: YamlTree, client: Client): (name: string) => boolean {
  if (client !== 'gemini' && client !== 'any') return () => false;
  const mcp = memberOf(root, 'mcp');
  const excluded = namesIn(memberOf(mcp, 'excluded') ?? memberOf(root, 'excludeMCPServers'));
  const allowed = namesIn(memberOf(mcp, 'allowed') ?? memberOf(root, 'allowMCPServers'));
  return (name) => excluded?.includes(name) === true || allowed?.includes(name) === false;
}

function namesIn(list: YamlTree | undefined): readonly string[] | undefined {
  return list?.kind === 'list' ? list.items.flatMap((item) => textOf(item) ?? []) : undefined;
}
