// A gateway that was killed while an event ran starts on a disk without any room: its tools work, its triggers say that they do
// not, and go on by themselves when there is room again.

import { chmodSync, cpSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** A Node whose state folder is a disk of its own, with what was in it before, which is then filled. */
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

test('on a disk that takes no further file tools are served, without a lock', async () => {
  const servers = { tools: fault('echo') };
  const before = await startAutomation({ resources: [], servers });
  const { folder } = before;
  await before.stop('SIGKILL');
  const state = join(folder, '.gateway');
  const filling = `i=0; while touch '${state}/filler'$i; do i=$((i + 1)); done`;
  const nodePath = nodeOnDisk(folder, 'size=2m,nr_inodes=40', filling);
  const gateway = await startAutomation({ folder, servers, nodePath });
  expect(await listOf(gateway.url)).toContain('"tools"');
  expect(gateway.logs().map(({ msg }) => msg)).toContain(
    'the state folder is not locked: start no other gateway in it',
  );
  await gateway.stop();
});

test('a disk that fills up is told by /health and two lines of the log until there is room', async () => {
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
  const health = async () => (await (await fetch(`${gateway.url}/health`)).json()) as { triggers?: string };
  const hook = async (n: number) => (await postHook(gateway.url, '/hooks/orders', { n })).status;
  const toldOf = (text: string) => gateway.logs().filter(({ msg }) => msg.includes(text)).length;
  expect([await hook(0), (await health()).triggers]).toEqual([202, undefined]);
  const filler = join('/proc', String(gateway.pid), 'root', state, 'filler');
  expect(() => writeFileSync(filler, Buffer.alloc(8_000_000))).toThrow('ENOSPC');
  await eventually(async () => expect(await hook(1)).toBe(503));
  for (let n = 0; n < 20; n += 1) expect(await hook(1)).toBe(503);
  expect((await health()).triggers).toContain('no room');
  expect([toldOf('the disk of the store is full'), toldOf('was refused')]).toEqual([1, 1]);
  rmSync(filler);
  await eventually(async () => expect((await health()).triggers).toBeUndefined(), 20_000);
  expect([await hook(2), toldOf('the disk of the store has room again')]).toEqual([202, 1]);
  await gateway.stop();
});

test('on a full disk tools are served, webhooks get 503, and all goes on when there is room', async () => {
  let isHanging = true;
  const handled: unknown[] = [];
  const program = await startAgent(async ({ body }) => {
    if (isHanging) await new Promise(() => {});
    handled.push(body.event.payload);
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
  expect((await health()).triggers).toContain('no room');
  const refused = await postHook(gateway.url, '/hooks/orders', { n: 2 });
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain('cannot be stored at the moment');
  expect(await listOf(gateway.url)).toContain('"tools"');
  // Here also a long link has room; on ext4 one has that needs no block.
  const lock = join('/proc', String(gateway.pid), 'root', state, 'gateway.lock.2');
  expect(readlinkSync(lock).length).toBeLessThan(60);
  expect(gateway.logs().map(({ msg }) => msg)).toContain(
    'triggers do not work: the store cannot be opened; it is tried again',
  );

  rmSync(join('/proc', String(gateway.pid), 'root', state, 'filler'));
  await eventually(async () => expect((await health()).triggers).toBeUndefined(), 20_000);
  expect((await postHook(gateway.url, '/hooks/orders', { n: 2 })).status).toBe(202);
  await eventually(() => expect(handled).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }])), 20_000);
  await gateway.stop();
});
