// Recent calls in the state folder: they survive `kill -9`, damaged files are skipped, the size is bounded,
// and a full disk affects the list only.

import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { WRITE_MS } from '../../../actors/history/stored-calls.ts';
import type { AlarmState } from '../../../src/http/api/alarm-shapes.ts';
import { apiServer, ask, call, eventually, message, rpc } from '../../fixtures/clients/api-client.ts';
import { allCallsOf, callsOf } from '../../fixtures/clients/recorded-calls.ts';
import {
  type GatewayProcess,
  type GatewaySetup,
  startGateway,
} from '../../fixtures/gateway/gateway-process.ts';

const setup: GatewaySetup = { servers: { api: apiServer() } };

/** Folders of the two logs. */
const logsIn = (folder: string) =>
  ['calls', 'failed-calls'].map((name) => join(folder, '.gateway', 'history', name));
const filesIn = (folder: string) =>
  readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
const textIn = (folder: string) =>
  filesIn(folder)
    .map((path) => readFileSync(path, 'utf8'))
    .join('');
const lastFile = (folder: string) => filesIn(folder).at(-1) ?? '';

const echo = (url: string, note = '') => rpc(url, 'api', call('echo', { note }));
const fail = (url: string) => rpc(url, 'api', call('fail'));

/** Waits until the newest call is stored in its file. */
async function stored({ url, folder }: GatewayProcess): Promise<void> {
  const [newest] = (await callsOf(url, '?limit=1')).calls;
  const [all = ''] = logsIn(folder);
  await eventually('the line', () => existsSync(all) && textIn(all).includes(`\n[${newest?.n},`));
}

const restart = async ({ folder, stop }: GatewayProcess, more: GatewaySetup = {}) => {
  await stop('SIGKILL');
  return startGateway({ ...setup, ...more, folder });
};

describe('recent calls', () => {
  test.concurrent('continue after kill -9 and after a stop, with their details', async () => {
    const first = await startGateway(setup);
    await echo(first.url);
    await fail(first.url);
    await stored(first);
    const before = await allCallsOf(first.url);
    expect(before.map(({ outcome }) => outcome)).toEqual(['protocol', 'ok']);
    const second = await restart(first);
    expect(await allCallsOf(second.url)).toEqual(before);
    await echo(second.url);
    // Immediately: the stop writes the last calls.
    await second.stop();
    const third = await startGateway({ ...setup, folder: first.folder });
    expect((await allCallsOf(third.url)).map(({ n, outcome }) => [n, outcome])).toEqual([
      [3, 'ok'],
      [2, 'protocol'],
      [1, 'ok'],
    ]);
    const modes = logsIn(first.folder)
      .flatMap(filesIn)
      .map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
    await third.stop();
  });

  test.concurrent('are written within 250 ms, and contain no arguments or results', async () => {
    const gateway = await startGateway(setup);
    await echo(gateway.url, 'an-argument-and-a-result');
    const [all = ''] = logsIn(gateway.folder);
    // The write itself takes time too.
    await sleep(WRITE_MS);
    await eventually('the line', () => existsSync(all) && textIn(all).includes('"echo"'), 2_000);
    expect(textIn(all)).not.toContain('an-argument');
    await gateway.stop();
  });

  test.concurrent('a torn last line and damaged lines are skipped, and new calls are readable', async () => {
    const first = await startGateway(setup);
    await echo(first.url);
    await fail(first.url);
    await stored(first);
    await first.stop('SIGKILL');
    for (const log of logsIn(first.folder)) {
      const lines = [
        '[1]',
        '{"n":9}',
        'x'.repeat(5_000),
        '[9,1e99,1,null,null,"m","ok",1,null,null,null,null,null]',
        '[9,17',
      ];
      appendFileSync(lastFile(log), lines.join('\n'));
    }
    const second = await startGateway({ ...setup, folder: first.folder });
    expect((await allCallsOf(second.url)).map(({ n }) => n)).toEqual([2, 1]);
    await echo(second.url);
    await stored(second);
    const third = await restart(second);
    expect((await allCallsOf(third.url)).map(({ n }) => n)).toEqual([3, 2, 1]);
    await third.stop();
  });

  test.concurrent('a file of another version is kept and skipped', async () => {
    const first = await startGateway(setup);
    await echo(first.url);
    await stored(first);
    await first.stop('SIGKILL');
    for (const log of logsIn(first.folder)) {
      mkdirSync(log, { recursive: true });
      const line = '[7,1,1,"api","echo","tools/call","ok",1,null,null,null,null,null]';
      writeFileSync(join(log, '000000007.ndjson'), `{"format":"actor-gateway calls","version":2}\n${line}\n`);
      writeFileSync(join(log, 'notes.txt'), 'not a file of the gateway');
    }
    const second = await startGateway({ ...setup, folder: first.folder });
    expect((await allCallsOf(second.url)).map(({ n }) => n)).toEqual([1]);
    await echo(second.url);
    await stored(second);
    const [all = ''] = logsIn(first.folder);
    expect(readdirSync(all).sort()).toEqual([
      ...['000000001.ndjson', '000000007.ndjson', '000000008.ndjson', 'notes.txt'],
    ]);
    await second.stop();
  });

  test.concurrent('files stay within max_mb, and the oldest are deleted', async () => {
    const gateway = await startGateway({ ...setup, settings: { history: { max_mb: 1 } } });
    const long = message('tools/call', { name: 'n'.repeat(190), arguments: {} });
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(Array.from({ length: 100 }, () => rpc(gateway.url, 'api', long)));
      await sleep(WRITE_MS);
    }
    await stored(gateway);
    const logs = logsIn(gateway.folder);
    const size = logs.flatMap(filesIn).reduce((sum, path) => sum + statSync(path).size, 0);
    expect(size).toBeLessThan(2 * 131_072);
    expect(size).toBeGreaterThan(131_072);
    for (const log of logs) expect(readdirSync(log)).not.toContain('000000001.ndjson');
    const next = await restart(gateway, { settings: { history: { max_mb: 1 } } });
    const numbers = (await allCallsOf(next.url)).map(({ n }) => n);
    expect(numbers[0]).toBe(1_200);
    expect(numbers.length).toBeGreaterThan(200);
    await next.stop();
  });

  test.concurrent('an unreadable folder costs a warning and an alarm, not the gateway', async () => {
    const first = await startGateway(setup);
    await first.stop();
    rmSync(join(first.folder, '.gateway', 'history'), { recursive: true, force: true });
    writeFileSync(join(first.folder, '.gateway', 'history'), 'a file, not a folder');
    const gateway = await startGateway({ ...setup, folder: first.folder });
    expect((await echo(gateway.url)).status).toBe(200);
    await eventually('the alarm', () => alarmLines(gateway).length > 0);
    expect((await allCallsOf(gateway.url)).length).toBe(1);
    await gateway.stop();
  });
});

