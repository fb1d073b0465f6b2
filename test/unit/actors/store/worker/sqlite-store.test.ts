// The store and the worker thread: messages, limits, and calls while the thread hangs or after it exits.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import {
  InternalError,
  OverloadedError,
  StoreUnavailableError,
} from '../../../../../actors/base/errors/errors.ts';
import type { Turn } from '../../../../../actors/store/store.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../../../../actors/store/worker/sqlite-store.ts';
import { newFolder } from '../../../../fixtures/new-folder.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';
import { storeWorkerUrl } from '../../../../fixtures/store/store-worker.ts';

const scratch = newFolder('sqlite-store-');
let files = 0;
const newFile = () => join(scratch, `store-${++files}.db`);
const open = (options: Partial<SqliteStoreOptions> = {}) =>
  openSqliteStore({ file: newFile(), workerUrl: storeWorkerUrl(), ...options });

/** Returns a worker that opens successfully, and runs this code for each message. */
function workerWithCode(does: string): URL {
  const script = join(scratch, `worker-${++files}.mjs`);
  writeFileSync(
    script,
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', (message) => { ${does} });
     parentPort.postMessage({ kind: 'opened' });`,
  );
  return pathToFileURL(script);
}

/** Returns the real worker. Commits hang while the file `hang` exists. */
function hangingWorker(hang: string): URL {
  const worker = storeWorkerUrl();
  const url = new URL(`./hanging-${++files}.mjs`, worker);
  writeFileSync(
    url,
    `import { existsSync } from 'node:fs';
     import Database from 'libsql';
     const { exec } = Database.prototype;
     const nap = new Int32Array(new SharedArrayBuffer(4));
     Database.prototype.exec = function (sql) {
       const result = exec.call(this, sql);
       while (sql === 'COMMIT' && existsSync(${JSON.stringify(hang)})) Atomics.wait(nap, 0, 0, 5);
       return result;
     };
     await import(${JSON.stringify(worker.href)});`,
  );
  return url;
}

describe('event bodies', () => {
  test('of 25 MB are returned unchanged', async () => {
    const store = await open();
    const body = new Uint8Array(25 * 1024 * 1024);
    for (let at = 0; at < body.length; at += 1_021) body[at] = at % 251;
    const copy = body.slice();
    await store.append([eventOf('a:1', 'k', body)]);
    const [turn] = await store.claim(1, 60_000);
    expect(Buffer.from(turn?.event.body ?? []).equals(copy)).toBe(true);
    expect(Buffer.from((await store.delivery('a:1'))?.body ?? []).equals(copy)).toBe(true);
    await store.close();
  });

  test('that are large are transferred to the thread, and using a transferred body again fails', async () => {
    const store = await open();
    const body = new Uint8Array(100_000).fill(1);
    await store.append([eventOf('a:1', 'k', body), eventOf('a:2', 'k', body)]);
    expect(body.byteLength).toBe(0);
    await expect(store.append([eventOf('a:3', 'k', body)])).rejects.toThrow(InternalError);
    expect((await store.delivery('a:1'))?.body.byteLength).toBe(100_000);
    expect((await store.delivery('a:2'))?.body.byteLength).toBe(100_000);
    expect(await store.delivery('a:3')).toBeUndefined();
    await store.close();
  });

  test('that are views of a larger buffer are copied, and the buffer stays usable', async () => {
    const store = await open();
    const whole = new Uint8Array(300_000).fill(1);
    await store.append([eventOf('a:1', 'k', whole.subarray(1_000, 200_000))]);
    expect(whole.byteLength).toBe(300_000);
    expect((await store.delivery('a:1'))?.body.byteLength).toBe(199_000);
    await store.close();
  });

  test('of events that a commit emits are copied, because the caller may have to repeat the commit', async () => {
    const store = await open();
    await store.append([eventOf('a:1')]);
    const [turn] = (await store.claim(1, 60_000)) as [Turn];
    const body = new Uint8Array(100_000).fill(1);
    const result = resultOf(turn, 'done', { emit: [eventOf('e:1', 'outbox/x', body)] });
    expect(await store.commit([{ ...result, fence: turn.fence + 1 }])).toMatchObject([{ isCurrent: false }]);
    expect(await store.commit([result])).toMatchObject([{ isCurrent: true }]);
    expect(body.byteLength).toBe(100_000);
    expect((await store.delivery('e:1'))?.body.byteLength).toBe(100_000);
    await store.close();
  });

  test('that are large are claimed a few at a time, and a wake-up announces the rest', async () => {
    const store = await open();
    for (let n = 0; n < 6; n += 1)
      await store.append([eventOf(`a:${n}`, `k/${n}`, new Uint8Array(6 * 1024 * 1024))]);
    const onWake = vi.fn();
    store.wake(onWake);
    const turns = await store.claim(6, 60_000);
    expect(turns.length).toBeGreaterThan(0);
    expect(turns.length).toBeLessThan(6);
    await vi.waitFor(() => expect(onWake).toHaveBeenCalled(), { timeout: 10_000 });
    expect((await store.claim(6, 60_000)).length).toBeGreaterThan(0);
    await store.close();
  });
});

describe('store calls', () => {
  test('of one tick are answered individually, in order', async () => {
    const store = await open({ maxWaiting: 4 });
    const settled = await Promise.allSettled([
      store.append([eventOf('x:one/1')]),
      store.append([eventOf('x:one/2')]),
      store.append([eventOf('x:one/3')]),
      store.put('s', 'k', 'v'),
      store.get('s', 'k'),
      store.claim(1, 60_000),
    ]);
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(settled[4]).toMatchObject({ value: { value: 'v' } });
    expect(settled[5]).toMatchObject({ value: [{ event: { id: 'x:one/1' } }] });
    await store.close();
  });

  test('that fail do not fail other calls of their transaction, nor reveal their data', async () => {
    const store = await open();
    const invalidEvent = { ...eventOf('a:2'), trace: null as unknown as string };
    const [right, mistaken, later] = await Promise.allSettled([
      store.append([eventOf('a:1')]),
      store.append([invalidEvent]),
      store.append([eventOf('a:3')]),
    ]);
    expect([right.status, later.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(mistaken).toMatchObject({ status: 'rejected', reason: expect.any(InternalError) });
    expect(await store.delivery('a:2')).toBeUndefined();
    expect(await store.counts()).toMatchObject({ queued: 2 });
    await store.close();
  });

  test('whose arguments cannot be cloned are rejected, and the store continues', async () => {
    const store = await open();
    const uncloneableEvent = { ...eventOf('a:1'), meta: (() => '') as unknown as string };
    await expect(store.append([uncloneableEvent])).rejects.toThrow(InternalError);
    expect(await store.append([eventOf('a:1')])).toMatchObject([{ outcome: 'new' }]);
    await store.close();
  });

  test('whose arguments cannot be cloned do not affect other calls of the same tick', async () => {
    const store = await open();
    const uncloneableEvent = { ...eventOf('a:2'), meta: (() => '') as unknown as string };
    const large = { ...eventOf('a:3'), body: new Uint8Array(256 * 1024).fill(7) };
    const calls = [
      store.append([eventOf('a:1')]),
      store.append([uncloneableEvent]),
      store.append([large]),
      store.put('s', 'k', 'v'),
      store.get('s', 'k'),
      store.delivery('a:3'),
    ];
    const closed = store.close();
    const settled = await Promise.allSettled(calls);
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(settled[1]).toMatchObject({ reason: expect.any(InternalError) });
    expect(settled[4]).toMatchObject({ value: { value: 'v' } });
    expect(settled[5]).toMatchObject({ value: { body: new Uint8Array(256 * 1024).fill(7) } });
    await closed;
  });

  test('in thousands per tick are all executed', async () => {
    const store = await open();
    const count = 5_000;
    await Promise.all(
      Array.from({ length: count }, (_, n) => store.append([eventOf(`a:${n}`, `k/${n % 100}`)])),
    );
    expect(await store.counts()).toMatchObject({ queued: count });
    await store.close();
  });

  test('end at their deadline if the disk hangs, are limited, and do not block closing', async () => {
    const store = await open({ workerUrl: workerWithCode(''), callTimeoutMs: 300 });
    const calls = Array.from({ length: 10_000 }, () => store.get('s', 'k').catch((error: unknown) => error));
    await expect(store.get('s', 'k')).rejects.toThrow(OverloadedError);
    const ended = await Promise.all(calls);
    expect(ended.every((error) => error instanceof StoreUnavailableError)).toBe(true);
    expect(String(ended[0])).toMatch(/did not respond in time/);
    // The calls have timed out, but the thread still processes them.
    await expect(store.get('s', 'k')).rejects.toThrow(OverloadedError);
    await store.close();
    await expect(store.get('s', 'k')).rejects.toThrow(/is closed/);
  });

  test('that claim events after their timeout release these events, and count no attempt', async () => {
    const hang = join(scratch, `hang-${++files}`);
    const store = await open({ workerUrl: hangingWorker(hang), callTimeoutMs: 300 });
    await store.append([eventOf('a:1', 'k/a'), eventOf('a:2', 'k/a')]);
    const [first] = await store.claim(1, 60_000);
    if (first === undefined) throw new Error('it was to be claimed');
    await store.append([eventOf('b:1', 'k/b')]);
    writeFileSync(hang, '');
    const late = await Promise.all(
      [
        store.commit([{ ...resultOf(first), isLast: false }]),
        store.claim(1, 60_000),
        store.append([eventOf('c:1', 'k/c')], { claimMs: 60_000 }),
      ].map((call) => call.catch((error: unknown) => String(error))),
    );
    for (const error of late) expect(error).toMatch(/did not respond in time/);
    rmSync(hang);
    const claims = new Map<string, number>();
    await vi.waitFor(async () => {
      for (const { event } of await store.claim(10, 60_000)) claims.set(event.id, event.attempt);
      expect([...claims].sort()).toEqual([
        ['a:2', 1],
        ['b:1', 1],
        ['c:1', 1],
      ]);
    }, 5_000);
    expect((await store.append([eventOf('c:1', 'k/c')]))[0]?.outcome).toBe('duplicate');
    await store.close();
  });

  test('are limited by the total size of their bodies, except for a single large call', async () => {
    const store = await open({ workerUrl: workerWithCode(''), callTimeoutMs: 200 });
    const large = store
      .append([eventOf('a:1', 'k', new Uint8Array(200 * 1024 * 1024))])
      .catch(() => 'given up');
    await expect(store.append([eventOf('a:2')])).rejects.toThrow(OverloadedError);
    expect(await large).toBe('given up');
    await store.close();
  });
});

describe('the store thread', () => {
  test('that ends by itself fails every call, once, and is reported once', async () => {
    const onFailed = vi.fn();
    const store = await open({ workerUrl: workerWithCode("throw new Error('broken')"), onFailed });
    const calls = await Promise.allSettled([store.get('s', 'k'), store.append([eventOf('a:1')])]);
    for (const call of calls)
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_UNAVAILABLE' } });
    await expect(store.counts()).rejects.toThrow(/lost its worker; restart the gateway/);
    await store.close();
    expect(onFailed).toHaveBeenCalledTimes(1);
  });

  test('that cannot start makes opening fail, with its name and the reason', async () => {
    const opening = open({ workerUrl: pathToFileURL(join(scratch, 'nothing.mjs')) });
    await expect(opening).rejects.toThrow(
      /^the store .*store-\d+\.db could not be opened: its worker did not start: Cannot find module '.*nothing\.mjs'; a file of the gateway itself is missing: run npm run build, .* \((ERR_)?MODULE_NOT_FOUND\)$/,
    );
  });

  test('without the driver package for this platform is rejected with the package and the remedy', async () => {
    const script = join(scratch, 'without-driver.mjs');
    writeFileSync(
      script,
      `import { createRequire } from 'node:module';
       createRequire(import.meta.url)('@libsql/some-machine');`,
    );
    await expect(open({ workerUrl: pathToFileURL(script) })).rejects.toThrow(
      /its worker did not start: Cannot find module '@libsql\/some-machine'; run npm ci with the Node\.js that runs the gateway \(MODULE_NOT_FOUND\)$/,
    );
  });

  test('whose driver does not load is rejected with the reason and the remedy', async () => {
    const [script, addon] = [join(scratch, 'bad-driver.mjs'), join(scratch, 'driver.node')];
    writeFileSync(addon, 'no program');
    writeFileSync(
      script,
      `import { createRequire } from 'node:module';
       createRequire(import.meta.url)(${JSON.stringify(addon)});`,
    );
    await expect(open({ workerUrl: pathToFileURL(script) })).rejects.toThrow(
      /its worker did not start: .*driver\.node: .+; run npm ci with the Node\.js that runs the gateway \(ERR_DLOPEN_FAILED\)$/,
    );
  });

  test('that ends while it is opening makes opening fail immediately', async () => {
    const script = join(scratch, 'ends.mjs');
    writeFileSync(script, 'process.exit(3);');
    await expect(open({ workerUrl: pathToFileURL(script) })).rejects.toThrow(
      /its worker did not start: the worker exited with code 3$/,
    );
  });

  test('executes pending calls before it is closed, and is closed once by any number of calls', async () => {
    const file = newFile();
    const onFailed = vi.fn();
    const store = await open({ file, onFailed });
    const appended = Promise.all(
      Array.from({ length: 500 }, (_, n) => store.append([eventOf(`a:${n}`, `k/${n}`)])),
    );
    const closings = [store.close(), store.close()];
    await expect(store.append([eventOf('late')])).rejects.toThrow(/is closed/);
    await Promise.all(closings);
    expect((await appended).flat().every(({ outcome }) => outcome === 'new')).toBe(true);
    await store.close();
    expect(existsSync(`${file}-wal`)).toBe(false);
    expect(onFailed).not.toHaveBeenCalled();
    const reopened = await open({ file });
    expect(await reopened.counts()).toMatchObject({ queued: 500 });
    await reopened.close();
  });

  test('announces events when they become due, also after a restart', async () => {
    const file = newFile();
    const before = await open({ file });
    await before.append([eventOf('a:1')]);
    const [turn] = (await before.claim(1, 60_000)) as [Turn];
    await before.commit([resultOf(turn, 'retrying', { retryInMs: 800 })]);
    await before.close();
    const store = await open({ file });
    const onWake = vi.fn();
    store.wake(onWake);
    await vi.waitFor(() => expect(onWake).toHaveBeenCalled(), { timeout: 10_000 });
    expect(await store.claim(1, 60_000)).toMatchObject([{ event: { id: 'a:1', attempt: 2 } }]);
    await store.close();
  });
});
