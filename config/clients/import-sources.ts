// Files that `servers import` reads: from clients of client-list.ts, and from clients that `connect` does not
// support.
//
// - Codex: learn.chatgpt.com/docs/extend/mcp. TOML; no variable substitution.
// - Copilot CLI: docs.github.com/copilot/how-tos/copilot-cli. `$NAME`, `${NAME}`.
// - OpenCode: opencode.ai/docs/mcp-servers. `mcp`, from version 2 `mcp.servers`; `{env:NAME}`.
// - Goose: goose-docs.ai/docs/guides/config-files. `extensions` in YAML; secrets are in its keyring.

import type { ClientFile, Machine } from './client.ts';
import { clients } from './client-list.ts';
import { inApplications, inConfigHome, inHome, inProject } from './client-paths.ts';

export interface ImportSource {
  readonly id: string;
  readonly label: string;
  files(machine: Machine): readonly ClientFile[];
}

/** VS Code had the servers in its settings before `mcp.json`. */
const vsCodeSettings = (machine: Machine): readonly ClientFile[] => [
  inApplications(machine, 'Code', 'User', 'settings.json'),
  inProject(machine, '.vscode', 'settings.json'),
];

const readOnlySources: readonly ImportSource[] = [
  {
    id: 'codex',
    label: 'Codex',
    files: (machine) => [
      inHome(machine, '.codex', 'config.toml'),
      inProject(machine, '.codex', 'config.toml'),
    ],
  },
  {
    id: 'copilot-cli',
    label: 'Copilot CLI',
    files: (machine) => [
      inHome(machine, '.copilot', 'mcp-config.json'),
      inProject(machine, '.github', 'mcp.json'),
    ],
  },
  {
    id: 'opencode',
    label: 'OpenCode',
    files: (machine) =>
      ['opencode.json', 'opencode.jsonc'].flatMap((name) => [
        inConfigHome(machine, 'opencode', name),
        inProject(machine, name),
        inProject(machine, '.opencode', name),
      ]),
  },
  {
    id: 'goose',
    label: 'Goose',
    files: (machine) => [
      machine.platform === 'win32'
        ? inApplications(machine, 'Block', 'goose', 'config', 'config.yaml')
        : inHome(machine, '.config', 'goose', 'config.yaml'),
    ],
  },
];

export const importSources: readonly ImportSource[] = [
  ...clients.map(({ id, label, files }) => ({
    id,
    label,
    files: (machine: Machine) => [...files(machine), ...(id === 'vscode' ? vsCodeSettings(machine) : [])],
  })),
  ...readOnlySources,
];

export const importSourceIds: readonly string[] = importSources.map(({ id }) => id);