const alarmLines = (gateway: GatewayProcess) =>
  gateway.logs().filter(({ alarm }) => alarm === 'history_not_stored');

test('a full disk stops writing the call history with one alarm, and writing resumes when there is space', async () => {
  const before = await startGateway(setup);
  await before.stop();
  const { folder } = before;
  const state = join(folder, '.gateway');
  // The disk is only visible to the gateway, which removes the filler on request.
  const inside = `mount -t tmpfs -o size=256k tmpfs '${state}' && head -c 1m /dev/zero > '${state}/filler' 2> /dev/null; (while [ ! -e '${folder}/space' ]; do sleep 0.1; done; rm '${state}/filler') & exec '${process.execPath}' "$@"`;
  const nodePath = join(folder, 'node-on-full-disk');
  writeFileSync(`${nodePath}.inside`, inside);
  writeFileSync(
    nodePath,
    `#!/bin/sh\nexec unshare --map-root-user --mount sh -c "$(cat '${nodePath}.inside')" sh "$@"\n`,
  );
  chmodSync(nodePath, 0o755);
  const gateway = await startGateway({ ...setup, folder, nodePath });
  for (let n = 0; n < 3; n += 1) {
    expect((await echo(gateway.url)).status).toBe(200);
    await sleep(2 * WRITE_MS);
  }
  expect(alarmLines(gateway)).toEqual([
    expect.objectContaining({ msg: 'alarm raised', level: 'warn', reason: expect.stringMatching(/ENOSPC/) }),
  ]);
  expect((await allCallsOf(gateway.url)).length).toBe(3);
  const { alarms } = (await ask(`${gateway.url}/health`)).json as { alarms: AlarmState[] };
  expect(alarms.map(({ code }) => code)).toContain('history_not_stored');
  writeFileSync(join(folder, 'space'), '');
  await eventually('the end of the alarm', () =>
    alarmLines(gateway).some(({ msg }) => msg === 'alarm cleared'),
  );
  await gateway.stop();
}, 60_000);
