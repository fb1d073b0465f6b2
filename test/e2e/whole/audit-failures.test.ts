// The audit under failures: full disks with both policies, kills, rotation under load, and manipulated files.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AlarmState } from '../../../src/http/api/alarm-shapes.ts';
import { apiServer, ask, call, eventually, post, rpc } from '../../fixtures/clients/api-client.ts';
import { AUDIT_FILE, auditLine, auditLines, verifyAudit } from '../../fixtures/gateway/audit-lines.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { operatorOf } from '../../fixtures/gateway/operator.ts';

const servers = { api: apiServer() };

/** Settings of an audit in a folder of its own. */
const auditIn = (folder: string, more: object = {}) => ({
  audit: { path: join(folder, AUDIT_FILE), ...more },
});

/** Returns a program that runs node with a small disk at `disk`. While the file `full` exists, it is full. */
function nodeOnSmallDisk(folder: string, disk: string): string {
  const fill = `while [ ! -e '${folder}/end' ]; do if [ -e '${folder}/full' ]; then [ -e '${disk}/filler' ] || head -c 4m /dev/zero > '${disk}/filler' 2> /dev/null; touch '${folder}/is-full'; else rm -f '${disk}/filler' '${folder}/is-full'; fi; sleep 0.05; done`;
  const nodePath = join(folder, 'node-on-small-disk');
  const script = `mount -t tmpfs -o size=512k tmpfs '${disk}'\n(${fill}) &\nexec '${process.execPath}' "$@"\n`;
  writeFileSync(`${nodePath}.inside`, script);
  writeFileSync(nodePath, `#!/bin/sh\nexec unshare --map-root-user --mount sh '${nodePath}.inside' "$@"\n`);
  chmodSync(nodePath, 0o755);
  return nodePath;
}

async function startOnSmallDisk(more: object) {
  const folder = temporaryFolder();
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const nodePath = nodeOnSmallDisk(folder, disk);
  const gateway = await startGateway({ folder, servers, nodePath, settings: auditIn(disk, more) });
  return {
    gateway,
    fill: async () => {
      writeFileSync(join(folder, 'full'), '');
      await eventually('the full disk', () => existsSync(join(folder, 'is-full')));
    },
    free: async () => {
      unlinkSync(join(folder, 'full'));
      await eventually('space', () => !existsSync(join(folder, 'is-full')));
    },
    /** The disk is visible to the gateway only, so its lines are read over HTTP. */
    lines: async (query: string) =>
      (await ask(`${gateway.url}/audit?limit=1000&${query}`, { headers: operatorOf(gateway.url) })).json
        .lines,
    stop: async () => {
      writeFileSync(join(folder, 'end'), '');
      await gateway.stop();
    },
  };
}

const echo = ({ url }: GatewayProcess, id: string) =>
  rpc(url, 'api', call('echo', {}), { 'x-request-id': id });

const alarmsOf = async ({ url }: GatewayProcess) =>
  ((await ask(`${url}/health`)).json.alarms as readonly AlarmState[]).map(({ code }) => code);

describe('a full disk', () => {
  test.concurrent('with when_full: refuse refuses calls and operations before their execution', async () => {
    const { gateway, fill, free, lines, stop } = await startOnSmallDisk({ when_full: 'refuse' });
    const { url } = gateway;
    expect((await echo(gateway, 'before')).status).toBe(200);
    await fill();
    await eventually('a refusal', async () => (await echo(gateway, 'probe')).status === 503);
    const refused = await echo(gateway, 'refused');
    expect([refused.status, refused.json.error.data]).toEqual([503, { reason: 'ERR_AUDIT_UNAVAILABLE' }]);
    expect(refused.headers['retry-after']).toBe('5');
    expect((await post(`${url}/mcp/api`, call('echo'))).status).toBe(503);
    const pids = async () => (await ask(`${url}/servers/api`)).json.pid;
    const before = await pids();
    const operation = { method: 'POST', headers: operatorOf(url) };
    expect((await ask(`${url}/servers/api/stop`, operation)).status).toBe(503);
    expect(await pids()).toBe(before);
    expect(await alarmsOf(gateway)).toContain('audit_not_written');
    expect((await ask(`${url}/servers`)).status).toBe(200);
    await free();
    await eventually('a call', async () => (await echo(gateway, 'after')).status === 200);
    const [refusals] = await lines('action=audit/refused-requests');
    expect(refusals).toMatchObject({ principal: 'gateway', outcome: 'refused' });
    expect(refusals.count).toBeGreaterThanOrEqual(4);
    // Each executed call has a line.
    for (const id of ['before', 'after'])
      expect(
        (await lines('action=tools/call')).some((line: { request_id: string }) => line.request_id === id),
      ).toBe(true);
    expect(await alarmsOf(gateway)).not.toContain('audit_not_written');
    await stop();
  }, 60_000);

  test.concurrent('with when_full: continue costs lines only beyond the memory, and counts them', async () => {
    const { gateway, fill, free, lines, stop } = await startOnSmallDisk({
      ...{ max_bytes: 100_000, keep: 1, arguments: true },
    });
    await fill();
    await eventually('the alarm', async () => {
      await echo(gateway, 'probe');
      return (await alarmsOf(gateway)).includes('audit_not_written');
    });
    const note = 'n'.repeat(4_000);
    for (let n = 0; n < 1_200; n += 100)
      await Promise.all(Array.from({ length: 100 }, () => rpc(gateway.url, 'api', call('echo', { note }))));
    expect((await echo(gateway, 'still')).status).toBe(200);
    await free();
    const dropped = await eventually('the count', async () => (await lines('action=audit/dropped-lines'))[0]);
    expect(dropped).toMatchObject({ principal: 'gateway', outcome: 'dropped' });
    expect(dropped.count).toBeGreaterThan(0);
    expect((await echo(gateway, 'after')).status).toBe(200);
    await eventually('the line', async () =>
      (await lines('action=tools/call')).some((line: { request_id: string }) => line.request_id === 'after'),
    );
    await stop();
  }, 120_000);
});

