// A gateway that was killed during an event starts on a full disk: tools work, an alarm and the triggers
// report the problem, and they resume when there is space.

import { chmodSync, cpSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AlarmState } from '../../../src/http/api/alarm-shapes.ts';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { withoutStalls } from '../../fixtures/gateway/alarms.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** Starts Node with a state folder on a separate disk: copies the previous content, then fills the disk. */
function nodeOnDisk(folder: string, options: string, filling: string): string {
  const state = join(folder, '.gateway');
  cpSync(state, join(folder, 'kept'), { recursive: true });
  const fill = `cp -r '${folder}/kept/.' '${state}' && { { ${filling}; } 2> /dev/null || true; }`;
  const inside = `mount -t tmpfs -o ${options} tmpfs '${state}' && ${fill} && exec '${process.execPath}' "$@"`;
  const nodePath = join(folder, 'node-on-full-disk');
  const script = `#!/bin/sh\nexec unshare --map-root-user --mount sh -c "$(cat '${nodePath}.inside')" sh "$@"\n`;
  writeFileSync(`${nodePath}.inside`, inside);
  writeFileSync(nodePath, script);
  chmodSync(nodePath, 0o755);
  return nodePath;
}

const listOf = async (url: string) => {
  const headers = { 'content-type': 'application/json', 'x-mcp-server': 'tools' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  return (await fetch(`${url}/rpc`, { method: 'POST', headers, body })).text();
};

test('a gateway whose disk accepts no new files serves tools, and reports that its state folder is not locked', async () => {
  const servers = { tools: fault('echo') };
  const before = await startAutomation({ resources: [], servers });
  const { folder } = before;
  await before.stop('SIGKILL');
  const state = join(folder, '.gateway');
  const filling = `i=0; while touch '${state}/filler'$i; do i=$((i + 1)); done`;
  const nodePath = nodeOnDisk(folder, 'size=2m,nr_inodes=40', filling);
  const gateway = await startAutomation({ folder, servers, nodePath });
  expect(await listOf(gateway.url)).toContain('"tools"');
  expect(gateway.logs()).toContainEqual(
    expect.objectContaining({
      msg: 'alarm raised',
      alarm: 'state_folder_unlocked',
      reason: expect.stringContaining('start no other gateway in it'),
    }),
  );
  await gateway.stop();
});

test('an alarm reports a disk that fills up, until there is space', async () => {
  const program = await startAgent();
  const resources = [
    trigger('orders', {
      type: 'HTTP',
      config: { path: '/hooks/orders', webhook_secret: SECRET },
      default_agent: 'orders',
    }),
    httpAgent('orders', program.url),
  ];
  const before = await startAutomation({ resources });
  const { folder } = before;
  await before.stop();
  const state = join(folder, '.gateway');
  const gateway = await startAutomation({ folder, nodePath: nodeOnDisk(folder, 'size=4m', 'true') });
  const health = async () => {
    const response = await fetch(`${gateway.url}/health`);
    const json = (await response.json()) as { triggers?: string; alarms: AlarmState[] };
    return { ...json, alarms: withoutStalls(json.alarms) };
  };
  const alarmLines = () =>
    gateway.logs().flatMap(({ alarm, level, msg }) => (alarm === 'disk_full' ? [`${level} ${msg}`] : []));
  const hook = async (n: number) => (await postHook(gateway.url, '/hooks/orders', { n })).status;
  const countLogLines = (text: string) => gateway.logs().filter(({ msg }) => msg.includes(text)).length;
  expect([await hook(0), (await health()).triggers]).toEqual([202, undefined]);
  const filler = join('/proc', String(gateway.pid), 'root', state, 'filler');
  expect(() => writeFileSync(filler, Buffer.alloc(8_000_000))).toThrow('ENOSPC');
  await eventually(async () => expect(await hook(1)).toBe(503));
  for (let n = 0; n < 20; n += 1) expect(await hook(1)).toBe(503);
  expect(await health()).toMatchObject({
    status: 'ok',
    triggers: expect.stringContaining('no disk space'),
    alarms: [{ code: 'disk_full', severity: 'error' }],
  });
  expect([alarmLines(), countLogLines('could not store an event')]).toEqual([['error alarm raised'], 1]);
  const run = async (...words: string[]) => (await runMain([...words, '--url', gateway.url])).stdout;
  expect(await run('stats')).toMatch(/^ERROR disk_full for \d+s: the store .* has no disk space; free some/);
  expect(await run('triggers')).toMatch(/orders .* open, blocked .* refuses events: disk_full/);
  expect(await run('top', '--once')).toMatch(/\nERROR disk_full for .*\n(.*\n)*orders +open, blocked/);
  rmSync(filler);
  await eventually(async () => expect((await health()).triggers).toBeUndefined(), 20_000);
  expect(await hook(2)).toBe(202);
  expect([(await health()).alarms, alarmLines()]).toEqual([[], ['error alarm raised', 'info alarm cleared']]);
  expect(await run('triggers')).not.toContain('blocked');
  await gateway.stop();
});

test('with a full disk tools are served and webhooks get 503; everything resumes when there is space', async () => {
  let isHanging = true;
  const events: unknown[] = [];
  const program = await startAgent(async ({ body }) => {
    if (isHanging) await new Promise(() => {});
    events.push(body.event.payload);
    return { text: '' };
  });
  const resources = [
    trigger('orders', {
      type: 'HTTP',
      config: { path: '/hooks/orders', webhook_secret: SECRET },
      default_agent: 'orders',
    }),
    httpAgent('orders', program.url),
  ];
  const servers = { tools: fault('echo') };
  const before = await startAutomation({ resources, servers });
  const { folder } = before;
  expect((await postHook(before.url, '/hooks/orders', { n: 1 })).status).toBe(202);
  await eventually(() => expect(program.requests.length).toBe(1));
  await before.stop('SIGKILL');
  isHanging = false;

  const state = join(folder, '.gateway');
  const nodePath = nodeOnDisk(folder, 'size=2m', `head -c 100m /dev/zero > '${state}/filler'`);
  const gateway = await startAutomation({ folder, servers, nodePath });
  const health = async () => (await (await fetch(`${gateway.url}/health`)).json()) as { triggers?: string };
  expect((await health()).triggers).toContain('no disk space');
  const refusal = await postHook(gateway.url, '/hooks/orders', { n: 2 });
  expect(refusal.status).toBe(503);
  expect(await refusal.text()).toContain('cannot be stored at the moment');
  expect(await listOf(gateway.url)).toContain('"tools"');
  // This file system also has space for a long link. On ext4 an inline link occupies no block.
  const lock = join('/proc', String(gateway.pid), 'root', state, 'gateway.lock.2');
  expect(readlinkSync(lock).length).toBeLessThan(60);
  const alarms = () =>
    gateway.logs().flatMap(({ alarm, msg }) => (alarm === undefined ? [] : [`${msg} ${alarm}`]));
  expect(alarms()).toContain('alarm raised disk_full');

  rmSync(join('/proc', String(gateway.pid), 'root', state, 'filler'));
  await eventually(async () => expect((await health()).triggers).toBeUndefined(), 20_000);
  expect((await postHook(gateway.url, '/hooks/orders', { n: 2 })).status).toBe(202);
  await eventually(() => expect(events).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }])), 20_000);
  expect(alarms()).toContain('alarm cleared disk_full');
  await gateway.stop();
});
