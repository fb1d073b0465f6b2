// The npm package, installed into an empty folder: behaviour outside a checkout.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
const app = join(temporaryFolder(), 'app');
const installed = join(app, 'node_modules', 'actor-gateway');
/** About 121 MB; half of that are addons for HTTP and the store. */
const MOST_MEGABYTES = 133;

let output = '';
beforeAll(async () => {
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"private":true,"type":"module"}');
  // No scripts, because they build into the folder of other tests.
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', app];
  const { stdout } = await run('npm', pack, { cwd: root });
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${stdout.trim()}`];
  const { stdout: out, stderr } = await run('npm', install, { cwd: app });
  output = out + stderr;
});

function bytesIn(folder: string): number {
  const sizes = readdirSync(folder, { recursive: true }).map((name) => {
    const status = lstatSync(join(folder, String(name)));
    return status.isFile() ? status.size : 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

test('the package is installed without a warning about this version of Node, and is small', () => {
  expect(output).not.toContain('EBADENGINE');
  expect(bytesIn(join(app, 'node_modules')) / 1e6).toBeLessThan(MOST_MEGABYTES);
});

test('the package contains the licences of bundled packages', () => {
  const licences = readFileSync(join(installed, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['@modelcontextprotocol/sdk', 'xstate', 'uWebSockets.js', 'yaml', 'zod'])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
});

test('the package runs by each of its command names, and serves with the fast HTTP engine if Node supports it', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(bin)) {
    const { stdout } = await run(join(app, 'node_modules', '.bin', name), ['--version'], { cwd: app });
    expect(stdout.trim()).toBe(version);
  }
  writeFileSync(join(app, 'gateway.yaml'), 'listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\n');
  const server = 'node_modules/actor-gateway/dist/tool-servers/filesystem.js';
  const files = { command: 'node', args: [server, '.'] };
  writeFileSync(join(app, 'catalog.yaml'), JSON.stringify({ servers: { files } }));
  const child = spawn(join(app, 'node_modules', '.bin', 'gateway-http'), ['--config', 'gateway.yaml'], {
    cwd: app,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk;
  });
  await expect.poll(() => log, { timeout: 20_000 }).toContain('gateway is ready');
  const ready = log.split('\n').find((line) => line.includes('gateway is ready')) ?? '';
  const { http, address } = JSON.parse(ready);
  const hasAddon = ['115', '127'].includes(process.versions.modules);
  expect(http).toBe(hasAddon && process.env.GATEWAY_HTTP !== 'node' ? 'uWebSockets.js' : 'node:http');
  const response = await fetch(`http://127.0.0.1:${address.port}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mcp-server': 'files' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  expect(await response.text()).toContain('read_text_file');
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
});

test('the package installs no Playwright, and the browser server names the missing package', async () => {
  expect(existsSync(join(app, 'node_modules', 'playwright-core'))).toBe(false);
  const client = new Client({ name: 'test', version: '1' });
  const command = join(app, 'node_modules', '.bin', 'actor-gateway-browser');
  await client.connect(
    new StdioClientTransport({ command, args: ['--browser-path', process.execPath], cwd: app }),
  );
  try {
    const call = { name: 'browser_navigate', arguments: { url: 'https://example.com/' } };
    expect(await client.callTool(call)).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(/playwright-core is not installed.*npm install playwright-core/) },
      ],
    });
  } finally {
    await client.close();
  }
});

test('the package has one file of type declarations, which compiles in strict mode', async () => {
  const declarations = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(declarations.filter((name) => name.endsWith('.d.ts'))).toEqual(['core.d.ts']);
  for (const name of ['@modelcontextprotocol/sdk', '@types/node']) {
    mkdirSync(join(app, 'node_modules', dirname(name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(app, 'node_modules', name));
  }
  copyFileSync(join(root, 'test/fixtures/consumer.mts'), join(app, 'consumer.mts'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
  const compile = [tsc, ...flags, '--module', 'nodenext', '--ignoreConfig', 'consumer.mts'];
  const { stdout } = await run(process.execPath, compile, { cwd: app });
  expect(stdout).toBe('');
});

test('the package can be imported as a library, which also opens the configuration written by `init`', async () => {
  const bin = join(app, 'node_modules', '.bin', 'actor-gateway');
  const init = await run(bin, ['init', '--yes', 'made'], { cwd: app });
  expect(init.stdout).toContain('  npx actor-gateway --config made/gateway.yaml\n');
  const program = `import { openGateway } from 'actor-gateway';
    const gateway = await openGateway('gateway.yaml');
    const { content } = await gateway.call('files', 'list_directory', { path: '.' });
    console.log(content[0].text);
    await gateway.stop();
    const made = await openGateway('made/gateway.yaml');
    const hello = await made.call('files', 'read_text_file', { path: 'hello.txt' });
    console.log(hello.content[0].text);
    await made.stop();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: app });
  expect(stdout).toContain('[FILE] catalog.yaml');
  expect(stdout).toContain('Hello from the files of the gateway.');
});
