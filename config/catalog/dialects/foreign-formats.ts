// Detects files of clients that the gateway cannot read in their present form, for error messages: files of
// unsupported clients, and files of Codex whose name does not end in .toml.

import { memberOf } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';

const SUPPORTED_FILES = 'supported files are listed in docs/clients.md';

interface ForeignFormat {
  readonly client: string;
  /** Change that makes the file readable. */
  readonly advice: string;
  /** Matches the text of a file that may not be valid YAML. */
  readonly textPattern?: RegExp;
  matchesTree?(root: YamlTree): boolean;
}

const isList = (tree: YamlTree | undefined): boolean => tree?.kind === 'list';

const formats: readonly ForeignFormat[] = [
  {
    client: 'Codex',
    advice: 'give it a name that ends in .toml',
    textPattern: /^[ \t]*\[mcp_servers[.\]]/m,
  },
  {
    client: 'Continue',
    advice: 'write mcpServers as a mapping from name to server',
    textPattern: /^mcpServers:\s+-\s/m,
    matchesTree: (root) => isList(memberOf(root, 'mcpServers')) && memberOf(root, 'schema') !== undefined,
  },
  {
    client: 'Augment Code',
    advice: 'write mcpServers as a mapping from name to server',
    matchesTree: (root) =>
      isList(memberOf(root, 'mcpServers')) || isList(memberOf(root, 'augment.advanced.mcpServers')),
  },
  {
    client: 'Amp',
    advice: 'name the key mcpServers',
    matchesTree: (root) => memberOf(root, 'amp.mcpServers') !== undefined,
  },
  {
    client: 'Crush',
    advice: 'name the key mcpServers',
    matchesTree: (root) => {
      const servers = memberOf(root, 'mcp');
      return servers?.kind === 'map' && servers.pairs.some(({ value }) => isEntry(value));
    },
  },
  {
    client: 'Warp',
    advice: 'put the servers below mcpServers',
    matchesTree: (root) =>
      root.kind === 'map' && root.pairs.length > 0 && root.pairs.every(({ value }) => isEntry(value)),
  },
];

function isEntry(tree: YamlTree): boolean {
  return ['command', 'url', 'serverUrl'].some((field) => memberOf(tree, field) !== undefined);
}

/**
 * Returns a hint on the client; undefined for an unknown format. `text` is the text of the file, for formats
 * that cannot be parsed as a tree.
 */
export function foreignFormatHint(root: YamlTree | undefined, text = ''): string | undefined {
  const format = formats.find(
    ({ textPattern, matchesTree }) =>
      textPattern?.test(text) === true || (root !== undefined && matchesTree?.(root) === true),
  );
  if (format === undefined) return undefined;
  return `this resembles a file of ${format.client}: ${format.advice}; ${SUPPORTED_FILES}`;
}
