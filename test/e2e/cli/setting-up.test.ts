// From an empty folder to the first call and webhook: `init` with defaults and in a terminal, and bash
// completion.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { mainFile, runMain } from '../../fixtures/gateway/run-main.ts';

const run = promisify(execFile);
const folder = temporaryFolder();
const stops: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(stops.map((stop) => stop())));

/** Starts the gateway on these files with a free port. Returns the address. */
async function startGatewayOn(home: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const file = join(home, 'gateway.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^listen_addr: .*$/m, 'listen_addr: 127.0.0.1:0'));
  const child = spawn(process.execPath, [mainFile, '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  stops.push(async () => {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    await closed;
  });
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk;
  });
  const ready = await eventually('the gateway', () =>
    log.split('\n').find((line) => line.includes('gateway is ready')),
  );
  return `http://127.0.0.1:${JSON.parse(ready).address.port}`;
}

function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const type = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

const readHello = { name: 'read_text_file', arguments: { path: 'hello.txt' } };

/** Bash completions at the line end. Bash splits the line into words. */
async function bashOffers(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const script = `source <(actor-gateway completion bash) && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) &&
    _actor_gateway actor-gateway && printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', script, 'bash', 'actor-gateway', ...words];
  const { stdout, stderr } = await run('bash', args, { env: { ...process.env, ...env } });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

describe('the command `init`', () => {
  test('writes a working setup with defaults, and refuses to overwrite files; bash completes existing names', async () => {
    const home = join(folder, 'mine');
    const first = await runMain(['init', '--yes', home]);
    expect([first.code, first.stderr]).toEqual([0, '']);
    expect(first.stdout).toMatch(/ --config \S+gateway\.yaml\n.* --config \S+gateway\.yaml\n/);
    const before = ['gateway.yaml', 'catalog.yaml'].map((name) => readFileSync(join(home, name), 'utf8'));
    for (const text of before) expect(text.match(/# /g)?.length).toBeGreaterThan(5);
    expect(readdirSync(home).sort()).toEqual(['catalog.yaml', 'files', 'gateway.yaml']);

    const secondRun = await runMain(['init', home, '--yes']);
    expect([secondRun.code, secondRun.stdout]).toEqual([2, '']);
    expect(secondRun.stderr).toContain('gateway.yaml, catalog.yaml exist already');
    expect(['gateway.yaml', 'catalog.yaml'].map((name) => readFileSync(join(home, name), 'utf8'))).toEqual(
      before,
    );

    // The package is not on the PATH. The gateway still finds its programs.
    const checked = await runMain(['--config', join(home, 'gateway.yaml'), '--check']);
    expect([checked.code, checked.stdout]).toEqual([
      0,
      expect.stringMatching(/ has 1 server\n {2}files {2}stdio {2}shared\n$/),
    ]);

    const url = await startGatewayOn(home);
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: readHello };
    const answer = await post(`${url}/rpc`, call, { 'x-mcp-server': 'files' });
    expect(await answer.text()).toContain('Hello from the files of the gateway.');

    const programs = join(folder, 'bin');
    mkdirSync(programs);
    symlinkSync(mainFile, join(programs, 'actor-gateway'));
    const env = { PATH: `${programs}${delimiter}${process.env.PATH}` };
    expect(await bashOffers(['comp'], env)).toEqual(['completion']);
    expect(await bashOffers(['runs', 'c'], env)).toEqual(['cancel']);
    expect(await bashOffers(['servers', 'stop', '--url', 'http', ':', url.slice(5), ''], env)).toEqual([
      'files',
    ]);
    expect(
      await bashOffers(['servers', 'stop', '--url', 'http', ':', '//127.0.0.1', ':', '9', ''], env),
    ).toEqual([]);
    expect(await bashOffers(['runs', '--kind', '=', 'fl'], env)).toEqual(['fleet', 'flow']);
  });

  test('asks questions in a terminal, and writes a working key, webhook and agent', async () => {
    const home = join(folder, 'asked');
    // A client on this machine already uses a server.
    const user = join(folder, 'user');
    mkdirSync(join(user, '.cursor'), { recursive: true });
    const notes = { command: 'node', args: ['notes.mjs'], env: { NOTES_TOKEN: 'a-secret-of-notes' } };
    writeFileSync(join(user, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers: { notes } }));
    const terminal = new Terminal(['init', home], { env: { NO_COLOR: '1', HOME: user } });
    const answers: readonly (readonly [question: RegExp, typed: string])[] = [
      [/Address to listen on\? \[127\.0\.0\.1:8080\] /, 'somewhere\r'],
      [/expected host:port[\s\S]*Address to listen on\? /, '9\r'],
      [/Require a key from clients\? \[y\/N\] /, 'y\r'],
      [/Folder that clients may read and write.* \[\.\/files, - for none\] /, '\r'],
      [/Add a browser.* \[y\/N\] /, '\r'],
      [/Import the servers of .*Cursor.*\? \[y\/N\] /, 'y\r'],
      [/Add a sample webhook and agent .* \[y\/N\] /, 'yes\r'],
    ];
    for (const [question, typed] of answers) {
      await eventually(String(question), () => question.test(terminal.text));
      terminal.type(typed);
    }
    await terminal.waitForExit();
    expect(terminal.text).toMatch(/ENDED 0/);
    expect(terminal.text).toMatch(/curl -H .*127\.0\.0\.1:9\/webhook\/hello/);
    expect(statSync(join(home, '.env')).mode & 0o777).toBe(0o600);
    const [, key = ''] = /^GATEWAY_API_KEY=(\S{32})$/m.exec(readFileSync(join(home, '.env'), 'utf8')) ?? [];
    expect(key).not.toBe('');
    expect(terminal.text).not.toContain(key);

    const catalog = readFileSync(join(home, 'catalog.yaml'), 'utf8');
    expect(catalog).toMatch(/notes:[\s\S]*\$\{NOTES_TOKEN\}[\s\S]*files: #[\s\S]*actor-gateway-files/);
    expect(catalog + terminal.text).not.toContain('a-secret-of-notes');

    // The key is read from .env.
    const url = await startGatewayOn(home, { NOTES_TOKEN: 'x' });
    expect((await fetch(`${url}/servers`)).status).toBe(401);
    expect((await fetch(`${url}/servers`, { headers: { 'x-api-key': key } })).status).toBe(200);
    const greeted = await post(`${url}/webhook/hello`, { text: 'hello' });
    expect(await greeted.json()).toMatchObject({ status: 'done', answer: expect.stringMatching(/^Hello!/) });
  });

  test('writes nothing if the user aborts, and asks no question without a terminal', async () => {
    const home = join(folder, 'left');
    const terminal = new Terminal(['init', home]);
    await eventually('the question', () => /listen on\?/.test(terminal.text));
    terminal.type('\u0003');
    await eventually('the end', () =>
      /nothing was written[\s\S]*ENDED 2[\s\S]*AS BEFORE/.test(terminal.text),
    );
    const { code, stderr } = await runMain(['init', home]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes accepts the defaults')]);
    expect(readdirSync(folder)).not.toContain('left');
  });
});
