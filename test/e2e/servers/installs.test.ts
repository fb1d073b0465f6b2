// Servers that the real npx installs at their first start, from a local registry. An installation has its own
// time limit, few run at a time, and no interruption damages the cache of npm.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { details, json, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewaySetup,
  startGateway,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { configured, StdioWrapper } from '../../fixtures/gateway/stdio-gateway.ts';
import { NpmRegistry } from '../../fixtures/registry/npm-registry.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

/** Also sufficient on a busy machine. */
const START_SECONDS = 15;
const CHANGED = 'notifications/tools/list_changed';

interface Installing {
  readonly installing: {
    readonly program: string;
    readonly is_waiting: boolean;
    readonly lines: number;
  } | null;
}

const installingOf = async (url: string, id: string) =>
  ((await details(url, id)) as unknown as Installing).installing;

/** Returns a registry of these packages, and a catalog entry for each. */
async function packages(names: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  const registry = await NpmRegistry.open();
  const { env } = registry;
  const entries = names.map((name) => {
    registry.add(name);
    return [name, { command: 'npx', args: ['-y', name], env, ...more }] as const;
  });
  return { registry, servers: Object.fromEntries(entries) };
}

const foldersOf = ({ home }: NpmRegistry) => {
  const cache = join(home, '.npm/_npx');
  return existsSync(cache) ? readdirSync(cache).map((name) => join(cache, name)) : [];
};

const isComplete = (folder: string) => existsSync(join(folder, 'node_modules/.package-lock.json'));

/** Resolves when npx has written part of the package folder, and the registry holds back the rest. */
const untilHalfWritten = (registry: NpmRegistry, name: string) =>
  until('the request of the dependency', () =>
    registry.requests.some((url) => url.includes(`/${name}-part/-/`)),
  );

/** Runs the package with npx, outside the gateway. */
const runAlone = ({ env }: NpmRegistry, name: string) => {
  const running = promisify(execFile)('npx', ['-y', name], {
    env: { PATH: process.env.PATH, ...env },
    timeout: 60_000,
  });
  running.child.stdin?.end();
  return running;
};

const quickList = { list_timeout_seconds: 0.5 };
const gatewayWith = (setup: GatewaySetup) =>
  startGateway({ ...setup, settings: { ...quickList, ...setup.settings } });

