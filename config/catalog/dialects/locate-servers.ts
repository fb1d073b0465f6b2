// Finds the servers in a file without the usual top-level keys such as `mcpServers`: below nested keys, as in
// VS Code's settings, or in the format of a single client. Identifies the client.

import { memberOf, textOf } from '../../reader/yaml-members.ts';
import type { YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { isManifest, serversOfManifest } from './bundle-manifest.ts';
import type { DialectClient } from './dialect.ts';

/** Servers below a nested key, or in a format of their own. */
export interface NestedServers {
  /** Path of the key. */
  readonly key: string;
  readonly pair: YamlPair;
  /** Mapping that contains the key, and settings such as `inputs`. */
  readonly owner: YamlTree;
  readonly client: DialectClient;
}

/** Keys of VS Code's settings, workspaces and development containers. */
const settingsPaths = [['mcp'], ['settings', 'mcp'], ['customizations', 'vscode', 'mcp']];

/** Returns the servers of a file without a top-level list of servers. */
export function nestedServers(root: YamlTree): NestedServers | undefined {
  if (isManifest(root)) return { key: 'server', ...serversOfManifest(root), owner: root, client: 'bundle' };
  const codex = pairOf(root, 'mcp_servers');
  if (codex?.value.kind === 'map') return { key: 'mcp_servers', pair: codex, owner: root, client: 'codex' };
  for (const path of settingsPaths) {
    const owner = path.reduce<YamlTree | undefined>(memberOf, root);
    const pair = owner && pairOf(owner, 'servers');
    if (owner === undefined || pair?.value.kind !== 'map') continue;
    // OpenCode has used the path `mcp.servers` of VS Code since its version 2.
    const client = hasOpenCodeEntry(pair.value) ? 'opencode' : 'vscode';
    return { key: [...path, 'servers'].join('.'), pair, owner, client };
  }
  const opencode = pairOf(root, 'mcp');
  if (opencode !== undefined && hasOpenCodeEntry(opencode.value))
    return { key: 'mcp', pair: opencode, owner: root, client: 'opencode' };
  const goose = pairOf(root, 'extensions');
  if (goose !== undefined && hasGooseEntry(goose.value))
    return { key: 'extensions', pair: goose, owner: root, client: 'goose' };
  return undefined;
}

function pairOf(tree: YamlTree, key: string): YamlPair | undefined {
  return tree.kind === 'map' ? tree.pairs.find((pair) => pair.key === key) : undefined;
}

function hasEntry(servers: YamlTree, isOfClient: (entry: YamlTree) => boolean): boolean {
  return servers.kind === 'map' && servers.pairs.some(({ value }) => isOfClient(value));
}

const hasOpenCodeEntry = (servers: YamlTree) =>
  hasEntry(servers, (entry) => /^(?:local|remote)$/.test(textOf(memberOf(entry, 'type')) ?? ''));

const gooseTypes = /^(?:stdio|sse|streamable_http|builtin|platform|frontend|inline_python)$/;

const hasGooseEntry = (servers: YamlTree) =>
  hasEntry(servers, (entry) => gooseTypes.test(textOf(memberOf(entry, 'type')) ?? ''));
