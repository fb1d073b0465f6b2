// The store and its thread: what is posted, what is bounded, and what becomes of calls when the thread hangs or ends.

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

/** A worker that opens, and does this with what is posted to it. */
function workerThat(does: string): URL {
  const script = join(scratch, `worker-${++files}.mjs`);
  writeFileSync(
    script,
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', (message) => { ${does} });
     parentPort.postMessage({ kind: 'opened' });`,
  );
  return pathToFileURL(script);
}

/** The real worker, whose disk hangs at each commit for as long as the file `hang` is there. */
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

describe('bodies', () => {
  test('of 25 MB come back as they were', async () => {
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

  test('that are large are moved, and the same one again is refused instead of stored empty (MF1)', async () => {
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

  test('that are views of something larger are copied, and what they are a view of stays (MF2)', async () => {
    const store = await open();
    const whole = new Uint8Array(300_000).fill(1);
    await store.append([eventOf('a:1', 'k', whole.subarray(1_000, 200_000))]);
    expect(whole.byteLength).toBe(300_000);
    expect((await store.delivery('a:1'))?.body.byteLength).toBe(199_000);
    await store.close();
  });

  test('that a commit emits stay with the caller, who may have to commit again', async () => {
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

  test('that are large are claimed a few at a time, and the rest is told of', async () => {
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

describe('calls', () => {
  test('of one tick are answered each for itself, in their order (GC2, SW1)', async () => {
    const store = await open({ maxWaiting: 2 });
    const settled = await Promise.allSettled([
      store.append([eventOf('a:1')]),
      store.append([eventOf('a:2')]),
      store.append([eventOf('a:3')]),
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
    expect(settled[5]).toMatchObject({ value: [{ event: { id: 'a:1' } }] });
    await store.close();
  });

  test('that are a mistake do not take others of their transaction with them, nor say what they held (SF1)', async () => {
    const store = await open();
    const wrong = { ...eventOf('a:2'), trace: null as unknown as string };
    const [right, mistaken, later] = await Promise.allSettled([
      store.append([eventOf('a:1')]),
      store.append([wrong]),
      store.append([eventOf('a:3')]),
    ]);
    expect([right.status, later.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(mistaken).toMatchObject({ status: 'rejected', reason: expect.any(InternalError) });
    expect(await store.delivery('a:2')).toBeUndefined();
    expect(await store.counts()).toMatchObject({ queued: 2 });
    await store.close();
  });

  test('that cannot be posted at all are refused, and the store goes on', async () => {
    const store = await open();
    const wrong = { ...eventOf('a:1'), meta: (() => '') as unknown as string };
    await expect(store.append([wrong])).rejects.toThrow(InternalError);
    expect(await store.append([eventOf('a:1')])).toMatchObject([{ outcome: 'new' }]);
    await store.close();
  });

  test('that cannot be posted take none of those along that were made with them, nor their bodies, nor the end', async () => {
    const store = await open();
    const wrong = { ...eventOf('a:2'), meta: (() => '') as unknown as string };
    const large = { ...eventOf('a:3'), body: new Uint8Array(256 * 1024).fill(7) };
    const calls = [
      store.append([eventOf('a:1')]),
      store.append([wrong]),
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

  test('that come in thousands at once are all kept', async () => {
    const store = await open();
    const count = 5_000;
    await Promise.all(
      Array.from({ length: count }, (_, n) => store.append([eventOf(`a:${n}`, `k/${n % 100}`)])),
    );
    expect(await store.counts()).toMatchObject({ queued: count });
    await store.close();
  });

  test('end at their deadline when the disk hangs, are bounded, and closing does not wait for ever (WC1, WC2, WC3)', async () => {
    const store = await open({ workerUrl: workerThat(''), callTimeoutMs: 300 });
    const calls = Array.from({ length: 10_000 }, () => store.get('s', 'k').catch((error: unknown) => error));
    await expect(store.get('s', 'k')).rejects.toThrow(OverloadedError);
    const ended = await Promise.all(calls);
    expect(ended.every((error) => error instanceof StoreUnavailableError)).toBe(true);
    expect(String(ended[0])).toMatch(/has not answered in time/);
    // They were given up, but the thread still has them.
    await expect(store.get('s', 'k')).rejects.toThrow(OverloadedError);
    await store.close();
    await expect(store.get('s', 'k')).rejects.toThrow(/is closed/);
  });

  test('that were given up give back the turns that come too late, and those cost no attempt (WC4)', async () => {
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
    for (const error of late) expect(error).toMatch(/has not answered in time/);
    rmSync(hang);
    const given = new Map<string, number>();
    await vi.waitFor(async () => {
      for (const { event } of await store.claim(10, 60_000)) given.set(event.id, event.attempt);
      expect([...given].sort()).toEqual([
        ['a:2', 1],
        ['b:1', 1],
        ['c:1', 1],
      ]);
    }, 5_000);
    expect((await store.append([eventOf('c:1', 'k/c')]))[0]?.outcome).toBe('duplicate');
    await store.close();
  });

  test('are bounded by their bytes, though one that is large may pass alone', async () => {
    const store = await open({ workerUrl: workerThat(''), callTimeoutMs: 200 });
    const large = store
      .append([eventOf('a:1', 'k', new Uint8Array(200 * 1024 * 1024))])
      .catch(() => 'given up');
    await expect(store.append([eventOf('a:2')])).rejects.toThrow(OverloadedError);
    expect(await large).toBe('given up');
    await store.close();
  });
});

describe('the thread', () => {
  test('that ends by itself fails every call, once, and is reported once', async () => {
    const onFailed = vi.fn();
    const store = await open({ workerUrl: workerThat("throw new Error('broken')"), onFailed });
    const calls = await Promise.allSettled([store.get('s', 'k'), store.append([eventOf('a:1')])]);
    for (const call of calls)
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_UNAVAILABLE' } });
    await expect(store.counts()).rejects.toThrow(/has lost its worker; the gateway must be started anew/);
    await store.close();
    expect(onFailed).toHaveBeenCalledTimes(1);
  });

  test('that cannot start is refused by name, with the reason', async () => {
    const opening = open({ workerUrl: pathToFileURL(join(scratch, 'nothing.mjs')) });
    await expect(opening).rejects.toThrow(
      /^the store .*store-\d+\.db could not be opened: its worker did not start: Cannot find module '.*nothing\.mjs'; a file of the gateway itself is missing: run npm run build, .* \((ERR_)?MODULE_NOT_FOUND\)$/,
    );
  });

  test('whose driver lacks the package for this machine is refused with the name of that and what to do', async () => {
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

  test('whose driver does not load is refused with the reason and what to do', async () => {
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

  test('that ends before it has opened is refused at once', async () => {
    const script = join(scratch, 'ends.mjs');
    writeFileSync(script, 'process.exit(3);');
    await expect(open({ workerUrl: pathToFileURL(script) })).rejects.toThrow(
      /its worker did not start: it ended with code 3$/,
    );
  });

  test('carries out what was asked before it is closed, and however many close it, it is closed once', async () => {
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
    const again = await open({ file });
    expect(await again.counts()).toMatchObject({ queued: 500 });
    await again.close();
  });

  test('wakes for what falls due later, also after it was started anew (SW2)', async () => {
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
