// The store as a part of a gateway: opened by the first that needs it, for all, and closed when nobody needs it any more.

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { Gateway, GatewayOptions } from '../../../../actors/gateway/gateway.ts';
import type { OpenStore, PrepareStore, StoreHost } from '../../../../actors/store/store-part.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import { bootGateway } from '../../../fixtures/gateway/boot-gateway.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';

let folder = '';
let gateway: Gateway | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-store-'));
  await writeFile(join(folder, 'catalog.yaml'), '{"servers":{}}');
  const settings = { listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', state_dir: './state' };
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(settings));
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await rm(folder, { recursive: true });
});

async function started(
  options: Partial<GatewayOptions>,
  boot?: (gateway: Gateway) => Promise<unknown>,
): Promise<Gateway> {
  const loaded = await loadConfig(join(folder, 'gateway.yaml'), {});
  gateway = await bootGateway({ ...loaded, ...options }, boot);
  return gateway;
}

/** A factory as the engine is one: it has the store prepared before it gives it away. */
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

test('a gateway that nobody asks for its store never opens it', async () => {
  const { open } = factory();
  const { store } = await started({ openStore: open });
  await gateway?.stop();
  expect(open).not.toHaveBeenCalled();
  expect([store.hasNoRoom, existsSync(join(folder, 'state', 'store.sqlite'))]).toEqual([false, false]);
});

test('all who ask get the same one, opened once and prepared for each of them before (STP1)', async () => {
  const { open, store } = factory();
  const { store: part } = await started({ openStore: open });
  const [one, two, late] = [user(), user(), user()];
  expect(await Promise.all([part.open(one), part.open(two)])).toEqual([store, store]);
  expect(await part.open(late)).toBe(store);
  expect(open).toHaveBeenCalledTimes(1);
  for (const each of [one, two, late]) expect(each.mock.calls).toEqual([[store]]);
});

test('one that cannot be opened is tried again by the next who asks', async () => {
  const { open, store } = factory();
  open.mockRejectedValueOnce(new StoreUnavailableError('damaged'));
  const { store: part } = await started({ openStore: open });
  const refused = user();
  await expect(part.open(refused)).rejects.toThrow('damaged');
  expect(await part.open(user())).toBe(store);
  expect(refused).not.toHaveBeenCalled();
});

test('without a factory there is none, and it is said', async () => {
  const { store } = await started({});
  await expect(store.open(user())).rejects.toThrow('this gateway was made without a store');
});

test('it is closed after the parts that use it and before the state folder is given up, and not opened again (STP2)', async () => {
  const { open, store } = factory();
  const order: string[] = [];
  const lock = () => existsSync(join(folder, 'state', 'gateway.lock.1'));
  store.close = async () => void order.push(`closed, ${lock() ? 'with' : 'without'} the lock of the folder`);
  const drain = async () => void order.push('work drained');
  await started({ openStore: open }, ({ life, store: part }) =>
    life.boot('work', async () => {
      await part.open(user());
      return { drain };
    }),
  );
  await gateway?.stop();
  expect(order).toEqual(['work drained', 'closed, with the lock of the folder']);
  await expect(gateway?.store.open(user())).rejects.toMatchObject({ code: 'ERR_STOPPED' });
});

test('of a disk that was full its users hear when there is room (STP3)', async () => {
  const { open, store, hosts } = factory();
  open.mockImplementationOnce(async (_, host) => {
    hosts.push(host);
    host.onThere(false);
    return store;
  });
  const { store: part } = await started({ openStore: open });
  const [early, later, listener] = [user(), user(), vi.fn()];
  await part.open(early);
  await part.open(later);
  part.whenThereLate(listener);
  expect([part.hasNoRoom, early.mock.calls.length]).toEqual([true, 0]);
  await hosts[0]?.prepare(store);
  expect(listener).not.toHaveBeenCalled();
  hosts[0]?.onThere(true);
  for (const each of [early, later, listener]) expect(each).toHaveBeenCalledTimes(1);
  expect(part.hasNoRoom).toBe(false);
});

test('one that is lost for good ends the gateway', async () => {
  const { open, hosts } = factory();
  await started({ openStore: open });
  const failed = vi.fn();
  gateway?.life.whenFailed(failed);
  await gateway?.store.open(user());
  hosts[0]?.onFailed(new StoreUnavailableError('its thread has ended'));
  await vi.waitFor(() =>
    expect(failed).toHaveBeenCalledWith(expect.objectContaining({ message: 'its thread has ended' })),
  );
});