describe.concurrent('a first start by npx', () => {
  test('has its own time limit, is shown as installing, and announces its list', async () => {
    const { registry, servers } = await packages(['one'], { start_timeout_seconds: START_SECONDS });
    const release = registry.hold('one');
    const { url, logs, text } = await gatewayWith({ servers });
    const session = await RawSession.open(url);
    const stream = await session.listen();
    expect((await session.request('tools/list')).result).toMatchObject({ tools: [] });
    await untilHalfWritten(registry, 'one');
    expect(await details(url, 'one')).toMatchObject({ state: 'starting' });
    expect(await installingOf(url, 'one')).toMatchObject({ program: 'npx', is_waiting: false });
    // Longer than the start timeout.
    await new Promise((resolve) => setTimeout(resolve, (START_SECONDS + 1) * 1000));
    expect((await installingOf(url, 'one'))?.lines).toBeGreaterThan(1);
    release();
    await until('the notification', () => stream.messages.length > 0);
    expect(stream.messages.map(({ method }) => method)).toEqual([CHANGED]);
    expect((await session.request('tools/list')).result).toMatchObject({ tools: [{ name: 'one__tool' }] });
    expect(await installingOf(url, 'one')).toBeNull();
    expect(logs().filter(({ msg }) => msg === 'server failed')).toEqual([]);
    expect(text()).not.toMatch(signsOfBugs);
  });

  test('waits for earlier installations: two run at a time, and servers with the same package share one', async () => {
    const { registry, servers } = await packages(['a', 'b', 'c']);
    const releases = ['a', 'b', 'c'].map((name) => registry.hold(name));
    const { url } = await gatewayWith({
      servers: { ...servers, again: { ...servers.a, idle_timeout_seconds: 9 } },
    });
    const session = await RawSession.open(url);
    await session.request('tools/list');
    const states = await Promise.all(['a', 'b', 'c', 'again'].map((id) => installingOf(url, id)));
    expect(states.map((each) => each?.is_waiting)).toEqual([false, false, true, false]);
    for (const release of releases) release();
    await until('all tools', async () => {
      const { result } = await session.request('tools/list');
      return (result as { tools: unknown[] }).tools.length === 4;
    });
    expect(registry.requests.filter((url) => url === '/a/-/a-1.0.0.tgz')).toHaveLength(1);
  });

  test.each(['stop', 'reload', 'remove'] as const)('continues after a %s of its server', async (how) => {
    const { registry, servers } = await packages(['one']);
    const release = registry.hold('one');
    const gateway = await gatewayWith({ servers });
    await (await RawSession.open(gateway.url)).request('tools/list');
    await untilHalfWritten(registry, 'one');
    if (how === 'stop') await json(`${gateway.url}/servers/one/stop`, 'POST');
    else {
      gateway.writeCatalog(how === 'remove' ? {} : { one: { ...servers.one, idle_timeout_seconds: 7 } });
      await json(`${gateway.url}/admin/reload`, 'POST');
    }
    release();
    await until('the end', () => gateway.logs().some(({ msg }) => msg === 'installed a server'));
    expect(foldersOf(registry).map(isComplete)).toEqual([true]);
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  test('leaves no damaged folder if the gateway stops or is killed, or its client disconnects', async () => {
    const { registry, servers } = await packages(['one', 'two', 'three']);
    const releases = ['one', 'two', 'three'].map((name) => registry.hold(name));
    const pick = (id: 'one' | 'two' | 'three') => ({ [id]: servers[id] });
    const [stopped, killed] = await Promise.all([
      gatewayWith({ servers: pick('one') }),
      gatewayWith({ servers: pick('two') }),
    ]);
    const wrapper = new StdioWrapper(configured({ servers: pick('three') }));
    await wrapper.initialize();
    for (const { url } of [stopped, killed]) await (await RawSession.open(url)).request('tools/list');
    for (const name of ['one', 'two', 'three']) await untilHalfWritten(registry, name);
    wrapper.child.stdin.end();
    await Promise.all([stopped.stop(), killed.stop('SIGKILL'), wrapper.exited]);
    // Stopped gateways rename incomplete folders to `….unfinished-…`. After the kill, npx still fills its
    // folder.
    expect(foldersOf(registry).filter((folder) => !folder.includes('.unfinished-'))).toHaveLength(1);
    for (const release of releases) release();
    await until('the end of the installation by the killed gateway', () =>
      foldersOf(registry).some(isComplete),
    );
    for (const name of ['one', 'two', 'three'])
      expect((await runAlone(registry, name)).stderr).not.toContain('Error');
  });

  test('that exceeds install_timeout_seconds fails, and the next start installs again', async () => {
    const { registry, servers } = await packages(['one'], { restart: { intensity: 0 } });
    const release = registry.hold('one');
    const { url, writeCatalog } = await gatewayWith({
      servers: { one: { ...servers.one, install_timeout_seconds: 8 } },
    });
    const { status, body } = await json(`${url}/servers/one/start`, 'POST');
    expect([status, body.message]).toEqual([504, expect.stringContaining('raise install_timeout_seconds')]);
    expect(foldersOf(registry).filter((folder) => !folder.includes('.unfinished-'))).toEqual([]);
    release();
    writeCatalog(servers);
    await json(`${url}/admin/reload`, 'POST');
    expect((await json(`${url}/servers/one/start`, 'POST')).status).toBe(200);
  });

  test('that fails is retried while a client awaits the list', async () => {
    const { registry, servers } = await packages(['one'], { restart: { min_backoff_ms: 50 } });
    registry.unavailable.add('one');
    const gateway = await gatewayWith({ servers });
    const session = await RawSession.open(gateway.url);
    const stream = await session.listen();
    await session.request('tools/list');
    await until('a failure', () => gateway.logs().some(({ msg }) => msg === 'server failed'));
    expect((await details(gateway.url, 'one')).last_error?.message).toMatch(
      /could not be installed: npx failed with 1.*503/,
    );
    registry.unavailable.clear();
    await until('the notification', () => stream.messages.length > 0);
    expect((await session.request('tools/list')).result).toMatchObject({ tools: [{ name: 'one__tool' }] });
  });
});

test('the command `warm` installs the servers of a catalog, and reports failures', async () => {
  const { registry, servers } = await packages(['one', 'two']);
  registry.unavailable.add('two');
  const config = writeConfiguration(temporaryFolder(), { servers: { ...servers, other: fault('echo') } });
  const warm = (...names: readonly string[]) => {
    const args = [resolve('dist/main.js'), 'warm', '--config', config, ...names];
    return promisify(execFile)(process.execPath, args).catch((error: unknown) => error);
  };
  expect(await warm('one')).toMatchObject({ stdout: 'installed 1 server\n' });
  expect(foldersOf(registry).map(isComplete)).toEqual([true]);
  expect(await warm()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^server two could not be installed: npx failed with 1.*503/),
  });
  // A misspelled id: the error suggests `one`.
  expect(await warm('on')).toMatchObject({ code: 2, stderr: expect.stringContaining('one') });
});

test('a damaged folder of npx is reported with the command that repairs it', async () => {
  // npx checks and repairs packages that have no version.
  const spec = 'one@1.0.0';
  const { registry, servers } = await packages(['one'], { args: ['-y', spec], restart: { intensity: 0 } });
  await runAlone(registry, spec);
  const [folder = ''] = foldersOf(registry);
  const part = join(folder, 'node_modules/one-part/package.json');
  writeFileSync(part, readFileSync(part, 'utf8').replace('"main":"index.js"', '"exports":"./absent.js"'));
  const { url } = await gatewayWith({ servers });
  const start = () => json(`${url}/servers/one/start`, 'POST');
  expect((await start()).body.message).toContain(`remove it: rm -rf ${folder}`);
  rmSync(folder, { recursive: true });
  expect((await start()).status).toBe(200);
});
