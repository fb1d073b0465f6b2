// Servers that run as `docker run …`, with a program in place of the engine: their containers end together
// with the gateway's server. `npm run containers` runs the same with real engines.

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ask, call, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';

const servers = resolve(import.meta.dirname, '../../fixtures/servers');

/** A folder with an engine named docker, and the catalog entry that runs a container on it. */
function engine(options: readonly string[], more: object = {}) {
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'docker'),
    `#!/bin/sh\nexec ${process.execPath} ${join(servers, 'fake-engine.mjs')} "$@"\n`,
  );
  chmodSync(join(bin, 'docker'), 0o755);
  const env = { DOCKER_CONFIG: folder, PATH: `${bin}:${process.env.PATH ?? ''}` };
  const box = { command: 'docker', args: ['run', ...options, 'image'], env, ...more };
  const pidOf = async (gateway: GatewayProcess): Promise<number> =>
    Number((await rpc(gateway.url, 'box', call('pid'))).json.result.content[0].text);
  const calls = () => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
  return { folder, box, pidOf, calls };
}

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** Makes the daemon of the fake engine unreachable, while this file exists (fake-engine.mjs). */
const awayFile = (folder: string) => join(folder, 'away');

const hasContainer = (folder: string) => readdirSync(folder).some((name) => name.endsWith('.json'));

const post = (gateway: GatewayProcess, what: string) =>
  ask(`${gateway.url}/servers/box/${what}`, { method: 'POST' });

test.concurrent.each([
  ['a name from the gateway', ['-i', '--rm']],
  ['a name from its command line', ['-i', '--rm', '--name', 'shop']],
])('a container with %s ends at a stop, and starts again', async (_, options) => {
  const { box, pidOf, calls } = engine(options);
  const gateway = await startGateway({ servers: { box } });
  const first = await pidOf(gateway);
  await post(gateway, 'stop');
  expect(isRunning(first)).toBe(false);
  const second = await pidOf(gateway);
  expect(second).not.toBe(first);
  expect(calls().find((each) => each.startsWith('run '))).toMatch(
    /^run --label actor-gateway\.container=[0-9a-f]{16} --label actor-gateway\.server=box (--name actor-gateway-[0-9a-f]{16} )?-i --rm/,
  );
  await gateway.stop();
  expect(isRunning(second)).toBe(false);
});

test.concurrent('a container of another owner with the same name is left alone', async () => {
  const { folder, box } = engine(['-i', '--rm', '--name', 'shop'], { restart: { intensity: 0 } });
  writeFileSync(join(folder, 'shop.json'), JSON.stringify({ pid: 1, labels: [] }));
  const gateway = await startGateway({ servers: { box } });
  expect((await post(gateway, 'start')).json.message).toContain('is already in use');
  await gateway.stop();
  expect(existsSync(join(folder, 'shop.json'))).toBe(true);
});

test.concurrent('a container ends if its client crashes, before the next start', async () => {
  const { box, pidOf } = engine(['-i', '--rm', '--name', 'shop'], { restart: { min_backoff_ms: 10 } });
  const gateway = await startGateway({ servers: { box } });
  const first = await pidOf(gateway);
  process.kill((await ask(`${gateway.url}/servers/box`)).json.pids[0], 'SIGKILL');
  await eventually('the end of the container', () => Promise.resolve(!isRunning(first)));
  expect(await pidOf(gateway)).not.toBe(first);
  await gateway.stop();
});

test.concurrent('a container of a killed gateway ends when the gateway starts again, even if the first attempt fails', async () => {
  const { folder, box, pidOf } = engine(['-i', '--rm']);
  const gateway = await startGateway({ servers: { box } });
  const pid = await pidOf(gateway);
  await gateway.stop('SIGKILL');
  writeFileSync(awayFile(folder), '');
  const second = await startGateway({ servers: { box }, folder: gateway.folder });
  expect(isRunning(pid)).toBe(true);
  expect(JSON.stringify(second.logs())).toContain('is an orphan and could not be ended');
  await second.stop();
  rmSync(awayFile(folder));
  const third = await startGateway({ servers: { box }, folder: gateway.folder });
  expect(isRunning(pid)).toBe(false);
  await third.stop();
});

test.concurrent('an unreachable container engine is reported, and the container ends when the gateway starts again', async () => {
  const { folder, box, pidOf } = engine(['-i', '--rm']);
  const gateway = await startGateway({ servers: { box } });
  const pid = await pidOf(gateway);
  writeFileSync(awayFile(folder), '');
  await post(gateway, 'stop');
  expect(gateway.logs()).toContainEqual(
    expect.objectContaining({
      msg: 'could not end the container of a server; the next start tries again',
      reason: expect.stringMatching(/^docker kill: Cannot connect to the Docker daemon/),
    }),
  );
  rmSync(awayFile(folder));
  await gateway.stop();
  const next = await startGateway({ servers: { box }, folder: gateway.folder });
  expect(isRunning(pid)).toBe(false);
  await next.stop();
});

test.concurrent.each([
  ['-d', ['-d', '--rm'], /its option -d detaches it from the gateway: remove -d from `args`$/],
  ['no -i', ['--rm'], /its container has no stdin: add -i to `args`, directly after "run"$/],
])('a container with %s is reported with the remedy, and ends', async (_, options, remedy) => {
  const { folder, box, calls } = engine(options, { restart: { intensity: 0 }, start_timeout_seconds: 2 });
  const gateway = await startGateway({ servers: { box }, settings: { shutdown_seconds: 20 } });
  expect((await post(gateway, 'start')).json.message).toMatch(remedy);
  expect(JSON.stringify(gateway.logs())).toMatch(/remove -d from|add -i to/);
  await gateway.stop();
  expect(calls()).toContainEqual(expect.stringMatching(/^kill /));
  expect(hasContainer(folder)).toBe(false);
});
