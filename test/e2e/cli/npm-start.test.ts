// `npm start` runs scripts/start.mjs through a shell that forwards no signals. Arguments after `--` are a
// command, or options of the gateway.

import { spawn, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';

const root = resolve(import.meta.dirname, '../../..');

test('a gateway started by npm prints a greeting on stderr, logs on stdout, and exits when the npm shell is killed', async () => {
  const config = writeConfiguration(temporaryFolder(), { servers: { one: { command: 'node' } } });
  // Because of the second command the shell cannot replace itself with the gateway.
  const shell = spawn('sh', ['-c', `node scripts/start.mjs --config '${config}'; true`], {
    cwd: root,
    env: { ...process.env, npm_lifecycle_event: 'start' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  shell.stdout.on('data', (chunk) => (stdout += chunk));
  shell.stderr.on('data', (chunk) => (stderr += chunk));
  const closed = new Promise((done) => shell.once('close', done));
  await eventually(
    'the greeting',
    () => stderr.includes('in a browser') && stdout.includes('gateway is ready'),
  );
  expect(stderr).toMatch(
    /actor-gateway 0\.1\.0 at http:\/\/127\.0\.0\.1:\d+ \(.*\), 1 server:\n {2}one {2}starts on demand/,
  );
  // The suggested command works in this folder.
  const [, tools = '', url] = /^ {2}node (.*) --url (http:\S+)$/m.exec(stderr) ?? [];
  expect(tools).toBe('dist/main.js tools --server one');
  const listed = spawnSync(process.execPath, ['dist/main.js', 'servers', '--url', url ?? ''], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(listed.stdout).toMatch(/^one +stopped/m);
  shell.kill('SIGTERM');
  // Both pipes close when the gateway has exited.
  await closed;
  expect(stdout).toContain('"msg":"stopped"');
});

const start = (args: readonly string[]) =>
  spawnSync(process.execPath, ['scripts/start.mjs', ...args], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, npm_lifecycle_event: 'start' },
  });

test.each([
  [['machines', 'show', 'server'], 0, /^stateDiagram-v2[\s\S]*parked/],
  [['help'], 0, /Tool servers:\n {2}servers /],
  [['--help'], 0, /--config <file>/],
  [['-V'], 0, /^\d+\.\d+\.\d+\n$/],
  [['servers', '--help'], 0, /npm start -- servers/],
  [['top', '--help'], 0, /npm start -- top/],
  // No process can listen on this port.
  [['stats', '--url', 'http://127.0.0.1:1'], 1, /^$/],
  [['servers', '-c', 'none.yaml'], 2, /^$/],
  [['no-such-command'], 2, /^$/],
  [['-cnone.yaml', '--check'], 2, /^$/],
  [['--catalog', 'none.yaml', '--check'], 2, /^$/],
] as const)('npm start -- %j is passed on unchanged', (args, code, pattern) => {
  const { status, stdout, stderr } = start(args);
  expect([status, stderr]).toEqual([code, code === 0 ? '' : expect.any(String)]);
  expect(stderr).not.toContain('gateway.yaml');
  expect(stdout).toMatch(pattern);
});

test('npm start -- --check checks the example configuration', () => {
  const { status, stdout } = start(['--check']);
  expect(status).toBe(0);
  expect(stdout).toContain('gateway.yaml');
});
