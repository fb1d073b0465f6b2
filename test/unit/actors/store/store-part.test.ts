// The store as a gateway part: opened on first use, shared, and closed after the last user.

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StoreFullError, StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { GatewayRuntime, GatewayRuntimeOptions } from '../../../../actors/gateway/gateway.ts';
import type { OpenStore, PrepareStore, StoreHost } from '../../../../actors/store/store-part.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import { bootGateway } from '../../../fixtures/gateway/boot-gateway.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';

let folder = '';
let gateway: GatewayRuntime | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-store-'));
  await writeFile(join(folder, 'catalog.yaml'), '{"servers":{}}');
  const settings = { listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', state_dir: './state' };
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(settings));
});
afterEach(async () => {
  vi.useRealTimers();
  await gateway?.stop();
  gateway = undefined;
  await rm(folder, { recursive: true });
});

async function startPart(
  options: Partial<GatewayRuntimeOptions>,
  boot?: (gateway: GatewayRuntime) => Promise<unknown>,
): Promise<GatewayRuntime> {
  const loaded = await loadConfig(join(folder, 'gateway.yaml'), {});
  gateway = await bootGateway({ ...loaded, ...options }, boot);
  return gateway;
}

/** Creates a store factory that prepares the store before it returns, like the engine. */
function factory(store = new MemoryStore()) {
  const hosts: StoreHost[] = [];
  const open = vi.fn<OpenStore>(async (_, host) => {
    hosts.push(host);
    await host.prepare(store);
    return store;
  });
  return { open, store, hosts };
}

const user = () => vi.fn<PrepareStore>(async () => {});

test('a gateway never opens its store if no part uses the store', async () => {
  const { open } = factory();
  const { store } = await startPart({ openStore: open });
  await gateway?.stop();
  expect(open).not.toHaveBeenCalled();
  expect([store, gateway?.alarms.list, existsSync(join(folder, 'state', 'store.sqlite'))]).toEqual([
    expect.anything(),
    [],
    false,
  ]);
});

test('all users of the store receive the same store, opened once and prepared for each user', async () => {
  const { open, store } = factory();
  const { store: part } = await startPart({ openStore: open });
  const [one, two, late] = [user(), user(), user()];
  expect(await Promise.all([part.open(one), part.open(two)])).toEqual([store, store]);
  expect(await part.open(late)).toBe(store);
  expect(open).toHaveBeenCalledTimes(1);
  for (const each of [one, two, late]) expect(each.mock.calls).toEqual([[store]]);
});

test('the store that failed to open is opened again for the next user', async () => {
  const { open, store } = factory();
  open.mockRejectedValueOnce(new StoreUnavailableError('damaged'));
  const { store: part } = await startPart({ openStore: open });
  const refused = user();
  await expect(part.open(refused)).rejects.toThrow('damaged');
  expect(await part.open(user())).toBe(store);
  expect(refused).not.toHaveBeenCalled();
});

test('opening the store is rejected if the gateway has no store factory', async () => {
  const { store } = await startPart({});
  await expect(store.open(user())).rejects.toThrow('this gateway has no store');
});

test('the store closes after the parts that use it and before the release of the state folder, and stays closed', async () => {
  const { open, store } = factory();
  const order: string[] = [];
  const lock = () => existsSync(join(folder, 'state', 'gateway.lock.1'));
  store.close = async () => void order.push(`closed, ${lock() ? 'with' : 'without'} the lock of the folder`);
  const drain = async () => void order.push('work drained');
  await startPart({ openStore: open }, ({ life, store: part }) =>
    life.boot('work', async () => {
      await part.open(user());
      return { drain };
    }),
  );
  await gateway?.stop();
  expect(order).toEqual(['work drained', 'closed, with the lock of the folder']);
  await expect(gateway?.store.open(user())).rejects.toMatchObject({ code: 'ERR_STOPPED' });
});

test('the store notifies its users when a full disk has space', async () => {
  const { open, store, hosts } = factory();
  open.mockImplementationOnce(async (_, host) => {
    hosts.push(host);
    host.onMissing(new StoreFullError('no space'));
    return store;
  });
  const { store: part } = await startPart({ openStore: open });
  const [early, later, listener] = [user(), user(), vi.fn()];
  await part.open(early);
  await part.open(later);
  part.onLateOpen(listener);
  expect(gateway?.alarms.list).toMatchObject([{ code: 'disk_full', message: 'no space' }]);
  expect(early).not.toHaveBeenCalled();
  await hosts[0]?.prepare(store);
  expect(listener).not.toHaveBeenCalled();
  hosts[0]?.onOpened();
  for (const each of [early, later, listener]) expect(each).toHaveBeenCalledTimes(1);
  expect(gateway?.alarms.list).toEqual([]);
});

test('a permanently lost store ends the gateway', async () => {
  const { open, hosts } = factory();
  await startPart({ openStore: open });
  const failed = vi.fn();
  gateway?.life.onFailed(failed);
  await gateway?.store.open(user());
  hosts[0]?.onFailed(new StoreUnavailableError('its thread has ended'));
  await vi.waitFor(() =>
    expect(failed).toHaveBeenCalledWith(expect.objectContaining({ message: 'its thread has ended' })),
  );
});

test('a stopped gateway has no timers for its alarms and store, even if closing the store fails', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { open, store, hosts } = factory();
  const { store: part, alarms } = await startPart({ openStore: open });
  await part.open(user());
  const before = vi.getTimerCount();
  alarms.raise('listener_without_key', 'a fact');
  store.close = async () => hosts[0]?.onRejected(new StoreUnavailableError('disk error'));
  await gateway?.stop();
  expect(alarms.list.map(({ code }) => code)).toEqual(['store_unavailable', 'listener_without_key']);
  expect([before > 0, vi.getTimerCount()]).toEqual([true, 0]);
});
