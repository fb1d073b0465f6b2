// Child processes that ignore signals do not survive a stop, the exit of the gateway, or, if the gateway is
// killed, the next start. Foreign processes continue to run.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { callOnce, details, isAlive, json, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { StdioWrapper, stdioFile } from '../../fixtures/gateway/stdio-gateway.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const strays = new Set<number>();
afterAll(() => {
  for (const pid of strays) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

const stubborn = (more: object = {}) => fault('stubborn', { env: { GRANDCHILD: '1' }, ...more });

/** Process and grandchild of the stubborn server. */
async function family({ url }: GatewayProcess, server = 'stubborn'): Promise<number[]> {
  const pids = JSON.parse((await callOnce(url, server, 'pids')).text) as number[];
  for (const pid of pids) strays.add(pid);
  expect(pids).toHaveLength(2);
  expect(pids.every(isAlive)).toBe(true);
  return pids;
}

const recordsOf = (gateway: GatewayProcess) => join(gateway.folder, '.gateway', 'children');

describe.concurrent('a child that ignores SIGTERM and the end of stdin', () => {
  it('has exited, together with its grandchild, when POST stop is answered', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const pids = await family(gateway);
    const { status, body } = await json<{ state: string; pids: number[] }>(
      `${gateway.url}/servers/stubborn/stop`,
      'POST',
    );
    expect([status, body.state, body.pids]).toEqual([200, 'stopped', []]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(readdirSync(recordsOf(gateway)).filter((name) => name.includes(String(pids[0])))).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'has exited within shutdown_seconds after %s to the gateway',
    async (signal) => {
      const gateway = await startGateway({
        servers: { stubborn: stubborn(), second: stubborn() },
        settings: { shutdown_seconds: 3 },
      });
      const pids = [...(await family(gateway)), ...(await family(gateway, 'second'))];
      const stoppedAt = performance.now();
      expect(await gateway.stop(signal)).toBe(0);
      // Sequential grace periods per signal and process would at least double this time.
      expect(performance.now() - stoppedAt).toBeLessThan(8000);
      expect(pids.filter(isAlive)).toEqual([]);
      expect(gateway.text()).not.toMatch(signsOfBugs);
    },
  );

  it('has exited within shutdown_seconds also during a call, and the call gets an error', async () => {
    const gateway = await startGateway({
      servers: { stubborn: stubborn(), echo: fault('echo') },
      settings: { shutdown_seconds: 4 },
    });
    const pids = await family(gateway);
    const hanging = callOnce(gateway.url, 'echo', 'hang');
    await until('the call', async () => (await details(gateway.url, 'echo')).in_flight === 1);
    const stoppedAt = performance.now();
    const exit = gateway.stop();
    const answer = await hanging;
    expect(answer.status).toBe(503);
    expect(answer.error?.message).toMatch(/stop/);
    expect(await exit).toBe(0);
    // The call itself may take a minute.
    expect(performance.now() - stoppedAt).toBeLessThan(12_000);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('is killed, with the grandchild, by the next start after a kill -9 of the gateway', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const pids = await family(gateway);
    await gateway.stop('SIGKILL');
    expect(pids.filter(isAlive)).toEqual(pids);
    const next = await startGateway({ servers: { stubborn: stubborn() }, folder: gateway.folder });
    await until('the end of both', () => pids.filter(isAlive).length === 0);
    expect(next.text()).toContain('terminated an orphaned process of an earlier gateway');
    expect(await family(next)).not.toEqual(pids);
    expect(await next.stop()).toBe(0);
  });

  it('is killed even if the group leader died with the gateway and only the grandchild remained', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const [leader, grandchild] = (await family(gateway)) as [number, number];
    await gateway.stop('SIGKILL');
    process.kill(leader, 'SIGKILL');
    await until('the end of the leader', () => !isAlive(leader));
    expect(isAlive(grandchild)).toBe(true);
    await startGateway({ servers: {}, folder: gateway.folder });
    await until('the end of the grandchild', () => !isAlive(grandchild));
  });

  it('is killed if the gateway stops while the child starts', async () => {
    const gateway = await startGateway({
      servers: { silent: fault('hangs-at-initialize'), slow: fault('echo', { env: { START_MS: '60000' } }) },
      settings: { shutdown_seconds: 2 },
    });
    const waiting = ['silent', 'slow'].map((server) => callOnce(gateway.url, server, 'pid'));
    const pids = await until('both processes', async () => {
      const servers = await Promise.all(['silent', 'slow'].map((server) => details(gateway.url, server)));
      const all = servers.flatMap((server) => server.pids);
      return all.length === 2 ? all : undefined;
    });
    const stoppedAt = performance.now();
    const exit = gateway.stop();
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(503);
    expect(await exit).toBe(0);
    // Each start needs a minute.
    expect(performance.now() - stoppedAt).toBeLessThan(12_000);
    // They are dead but have no parent, so the init process reaps them later.
    await until('the end of both', () => pids.filter(isAlive).length === 0);
  });

  it('is killed when the session ends, under session isolation', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn({ isolation: 'session' }) } });
    const session = await RawSession.open(gateway.url, '/mcp/stubborn');
    const pids = JSON.parse((await session.call('pids')).text) as number[];
    for (const pid of pids) strays.add(pid);
    expect(await session.end()).toBe(204);
    await until('the end of both', () => pids.filter(isAlive).length === 0);
    expect((await session.call('pids')).status).toBe(404);
  });
});

