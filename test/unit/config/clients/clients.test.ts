// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import { describe, expect, test } from 'vitest';
import type { Machine } from '../../../../config/clients/client.ts';
import {
  type ClientConnection,
  canConnect,
  claudeCodeCommand,
  clientDocument,
  entryFor,
} from '../../../../config/clients/client-entry.ts';
import { clientNamed, clients } from '../../../../config/clients/client-list.ts';

const mac: Machine = { platform: 'darwin', home: '/Users/ann', cwd: '/work' };
const linux: Machine = { platform: 'linux', home: '/home/ann', cwd: '/work/' };
const windows: Machine = {
  platform: 'win32',
  home: 'C:\\Users\\ann',
  appData: 'D:\\Roaming',
  cwd: 'C:\\work',
};

function paths(id: string, machine: Machine): string[] {
  return (clientNamed(id)?.files(machine) ?? []).map(({ path }) => path);
}

function documentFor(id: string, connection: ClientConnection): object | undefined {
  const client = clientNamed(id);
  return client && clientDocument(client, 'gw', entryFor(client, connection));
}

const url = 'http://127.0.0.1:8080/mcp';
const direct: ClientConnection = { kind: 'http', url };
const withKey: ClientConnection = { ...direct, keyVariable: 'GATEWAY_API_KEY' };
const program: ClientConnection = {
  kind: 'stdio',
  command: '/node',
  args: ['/main.js', 'stdio'],
  variables: ['TOKEN'],
};

describe('the configuration files of a client program', () => {
  test.each([
    ['claude-desktop', mac, ['/Users/ann/Library/Application Support/Claude/claude_desktop_config.json']],
    ['claude-desktop', windows, ['D:\\Roaming\\Claude\\claude_desktop_config.json']],
    ['claude-code', linux, ['/home/ann/.claude.json', '/work/.mcp.json']],
    ['cursor', windows, ['C:\\Users\\ann\\.cursor\\mcp.json', 'C:\\work\\.cursor\\mcp.json']],
    ['vscode', mac, ['/Users/ann/Library/Application Support/Code/User/mcp.json', '/work/.vscode/mcp.json']],
    ['windsurf', mac, ['/Users/ann/.codeium/windsurf/mcp_config.json']],
    ['zed', mac, ['/Users/ann/.config/zed/settings.json', '/work/.zed/settings.json']],
    ['zed', windows, ['D:\\Roaming\\Zed\\settings.json', 'C:\\work\\.zed\\settings.json']],
    ['gemini', linux, ['/home/ann/.gemini/settings.json', '/work/.gemini/settings.json']],
  ] as const)('of %s have the documented paths (%#)', (id, machine, expected) => {
    expect(paths(id, machine)).toEqual(expected);
  });

  test('have paths that depend on environment variables of the platform', () => {
    expect(paths('zed', { ...linux, configHome: '/etc/ann' })[0]).toBe('/etc/ann/zed/settings.json');
    const { appData: _, ...plain } = windows;
    expect(paths('vscode', plain)[0]).toBe('C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\mcp.json');
    expect(paths('cline', linux)).toHaveLength(2);
  });
});

describe("the entry for a gateway in a client's file", () => {
  test.each([
    ['cursor', { mcpServers: { gw: { url, headers: { 'X-API-Key': '${env:GATEWAY_API_KEY}' } } } }],
    [
      'windsurf',
      { mcpServers: { gw: { serverUrl: url, headers: { 'X-API-Key': '${env:GATEWAY_API_KEY}' } } } },
    ],
    ['gemini', { mcpServers: { gw: { httpUrl: url, headers: { 'X-API-Key': '${GATEWAY_API_KEY}' } } } }],
    [
      'claude-code',
      { mcpServers: { gw: { type: 'http', url, headers: { 'X-API-Key': '${GATEWAY_API_KEY}' } } } },
    ],
    [
      'vscode',
      {
        inputs: [
          {
            type: 'promptString',
            id: 'gateway-api-key',
            description: 'Value of GATEWAY_API_KEY',
            password: true,
          },
        ],
        servers: { gw: { type: 'http', url, headers: { 'X-API-Key': '${input:gateway-api-key}' } } },
      },
    ],
  ])('refers to the API key in the syntax of %s', (id, expected) => {
    expect(documentFor(id, withKey)).toEqual(expected);
  });

  test.each([
    ['zed', { context_servers: { gw: { url } } }],
    ['cline', { mcpServers: { gw: { type: 'streamableHttp', url } } }],
  ])('is a URL for %s if no key is needed', (id, expected) => {
    expect(documentFor(id, direct)).toEqual(expected);
    expect(() => documentFor(id, withKey)).toThrow('does not support this address');
  });

  test('starts a program, and sets the variables that the client does not pass on to it', () => {
    const plain = { command: '/node', args: ['/main.js', 'stdio'] };
    const env = { TOKEN: '${TOKEN}' };
    expect(documentFor('claude-desktop', program)).toEqual({ mcpServers: { gw: { ...plain, env } } });
    // Zed passes the variable on. A value in the file would replace it.
    expect(documentFor('zed', program)).toEqual({ context_servers: { gw: plain } });
    expect(documentFor('cursor', program)).toEqual({
      mcpServers: { gw: { ...plain, env: { TOKEN: '${env:TOKEN}' } } },
    });
    for (const client of clients) expect(canConnect(client, program)).toBe(true);
    expect(canConnect(clientNamed('claude-desktop') ?? clients[1]!, direct)).toBe(false);
  });

  test('is a shell command for Claude Code', () => {
    expect(claudeCodeCommand('gw', withKey)).toBe(
      `claude mcp add --scope user --transport http gw ${url} --header 'X-API-Key: \${GATEWAY_API_KEY}'`,
    );
    expect(claudeCodeCommand('gw', { ...program, args: ["it's"] })).toBe(
      `claude mcp add --scope user --transport stdio gw --env 'TOKEN=\${TOKEN}' -- /node 'it'\\''s'`,
    );
  });
});
