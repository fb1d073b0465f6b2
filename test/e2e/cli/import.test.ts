// From client files to listed tools: `import`, `--check`, and a gateway with `--catalog`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { McpClient } from '../../fixtures/clients/mcp-client.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { mainFile, runMain } from '../../fixtures/gateway/run-main.ts';

const echo = resolve(import.meta.dirname, '../../fixtures/servers/echo.mjs');
const SECRET = 'n0body-may-see-this';

/** Creates a working folder and a home folder with client files. */
function machine() {
  const home = temporaryFolder();
  const cwd = temporaryFolder();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  const server = { command: process.execPath, args: [echo], env: { API_KEY: SECRET, MODE: 'quick' } };
  write('.cursor/mcp.json', JSON.stringify({ mcpServers: { echo: server } }));
  write(
    '.config/Code/User/mcp.json',
    `{
  // The value is requested once.
  "inputs": [{ "type": "promptString", "id": "second-key", "description": "A key", "password": true }],
  "servers": {
    "echo": { "type": "stdio", "command": ${JSON.stringify(process.execPath)}, "args": [${JSON.stringify(echo)}], "env": { "API_KEY": "\${input:second-key}" }, },
    "far": { "type": "http", "url": "http://127.0.0.1:9/mcp", "headers": { "Authorization": "Bearer ${SECRET}" } },
  },
}`,
  );
  write(
    '.cline/data/settings/cline_mcp_settings.json',
    JSON.stringify({ mcpServers: { echo: { ...server, disabled: true } } }),
  );
  write('.gemini/settings.json', '{ "mcpServers": {\n  "a": {} } }');
  // Without the variables of this process, which would count as set.
  const env = { HOME: home, XDG_CONFIG_HOME: '', APPDATA: '' };
  return { home, cwd, env };
}

describe('the command `servers import`', () => {
  test('writes the servers of client configuration files into a catalog, without copying a secret', async () => {
    const { cwd, env } = machine();
    const imported = await runMain(['servers', 'import'], { cwd, env });
    expect([imported.code, imported.stderr]).toEqual([
      0,
      expect.stringMatching(/\.gemini\/settings\.json:2:3: mcpServers\.a: needs a command/),
    ]);
    expect(imported.stdout).toMatch(/^catalog\.yaml has 3 servers$/m);
    expect(imported.stdout).toMatch(
      /^echo +stdio +Cursor \(~\/\.cursor\/mcp\.json:1\), Cline \(~\/\.cline\/.*\)$/m,
    );
    expect(imported.stdout).toMatch(/^echo-vscode +stdio +VS Code .*; renamed from echo/m);
    for (const name of ['API_KEY', 'SECOND_KEY'])
      expect(imported.stdout).toMatch(new RegExp(`^${name} `, 'm'));
    const catalog = readFileSync(join(cwd, 'catalog.yaml'), 'utf8');
    expect(imported.stdout + imported.stderr + catalog).not.toContain(SECRET);
    expect(catalog).toContain('  # from VS Code (~/.config/Code/User/mcp.json:5)\n');

    const secondRun = await runMain(['servers', 'import'], { cwd, env });
    expect([secondRun.code, secondRun.stderr]).toEqual([
      2,
      'error: catalog.yaml already exists; add --force to replace it, or --output FILE to write another file\n',
    ]);
    expect(readFileSync(join(cwd, 'catalog.yaml'), 'utf8')).toBe(catalog);

    const values = { API_KEY: SECRET, SECOND_KEY: 'another-value' };
    const unset = await runMain(['--catalog', 'catalog.yaml', '--check'], { cwd, env });
    expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining('API_KEY is not set')]);
    const checked = await runMain(['--catalog', 'catalog.yaml', '--check'], {
      cwd,
      env: { ...env, ...values },
    });
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    expect(checked.stdout).toMatch(
      /^catalog\.yaml is valid; it has 3 servers\n {2}echo {2}stdio {2}shared\n/,
    );

    const gateway = await startGateway({
      args: ['--catalog', join(cwd, 'catalog.yaml'), '--listen', '127.0.0.1:0'],
      env: { ...env, ...values },
    });
    const client = await McpClient.connect(`${gateway.url}/mcp/echo`);
    expect((await client.client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
    expect(await gateway.stop()).toBe(0);
    expect(gateway.text()).not.toContain(SECRET);
  });

  test('reads one client or one file, and overwrites a catalog only with --force', async () => {
    const { home, cwd, env } = machine();
    const file = join(home, '.config/Code/User/mcp.json');
    writeFileSync(join(cwd, 'out.yaml'), 'mine');
    const output = await runMain(
      ['servers', 'import', '--from', 'vscode', '--output', 'out.yaml', '--force', '--json'],
      {
        cwd,
        env,
      },
    );
    expect([output.code, output.stderr]).toEqual([0, '']);
    expect(JSON.parse(output.stdout)).toMatchObject({
      output: join(cwd, 'out.yaml'),
      servers: [
        { id: 'echo', runtime: 'stdio', enabled: true, from: [{ client: 'VS Code', file, line: 5 }] },
        { id: 'far', runtime: 'http' },
      ],
      variables: [
        { name: 'SECOND_KEY', servers: ['echo'], wasWritten: false },
        { name: 'FAR_TOKEN', servers: ['far'], wasWritten: true, isSet: false },
      ],
    });
    expect(readFileSync(join(cwd, 'out.yaml'), 'utf8')).not.toContain(SECRET);
    const rejectedRun = await runMain(['servers', 'import', join(home, '.gemini/settings.json')], {
      cwd,
      env,
    });
    expect([rejectedRun.code, rejectedRun.stdout]).toEqual([2, '']);
    const none = await runMain(['servers', 'import', '--from', 'zed'], { cwd, env });
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('~/.config/zed/settings.json')]);
  });
});

describe('gateway-stdio --catalog', () => {
  test('serves the servers of an unmodified client configuration file', async () => {
    const { home, env } = machine();
    const file = join(home, '.cursor/mcp.json');
    const child = spawn(
      process.execPath,
      [join(dirname(mainFile), 'stdio.js'), '--catalog', file, '--server', 'echo'],
      {
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'ignore'],
        timeout: 40_000,
        killSignal: 'SIGKILL',
      },
    );
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    for (const message of [
      { id: 1, method: 'initialize', params },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
    ])
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    let output = '';
    for await (const chunk of child.stdout) {
      output += String(chunk);
      if (output.includes('"id":2')) child.stdin.end();
    }
    if (child.exitCode === null) await once(child, 'exit');
    expect(output).toContain('"tools":[{');
  });
});