test('kills at random moments leave files that pass the verification after the next start', async () => {
  const folder = temporaryFolder();
  const settings = auditIn(folder, { max_bytes: 40_000, keep: 50 });
  for (let round = 0; round < 3; round += 1) {
    const gateway = await startGateway({ folder, servers, settings });
    let isRunning = true;
    const load = Array.from({ length: 16 }, async () => {
      while (isRunning) await echo(gateway, 'load').catch(() => {});
    });
    await sleep(200 + Math.random() * 400);
    await gateway.stop('SIGKILL');
    isRunning = false;
    await Promise.all(load);
  }
  const last = await startGateway({ folder, servers, settings });
  const { code, stdout } = await verifyAudit(last);
  expect([code, stdout]).toEqual([0, expect.stringContaining('unchanged')]);
  await last.stop();
}, 60_000);

test('files rotate under load, the chain continues over them, and manipulations are found', async () => {
  const folder = temporaryFolder();
  const settings = auditIn(folder, { max_bytes: 30_000, keep: 3 });
  const gateway = await startGateway({ folder, servers, settings });
  for (let n = 0; n < 40; n += 1) await Promise.all(Array.from({ length: 20 }, () => echo(gateway, `r${n}`)));
  await auditLine(gateway, { request_id: 'r39' });
  expect((await verifyAudit(gateway)).code).toBe(0);
  await gateway.stop();
  const files = readdirSync(folder).filter((name) => name.startsWith(AUDIT_FILE));
  expect(files.sort()).toEqual([AUDIT_FILE, `${AUDIT_FILE}.1`, `${AUDIT_FILE}.2`, `${AUDIT_FILE}.3`]);
  expect((await verifyAudit(gateway)).code).toBe(0);
  const path = join(folder, `${AUDIT_FILE}.2`);
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  const manipulated = async (...changed: string[]) => {
    writeFileSync(path, changed.join('\n'));
    const { code, stdout } = await verifyAudit(gateway);
    writeFileSync(path, text);
    return [code, stdout.replace(/: [^:]*\n$/, '')];
  };
  const [a = '', b = '', c = '', ...rest] = lines;
  expect(await manipulated(a, b.replace('"ok"', '"no"'), c, ...rest)).toEqual([1, `${path}:2: changed`]);
  expect(await manipulated(a, c, ...rest)).toEqual([1, `${path}:2: removed`]);
  expect(await manipulated(a, b, b, c, ...rest)).toEqual([1, `${path}:3: duplicated`]);
  expect(await manipulated(a, c, b, ...rest)).toEqual([1, `${path}:2: moved`]);
  writeFileSync(path, `${[a, c, b, ...rest].join('\n')}`);
  const { stdout } = await verifyAudit(gateway, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    chains: [{ problem: { file: path, line: 2, kind: 'moved' } }],
  });
  writeFileSync(path, text);
  const newest = join(folder, AUDIT_FILE);
  const end = auditLines(gateway).length;
  writeFileSync(newest, readFileSync(newest, 'utf8').split('\n').slice(0, -2).join('\n').concat('\n'));
  expect((await verifyAudit(gateway)).stdout).toContain(`${newest}:${end}: removed`);
}, 60_000);
