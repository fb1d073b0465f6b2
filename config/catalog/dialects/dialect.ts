// Detects the dialect of a catalog file: the format of a client program (desktop app, editor, terminal
// assistant). Collects the context for its entries: base folder, `inputs` (values that VS Code prompts for),
// and servers disabled outside their entry.
//
// A file with `servers` is a native catalog, or a file of VS Code. It counts as a file of VS Code if it
// contains keys or fields that only VS Code allows.

import { homedir } from 'node:os';
import { basename, dirname } from 'node:path';
import { isJsonPath } from '../../reader/json-comments.ts';
import { memberOf, plainValue, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlTree } from '../../reader/yaml-tree.ts';
import { bundleFolder, settingsOf } from './bundle-manifest.ts';

/** Client whose dialect the file uses; `any` for a dialect that several clients share. */
export type DialectClient =
  | 'cline'
  | 'gemini'
  | 'vscode'
  | 'zed'
  | 'codex'
  | 'copilot'
  | 'opencode'
  | 'goose'
  /** Manifest of an MCP bundle. */
  | 'bundle'
  | 'any';

/** Default values of VS Code's `inputs`, or of a bundle's settings, by id; undefined for secrets. */
export type Inputs = ReadonlyMap<string, string | undefined>;

export interface Dialect {
  readonly client: DialectClient;
  readonly path: string;
  /** Base folder for relative paths. */
  readonly folder: string;
  /** Project folder of the file. */
  readonly workspace: string | undefined;
  readonly inputs: Inputs;
  /** Returns true if the file disables the server outside its entry. */
  isOff(name: string): boolean;
  /**
   * Import mode for variables from `envFile`: their values, or references to variables with the same names.
   */
  readonly envFiles: 'values' | 'references';
}

/** Top-level keys for servers in files of clients. */
export const clientKeys = ['mcpServers', 'context_servers'] as const;

/** Fields of VS Code's entries that entries of a native catalog do not have. */
const vsCodeFields = ['type', 'envFile', 'dev', 'gallery', 'sandbox', 'sandboxEnabled'];

/** Returns true if `servers` is in VS Code's dialect. */
export function isVsCodeFile(root: YamlTree, servers: YamlTree, path: string): boolean {
  if (!isJsonPath(path)) return false;
  if (memberOf(root, 'inputs') !== undefined || basename(dirname(path)) === '.vscode') return true;
  return hasField(servers, vsCodeFields);
}

/**
 * Returns the dialect for a client's file or a part of it. `key` is the key that contains the servers, `root`
 * the mapping that contains the key.
 */
export function dialectOf(
  root: YamlTree,
  servers: YamlMap,
  key: string,
  path: string,
  envFiles: Dialect['envFiles'] = 'values',
  client: DialectClient = clientOf(servers, key, path),
): Dialect {
  const isBundle = client === 'bundle';
  return {
    client,
    path,
    ...(isBundle ? { folder: bundleFolder(path), workspace: undefined } : foldersOf(path)),
    inputs: isBundle ? settingsOf(root) : inputsOf(root),
    isOff: disabledServers(root, client),
    envFiles,
  };
}

function clientOf(servers: YamlMap, key: string, path: string): DialectClient {
  if (key === 'servers') return 'vscode';
  if (key === 'context_servers') return 'zed';
  if (basename(path) === 'cline_mcp_settings.json') return 'cline';
  const isCopilot = basename(path) === 'mcp-config.json' || basename(dirname(path)) === '.copilot';
  if (isCopilot) return 'copilot';
  const isGemini = basename(dirname(path)) === '.gemini' || hasField(servers, ['httpUrl', 'trust']);
  return isGemini ? 'gemini' : 'any';
}

function hasField(servers: YamlTree, fields: readonly string[]): boolean {
  if (servers.kind !== 'map') return false;
  return servers.pairs.some(({ value }) => fields.some((field) => memberOf(value, field) !== undefined));
}

/**
 * Returns the base folder, and the project folder if the file is in a project. The parent of a folder such as
 * `.vscode` is the project folder or the home folder.
 */
function foldersOf(path: string): { folder: string; workspace: string | undefined } {
  const fileFolder = dirname(path);
  const isInProject = basename(path) === '.mcp.json';
  if (!isInProject && !basename(fileFolder).startsWith('.'))
    return { folder: fileFolder, workspace: undefined };
  const folder = isInProject ? fileFolder : dirname(fileFolder);
  return { folder, workspace: folder === homedir() ? undefined : folder };
}

function inputsOf(root: YamlTree): Inputs {
  const list = memberOf(root, 'inputs');
  const inputs = new Map<string, string | undefined>();
  for (const input of list?.kind === 'list' ? list.items : []) {
    const id = textOf(memberOf(input, 'id'));
    const password = memberOf(input, 'password');
    const isSecret = password !== undefined && plainValue(password) === true;
    if (id !== undefined)
      inputs.set(id, isSecret ? undefined : textOf(memberOf(input, 'default')) || undefined);
  }
  return inputs;
}

/**
 * Returns a test for servers disabled by Gemini's lists, in the current and in the previous format. A file of
 * `any` client may also be from Gemini.
 */
function disabledServers(root: YamlTree, client: DialectClient): (name: string) => boolean {
  if (client !== 'gemini' && client !== 'any') return () => false;
  const mcp = memberOf(root, 'mcp');
  const excluded = namesIn(memberOf(mcp, 'excluded') ?? memberOf(root, 'excludeMCPServers'));
  const allowed = namesIn(memberOf(mcp, 'allowed') ?? memberOf(root, 'allowMCPServers'));
  return (name) => excluded?.includes(name) === true || allowed?.includes(name) === false;
}

function namesIn(list: YamlTree | undefined): readonly string[] | undefined {
  return list?.kind === 'list' ? list.items.flatMap((item) => textOf(item) ?? []) : undefined;
}
