// If log output cannot be written, lines are lost, but the gateway continues.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { apiServer, call, rpc } from '../../fixtures/clients/api-client.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { mainFile } from '../../fixtures/gateway/run-main.ts';

const full = openSync('/dev/full', 'w');
afterAll(() => closeSync(full));

test('a gateway with its log on a full disk starts, serves and stops normally', async () => {
  const config = writeConfiguration(temporaryFolder(), {
    servers: { api: apiServer() },
    settings: { log_level: 'debug' },
  });
  const child = spawn(process.execPath, [mainFile, '--config', config], {
    stdio: ['ignore', full, 'pipe'],
    // With `npm start` the address is printed on stderr.
    env: { ...process.env, npm_lifecycle_event: 'start' },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const exited = once(child, 'exit');
  let output = '';
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => {
    output += text;
  });
  const url = () => /at (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
  while (url() === undefined && child.exitCode === null)
    await new Promise((resolve) => setTimeout(resolve, 20));
  expect(output).toContain('Try:');
  for (let i = 0; i < 3; i += 1) expect((await rpc(url() ?? '', 'api', call('echo'))).status).toBe(200);
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test('a command reports an output error and fails', async () => {
  const child = spawn(process.execPath, [mainFile, 'machines'], { stdio: ['ignore', full, 'pipe'] });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  expect(await once(child, 'close')).toEqual([1, null]);
  expect(output).toContain('could not write to stdout: ENOSPC');
});
