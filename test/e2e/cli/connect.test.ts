// `connect` with a temporary home folder: the entry in a client file works as the client reads it, and can be
// removed.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { parse } from 'jsonc-parser';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ClientId } from '../../../config/clients/client.ts';
import { clientIds, clientNamed } from '../../../config/clients/client-list.ts';
import { clientFiles } from '../../fixtures/clients/client-files.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { mainFile, runMain } from '../../fixtures/gateway/run-main.ts';

const KEY = 'key-of-the-clients';
let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await startGateway({ servers: { all: everythingOverStdio() }, settings: { api_key: KEY } });
});

/** Creates a home folder with a client file. */
function homeWith(id: ClientId, text: string | undefined) {
  const home = temporaryFolder();
  const machine = { platform: process.platform, home, cwd: home };
  const path = clientNamed(id)?.files(machine)[0]?.path ?? '';
  if (text !== undefined) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, 0o640);
  }
  const env = { HOME: home, XDG_CONFIG_HOME: '', GATEWAY_API_KEY: '' };
  const connect = (...args: string[]) => runMain(['connect', ...args], { env, cwd: home });
  return { home, path, env, connect };
}

interface Entry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly serverUrl?: string;
  readonly httpUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function entryIn(id: ClientId, path: string): Entry {
  const text = readFileSync(path, 'utf8');
  return parse(text)[clientNamed(id)?.root ?? '']['actor-gateway'];
}

/** Replaces references to the key as the client does: only in syntax that the client supports. */
function replaceReferences(
  id: ClientId,
  values: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const patterns = { plain: /^\$\{GATEWAY_API_KEY\}$/, env: /^\$\{env:GATEWAY_API_KEY\}$/ };
  const reference = clientNamed(id)?.reference ?? 'none';
  const pattern = reference === 'input' ? /^\$\{input:gateway-api-key\}$/ : patterns[reference as 'plain'];
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [name, pattern?.test(value) === true ? KEY : value]),
  );
}

