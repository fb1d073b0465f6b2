// Client programs that can be connected to the gateway, with their documentation and limits. "Variables" are
// environment variables.
//
// - Claude Desktop: modelcontextprotocol.io/docs/develop/connect-local-servers. The file supports only
//   programs; addresses are added in the settings ("connectors"). No variable substitution; passes on few
//   variables.
// - Claude Code: code.claude.com/docs/en/mcp. `${VAR}` in command, args, env, url and headers.
// - Cursor: cursor.com/docs/mcp. `${env:NAME}` in command, args, env, url and headers.
// - VS Code: code.visualstudio.com/docs/copilot/reference/mcp-configuration. `servers`, `inputs`,
//   `${input:id}`.
// - Windsurf: docs.windsurf.com/windsurf/cascade/mcp. `serverUrl`, `${env:NAME}`.
// - Zed: zed.dev/docs/ai/mcp. `context_servers` in the settings. No variable substitution
//   (zed-industries/zed#60459); programs inherit the variables of the login shell.
// - Gemini CLI: geminicli.com/docs/tools/mcp-server. `httpUrl` (`url` is the older SSE), `${VAR}` in all
//   texts.
// - Cline: docs.cline.bot/mcp. `type: streamableHttp`; without a type, an address is SSE. No variable
//   substitution; programs inherit few variables. The file in VS Code's storage is the older location.
//
// import-sources.ts lists read-only clients.

import type { Client, ClientId } from './client.ts';
import { inApplications, inConfigHome, inHome, inProject } from './client-paths.ts';

export const clients: readonly Client[] = [
  {
    id: 'claude-desktop',
    label: 'Claude Desktop',
    root: 'mcpServers',
    remote: undefined,
    reference: 'none',
    isPassingEnvironment: false,
    nextStep: 'quit Claude Desktop completely and start it again',
    files: (machine) => [inApplications(machine, 'Claude', 'claude_desktop_config.json')],
  },
  {
    id: 'claude-code',
    label: 'Claude Code',
    root: 'mcpServers',
    remote: { urlKey: 'url', type: 'http' },
    programType: 'stdio',
    reference: 'plain',
    isPassingEnvironment: true,
    nextStep: 'start a new session of Claude Code; /mcp shows its servers',
    files: (machine) => [inHome(machine, '.claude.json'), inProject(machine, '.mcp.json')],
  },
  {
    id: 'cursor',
    label: 'Cursor',
    root: 'mcpServers',
    remote: { urlKey: 'url' },
    reference: 'env',
    isPassingEnvironment: true,
    nextStep: 'restart Cursor, and enable the server in its settings under MCP',
    files: (machine) => [inHome(machine, '.cursor', 'mcp.json'), inProject(machine, '.cursor', 'mcp.json')],
  },
  {
    id: 'vscode',
    label: 'VS Code',
    root: 'servers',
    remote: { urlKey: 'url', type: 'http' },
    programType: 'stdio',
    reference: 'input',
    isPassingEnvironment: true,
    nextStep: 'run "MCP: List Servers" in VS Code and start it there',
    files: (machine) => [
      inApplications(machine, 'Code', 'User', 'mcp.json'),
      inProject(machine, '.vscode', 'mcp.json'),
    ],
  },
  {
    id: 'windsurf',
    label: 'Windsurf',
    root: 'mcpServers',
    remote: { urlKey: 'serverUrl' },
    reference: 'env',
    isPassingEnvironment: true,
    nextStep: 'press Refresh in the MCP settings of Windsurf, or restart it',
    files: (machine) => [inHome(machine, '.codeium', 'windsurf', 'mcp_config.json')],
  },
  {
    id: 'zed',
    label: 'Zed',
    root: 'context_servers',
    remote: { urlKey: 'url' },
    reference: 'none',
    isPassingEnvironment: true,
    nextStep:
      'Zed reads its settings immediately; the settings of its agent panel show the server with a green dot',
    files: (machine) => [
      machine.platform === 'win32'
        ? inApplications(machine, 'Zed', 'settings.json')
        : machine.platform === 'darwin'
          ? inHome(machine, '.config', 'zed', 'settings.json')
          : inConfigHome(machine, 'zed', 'settings.json'),
      inProject(machine, '.zed', 'settings.json'),
    ],
  },
  {
    id: 'gemini',
    label: 'Gemini CLI',
    root: 'mcpServers',
    remote: { urlKey: 'httpUrl' },
    reference: 'plain',
    isPassingEnvironment: false,
    nextStep: 'start Gemini CLI again; /mcp shows its servers',
    files: (machine) => [
      inHome(machine, '.gemini', 'settings.json'),
      inProject(machine, '.gemini', 'settings.json'),
    ],
  },
  {
    id: 'cline',
    label: 'Cline',
    root: 'mcpServers',
    remote: { urlKey: 'url', type: 'streamableHttp' },
    programType: 'stdio',
    reference: 'none',
    isPassingEnvironment: false,
    nextStep: 'Cline reads its file immediately; its MCP servers view shows the server',
    files: (machine) => [
      inHome(machine, '.cline', 'data', 'settings', 'cline_mcp_settings.json'),
      inApplications(
        machine,
        'Code',
        'User',
        'globalStorage',
        'saoudrizwan.claude-dev',
        'settings',
        'cline_mcp_settings.json',
      ),
    ],
  },
];

/** Returns the client with this id, if any. */
export function clientNamed(id: string): Client | undefined {
  return clients.find((client) => client.id === id);
}

export const clientIds: readonly ClientId[] = clients.map(({ id }) => id);