/** A grandchild that leaves its process group, like browsers and daemons. */
const withDaemon = (more: object = {}) => fault('stubborn', { env: { GRANDCHILD: 'session' }, ...more });

describe.skipIf(process.platform !== 'linux').concurrent('a grandchild in a separate process session', () => {
  it('has exited when POST stop is answered, while the grandchild of another server continues', async () => {
    const gateway = await startGateway({ servers: { stubborn: withDaemon(), other: withDaemon() } });
    const pids = await family(gateway);
    const others = await family(gateway, 'other');
    expect((await json(`${gateway.url}/servers/stubborn/stop`, 'POST')).status).toBe(200);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(others.filter(isAlive)).toEqual(others);
    expect(await gateway.stop()).toBe(0);
    expect(others.filter(isAlive)).toEqual([]);
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  it('is killed when the server exits, or the client session ends', async () => {
    const gateway = await startGateway({
      servers: { stubborn: withDaemon(), own: withDaemon({ isolation: 'session' }) },
    });
    const [leader = 0, daemon = 0] = await family(gateway);
    process.kill(leader, 'SIGKILL');
    await until('the end of the daemon', () => !isAlive(daemon));
    const [first, second] = await Promise.all(
      [1, 2].map(async () => {
        const session = await RawSession.open(gateway.url, '/mcp/own');
        const pids = JSON.parse((await session.call('pids')).text) as number[];
        for (const pid of pids) strays.add(pid);
        return { session, pids };
      }),
    );
    await first?.session.end();
    await until('the end of the first', () => first?.pids.filter(isAlive).length === 0);
    expect(second?.pids.filter(isAlive)).toEqual(second?.pids);
  });

  it('is killed by the next start after a kill -9, as is a child without a record', async () => {
    const gateway = await startGateway({ servers: { stubborn: withDaemon(), other: withDaemon() } });
    const pids = [...(await family(gateway)), ...(await family(gateway, 'other'))];
    await gateway.stop('SIGKILL');
    // As if the gateway was killed before it wrote the records.
    rmSync(recordsOf(gateway), { recursive: true });
    expect(pids.filter(isAlive)).toEqual(pids);
    const next = await startGateway({ servers: {}, folder: gateway.folder });
    expect(pids.filter(isAlive)).toEqual([]);
    const logLines = next
      .logs()
      .filter(({ msg }) => msg.startsWith('terminated an orphaned process of an earlier gateway'));
    expect(logLines.map(({ server }) => server).sort()).toEqual(['other', 'stubborn']);
  });

  it('is killed with the children of a nested gateway when that gateway is killed', async () => {
    const inner = temporaryFolder();
    const config = writeConfiguration(inner, { servers: { stubborn: withDaemon() } });
    const gateway = await startGateway({
      servers: { inner: { command: process.execPath, args: [stdioFile, '--config', config] } },
    });
    const { text } = await callOnce(gateway.url, 'inner', 'stubborn__pids');
    const pids = JSON.parse(text) as number[];
    for (const pid of pids) strays.add(pid);
    expect(pids.filter(isAlive)).toHaveLength(2);
    const [innerPid = 0] = (await details(gateway.url, 'inner')).pids;
    process.kill(innerPid, 'SIGKILL');
    await until('the end of both', () => pids.filter(isAlive).length === 0);
  });

  it('is not touched by a gateway with another folder, nor while the owner is alive', async () => {
    const gateway = await startGateway({ servers: { stubborn: withDaemon() } });
    const pids = await family(gateway);
    const beside = new StdioWrapper(['--config', join(gateway.folder, 'gateway.yaml')]);
    await beside.initialize();
    beside.child.stdin.end();
    expect(await beside.exited).toBe(0);
    expect(pids.filter(isAlive)).toEqual(pids);
    await gateway.stop('SIGKILL');
    const otherGateway = await startGateway({ servers: {} });
    expect(await otherGateway.stop()).toBe(0);
    expect(pids.filter(isAlive)).toEqual(pids);
  });
});

describe('a foreign process', () => {
  it('that has the pid of a recorded child is not killed, because its start time differs', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const pids = await family(gateway);
    await gateway.stop('SIGKILL');
    const foreign = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
    await once(foreign, 'spawn');
    const foreignPid = foreign.pid ?? 0;
    strays.add(foreignPid);
    // The record of the real child gets the pid of the foreign process, as if the pid was reused.
    const folder = recordsOf(gateway);
    mkdirSync(folder, { recursive: true });
    const [name = ''] = readdirSync(folder).filter((file) => file.includes(String(pids[0])));
    expect(name).not.toBe('');
    const text = readFileSync(join(folder, name), 'utf8');
    const forged = text.replaceAll(String(pids[0]), String(foreignPid));
    expect(forged).not.toBe(text);
    writeFileSync(join(folder, name.replaceAll(String(pids[0]), String(foreignPid))), forged);
    const next = await startGateway({ servers: {}, folder: gateway.folder });
    await until('the sweep', () => pids.filter(isAlive).length === 0);
    expect(isAlive(foreignPid)).toBe(true);
    // The useless record was removed.
    expect(readdirSync(folder)).toEqual([]);
    expect(await next.stop()).toBe(0);
    expect(isAlive(foreignPid)).toBe(true);
    foreign.kill('SIGKILL');
  });
});