async function toolsThrough(id: ClientId, entry: Entry): Promise<string[]> {
  const client = new Client({ name: id, version: '1' });
  const address = entry.url ?? entry.serverUrl ?? entry.httpUrl;
  const transport =
    address === undefined
      ? new StdioClientTransport({
          command: entry.command ?? '',
          args: [...(entry.args ?? [])],
          env: {
            ...(clientNamed(id)?.isPassingEnvironment === true ? { GATEWAY_API_KEY: KEY } : {}),
            ...replaceReferences(id, entry.env),
          },
          stderr: 'ignore',
        })
      : new StreamableHTTPClientTransport(new URL(address), {
          requestInit: { headers: replaceReferences(id, entry.headers) },
        });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

describe('the command `connect`', () => {
  test.concurrent.each(clientIds)(
    'writes a working entry into the file of %s and removes it on undo',
    async (id) => {
      const { home, path, connect } = homeWith(id, clientFiles[id]);
      const keyFile = join(home, 'key');
      writeFileSync(keyFile, `${KEY}\n`);
      // These clients pass only the variables in the file to servers, and replace no references.
      const isBlind = id === 'claude-desktop' || id === 'cline';
      const key = isBlind ? ['--api-key-file', 'key'] : [];
      const written = await connect(id, '--url', gateway.url, ...key, '--write');
      expect([written.code, written.stderr]).toEqual([0, '']);
      expect(written.stdout).toContain('Next: ');
      const entry = entryIn(id, path);
      expect(readFileSync(path, 'utf8')).not.toContain(KEY);
      expect(statSync(path).mode & 0o777).toBe(0o640);
      const backup = `${path}.before-actor-gateway`;
      expect([readFileSync(backup, 'utf8'), statSync(backup).mode & 0o777]).toEqual([clientFiles[id], 0o640]);
      expect(await toolsThrough(id, entry)).toContain('all__echo');

      const undone = await connect(id, '--undo');
      expect([undone.code, undone.stderr]).toEqual([0, '']);
      expect(readFileSync(path, 'utf8')).toBe(clientFiles[id]);
      expect(readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)))).toEqual([
        basename(path),
      ]);
    },
  );

  test.concurrent('prints the change of the client file, and changes the file only with --write', async () => {
    const { path, connect } = homeWith('vscode', clientFiles.vscode);
    const output = await connect('vscode', '--url', gateway.url);
    expect(readFileSync(path, 'utf8')).toBe(clientFiles.vscode);
    await connect('vscode', '--url', gateway.url, '--write');
    const text = readFileSync(path, 'utf8');
    const { inputs, servers } = JSON.parse(output.stdout);
    expect(servers['actor-gateway']).toEqual(entryIn('vscode', path));
    expect(parse(text).inputs.at(-1)).toEqual(inputs[0]);
    const secondRun = await connect('vscode', '--url', gateway.url, '--write', '--json');
    expect(JSON.parse(secondRun.stdout)).toMatchObject({ client: 'vscode', file: path, what: 'unchanged' });
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test.concurrent('with --config makes the client start a gateway process that runs the configured servers', async () => {
    const { path, connect } = homeWith('claude-desktop', undefined);
    const config = writeConfiguration(temporaryFolder(), { servers: { own: everythingOverStdio() } });
    expect((await connect('claude-desktop', '--config', config, '--write')).code).toBe(0);
    const entry = entryIn('claude-desktop', path);
    expect(entry).toEqual({ command: process.execPath, args: [mainFile, 'stdio', '--config', config] });
    expect(await toolsThrough('claude-desktop', entry)).toContain('own__echo');
    // The file did not exist before. It is deleted, even after several changes of the entry.
    await connect('claude-desktop', '--url', gateway.url, '--write');
    expect((await connect('claude-desktop', '--undo')).code).toBe(0);
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test.concurrent('lists the supported clients, each with its file and entry', async () => {
    const { connect, path } = homeWith('zed', clientFiles.zed);
    const states = async () => {
      const { clients } = JSON.parse((await connect('--json')).stdout);
      return clients.flatMap(
        ({ id, files }: { id: string; files: { exists: boolean; connected: boolean }[] }) =>
          files.filter(({ exists }) => exists).map(({ connected }) => `${id} ${connected}`),
      );
    };
    expect(await states()).toEqual(['zed false']);
    await connect('zed', '--url', gateway.url, '--write');
    expect(await states()).toEqual(['zed true']);
    expect((await connect()).stdout).toContain(`zed             connected  user   ${path}`);
  });

  test.concurrent('writes through a symbolic link, and restores the previous entry', async () => {
    const { home, path, connect } = homeWith('cursor', undefined);
    const real = join(home, 'dotfiles.json');
    const text =
      '{"mcpServers": {"actor-gateway": {"url": "http://127.0.0.1:1/mcp"}, "b": {"command": "b"}}}';
    writeFileSync(real, text);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(real, path);
    await connect('cursor', '--url', gateway.url, '--write');
    expect(entryIn('cursor', path).url).toBe(`${gateway.url}/mcp`);
    // The previous entry is restored after further writes and a change by another program.
    await connect('cursor', '--url', `${gateway.url}/mcp/all`, '--write');
    writeFileSync(real, readFileSync(real, 'utf8').replace('"b"', '"c"'));
    expect((await connect('cursor', '--undo', '--json')).stdout).toContain('"restored"');
    expect(readFileSync(real, 'utf8')).toBe(text.replace('"b"', '"c"'));
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });

  test.concurrent.each([
    ['{"mcpServers": {"a": 1,,}}', ':1:24: invalid JSON'],
    ['{\n  "mcpServers": []\n}', ':2:17: "mcpServers" is not an object with servers by name'],
    ['[]', ':1:1: the file is not a JSON object'],
  ])('does not change a client file with the error %j', async (text, error) => {
    const { path, connect } = homeWith('cursor', text);
    const { code, stdout, stderr } = await connect('cursor', '--url', gateway.url, '--write');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(error);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  });

  test.concurrent('reports unsupported input, and never accepts a key as an argument', async () => {
    const { connect } = homeWith('cursor', undefined);
    expect(await connect('cursr')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean cursor?'),
    });
    expect((await connect('codex')).stderr).toContain('codex mcp add actor-gateway --url');
    expect((await connect('windsurf', '--scope', 'project')).stderr).toContain('no file for a project');
    expect((await connect('cursor', '--api-key', KEY)).stderr).not.toContain(KEY);
    expect((await connect('cursor', '--url', `${gateway.url}/mcp/all`, '--profile', 'x')).code).toBe(2);
    const profile = await connect('cursor', '--url', gateway.url, '--profile', 'work');
    expect(profile.stdout).toContain(`"url": "${gateway.url}/mcp/@work"`);
    const code = await connect('claude-code', '--url', gateway.url);
    expect(code.stderr).toContain(
      `claude mcp add --scope user --transport http actor-gateway ${gateway.url}/mcp --header 'X-API-Key: \${GATEWAY_API_KEY}'`,
    );
  });
});

describe('the program', () => {
  test.concurrent.each([
    ['actor-gateway', [], 'actor-gateway [options] [command]'],
    ['actor-gateway', ['stdio'], 'actor-gateway stdio [options]'],
    ['gateway-http', ['top'], 'gateway-http top [options]'],
    ['actor-gateway', ['connect'], 'actor-gateway connect [options] [client]'],
  ] as const)(
    'started by a link with the name %s shows this name in the help of %j',
    async (name, words, usage) => {
      const link = join(temporaryFolder(), name);
      symlinkSync(mainFile, link);
      const { stdout } = spawnSync(process.execPath, [link, ...words, '--help'], { encoding: 'utf8' });
      expect(stdout.split('\n')[0]).toBe(`Usage: ${usage}`);
      const examples = stdout.split('\n').filter((line) => /^ {2}\S+ .*--(config|url|write) /.test(line));
      for (const line of examples.filter((each) => !each.startsWith('  -')))
        expect(line).toMatch(`  ${name} `);
    },
  );
});
