// Children that will not go (A5): none outlives a stop, the gateway's end, or the gateway's sudden death and its next
// start; and no process is ended that is not ours.

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

describe.concurrent('a child that ignores SIGTERM and the end of its stdin', () => {
  it('is gone, with its grandchild, when POST stop has answered', async () => {
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
    'is gone after %s to the gateway, within shutdown_seconds',
    async (signal) => {
      const gateway = await startGateway({
        servers: { stubborn: stubborn(), second: stubborn() },
        settings: { shutdown_seconds: 3 },
      });
      const pids = [...(await family(gateway)), ...(await family(gateway, 'second'))];
      const stoppedAt = performance.now();
      expect(await gateway.stop(signal)).toBe(0);
      // One after the other, or with a grace per signal and process, they would take twice that and more.
      expect(performance.now() - stoppedAt).toBeLessThan(8000);
      expect(pids.filter(isAlive)).toEqual([]);
      expect(gateway.text()).not.toMatch(signsOfBugs);
    },
  );

  it('is gone within shutdown_seconds when a call is in flight too, and the call is told', async () => {
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
    // The call would have had a minute.
    expect(performance.now() - stoppedAt).toBeLessThan(12_000);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('is gone, with its grandchild, at the start that follows a kill -9 of the gateway', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const pids = await family(gateway);
    await gateway.stop('SIGKILL');
    expect(pids.filter(isAlive)).toEqual(pids);
    const next = await startGateway({ servers: { stubborn: stubborn() }, folder: gateway.folder });
    await until('the end of both', () => pids.filter(isAlive).length === 0);
    expect(next.text()).toContain('ended a process that an earlier gateway had left behind');
    expect(await family(next)).not.toEqual(pids);
    expect(await next.stop()).toBe(0);
  });

  it('is gone although its leader died with the gateway and only the grandchild was left', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const [leader, grandchild] = (await family(gateway)) as [number, number];
    await gateway.stop('SIGKILL');
    process.kill(leader, 'SIGKILL');
    await until('the end of the leader', () => !isAlive(leader));
    expect(isAlive(grandchild)).toBe(true);
    await startGateway({ servers: {}, folder: gateway.folder });
    await until('the end of the grandchild', () => !isAlive(grandchild));
  });

  it('is gone when the gateway is stopped while it starts', async () => {
    const gateway = await startGateway({
      servers: { silent: fault('hangs-at-initialize'), slow: fault('echo', { env: { START_MS: '60000' } }) },
      settings: { shutdown_seconds: 2 },
    });
    const waiting = ['silent', 'slow'].map((server) => callOnce(gateway.url, server, 'pid'));
    const pids = await until('both processes', async () => {
      const found = await Promise.all(['silent', 'slow'].map((server) => details(gateway.url, server)));
      const all = found.flatMap((server) => server.pids);
      return all.length === 2 ? all : undefined;
    });
    const stoppedAt = performance.now();
    const exit = gateway.stop();
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(503);
    expect(await exit).toBe(0);
    // Both starts would have taken a minute.
    expect(performance.now() - stoppedAt).toBeLessThan(12_000);
    // Killed, but nobody's child any more: whoever inherits it has to notice its end.
    await until('the end of both', () => pids.filter(isAlive).length === 0);
  });

  it('is gone when its session is ended, under session isolation', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn({ isolation: 'session' }) } });
    const session = await RawSession.open(gateway.url, '/mcp/stubborn');
    const pids = JSON.parse((await session.call('pids')).text) as number[];
    for (const pid of pids) strays.add(pid);
    expect(await session.end()).toBe(204);
    await until('the end of both', () => pids.filter(isAlive).length === 0);
    expect((await session.call('pids')).status).toBe(404);
  });
});

/** What leaves its process group on purpose, as browsers and daemons do. */
const withDaemon = (more: object = {}) => fault('stubborn', { env: { GRANDCHILD: 'session' }, ...more });

describe.skipIf(process.platform !== 'linux').concurrent('a grandchild in a session of its own', () => {
  it('is gone when POST stop has answered, and one of a neighbour lives', async () => {
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

  it('is gone when its server has ended by itself, and when its session is over', async () => {
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

  it('is gone at the start that follows a kill -9, and so is a child that no record knows', async () => {
    const gateway = await startGateway({ servers: { stubborn: withDaemon(), other: withDaemon() } });
    const pids = [...(await family(gateway)), ...(await family(gateway, 'other'))];
    await gateway.stop('SIGKILL');
    // As if it had been killed between the start of the processes and their records.
    rmSync(recordsOf(gateway), { recursive: true });
    expect(pids.filter(isAlive)).toEqual(pids);
    const next = await startGateway({ servers: {}, folder: gateway.folder });
    expect(pids.filter(isAlive)).toEqual([]);
    const told = next.logs().filter(({ msg }) => msg.startsWith('ended a process that an earlier gateway'));
    expect(told.map(({ server }) => server).sort()).toEqual(['other', 'stubborn']);
  });

  it('is gone, and what a gateway within the gateway has started, when that one was killed', async () => {
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

  it('is left alone by a gateway with another folder, and by one beside its living owner', async () => {
    const gateway = await startGateway({ servers: { stubborn: withDaemon() } });
    const pids = await family(gateway);
    const beside = new StdioWrapper(['--config', join(gateway.folder, 'gateway.yaml')]);
    await beside.initialize();
    beside.child.stdin.end();
    expect(await beside.exited).toBe(0);
    expect(pids.filter(isAlive)).toEqual(pids);
    await gateway.stop('SIGKILL');
    const elsewhere = await startGateway({ servers: {} });
    expect(await elsewhere.stop()).toBe(0);
    expect(pids.filter(isAlive)).toEqual(pids);
  });
});

describe('a process that is not ours', () => {
  it('is left alone although a record names its pid, because it was started at another time', async () => {
    const gateway = await startGateway({ servers: { stubborn: stubborn() } });
    const pids = await family(gateway);
    await gateway.stop('SIGKILL');
    const foreign = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
    await once(foreign, 'spawn');
    const foreignPid = foreign.pid ?? 0;
    strays.add(foreignPid);
    // The record of the real child, put onto the foreign process's number: as if the number had been used again.
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
    // The record is of no more use and is gone.
    expect(readdirSync(folder)).toEqual([]);
    expect(await next.stop()).toBe(0);
    expect(isAlive(foreignPid)).toBe(true);
    foreign.kill('SIGKILL');
  });
});
