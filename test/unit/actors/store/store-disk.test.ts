// What a store does when its process, its disk or its file fails: real kills, a real full disk, real damage.

import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { Store } from '../../../../actors/store/store.ts';
import { openSqliteStore } from '../../../../actors/store/worker/sqlite-store.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';
import { seeded } from '../../../fixtures/seeded.ts';
import { bundledStoreChild, start } from '../../../fixtures/store/store-child.ts';
import { eventOf } from '../../../fixtures/store/store-conformance.ts';
import { storeWorkerUrl } from '../../../fixtures/store/store-worker.ts';

const scratch = newFolder('store-disk-');
let files = 0;
const newFile = () => join(scratch, `store-${++files}.db`);
const openFile = (file: string) => openSqliteStore({ file, workerUrl: storeWorkerUrl() });

async function refusalOf(opening: Promise<Store>): Promise<string> {
  try {
    await (await opening).close();
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnavailableError);
    return (error as Error).message;
  }
  throw new Error('it was opened');
}

describe('a process that is killed', () => {
  test('loses nothing it had acknowledged, keeps the order and undoes no outcome', async () => {
    const child = bundledStoreChild('store-user.ts');
    const file = newFile();
    const random = seeded(7);
    const acknowledged: string[] = [];
    const done: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const { child: running, finished } = start(process.execPath, [child.script, file, `${round}`]);
      running.stdout?.once('data', () => setTimeout(() => running.kill('SIGKILL'), 20 + random() * 400));
      const { lines, signal, stderr } = await finished;
      expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
      for (const line of lines) (line.startsWith('A ') ? acknowledged : done).push(line.slice(2));
    }
    child.remove();
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(done.length).toBeGreaterThan(100);

    const store = await openFile(file);
    const everything = await allRecords(store);
    const byId = new Map(everything.map((record) => [record.id, record]));
    expect(acknowledged.filter((id) => !byId.has(id))).toEqual([]);
    expect(done.filter((id) => byId.get(id)?.state !== 'done')).toEqual([]);
    // Of one round and key the numbers were said in the order in which they were handled.
    const last = new Map<string, number>();
    for (const id of done) {
      const [round = '', key = '', n = ''] = id.split(':');
      const before = last.get(`${round}:${key}`) ?? -1;
      expect(Number(n)).toBeGreaterThan(before);
      last.set(`${round}:${key}`, Number(n));
    }
    // Whole commits only: an outcome is there exactly when what it emitted is there.
    for (const { id, state } of everything)
      if (!id.startsWith('out:')) expect(byId.has(`out:${id}`), id).toBe(state === 'done');
    for (const key of new Set(everything.map((record) => record.key))) {
      const ofKey = everything.filter((record) => record.key === key);
      const states = ofKey.map(({ state }) => state);
      expect(states).toEqual(
        [...states].sort((one, other) => Number(one !== 'done') - Number(other !== 'done')),
      );
    }
    const { queued, retrying } = await store.counts();
    let handled = 0;
    // What ran at an end comes after a pause.
    await vi.waitFor(
      async () => {
        handled += await handleRest(store);
        expect(handled).toBe(queued + retrying);
      },
      { timeout: 20_000, interval: 100 },
    );
    await store.close();
  });

  test('has synced each event to disk before it says that it is accepted', async () => {
    const child = bundledStoreChild('store-syncs.ts');
    const traceFile = join(scratch, 'trace');
    const traced = ['-f', '-o', traceFile, '-e', 'trace=fsync,fdatasync,write'];
    const count = 30;
    const { finished } = start('strace', [...traced, process.execPath, child.script, newFile(), `${count}`]);
    const { code, lines } = await finished;
    child.remove();
    expect({ code, said: lines.length }).toEqual({ code: 0, said: count + 1 });
    let synced = 0;
    const before: number[] = [];
    for (const line of readFileSync(traceFile, 'utf8').split('\n')) {
      // A call that takes a while is shown as begun and as resumed: only its end counts.
      if (/(fsync|fdatasync)(\(| resumed).*= 0$/.test(line)) synced += 1;
      if (/write\(1, "(opened|acknowledged)/.test(line)) {
        before.push(synced);
        synced = 0;
      }
    }
    expect(before).toHaveLength(count + 1);
    expect(Math.min(...before)).toBeGreaterThan(0);
  });
});

async function allRecords(store: Store) {
  const found: Awaited<ReturnType<Store['deliveries']>>[number][] = [];
  for (let beforeSeq = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.deliveries({ limit: 1_000, beforeSeq });
    found.push(...page);
    const last = page.at(-1);
    if (last === undefined) return found.reverse();
    beforeSeq = last.seq;
  }
}

/** Handles what is left; gives how many. */
async function handleRest(store: Store): Promise<number> {
  let count = 0;
  for (let turns = await store.claim(100, 60_000); turns.length > 0; turns = await store.claim(100, 60_000))
    for (const turn of turns)
      for (let event: typeof turn.event | undefined = turn.event; event !== undefined; ) {
        const { seq } = event;
        const [committed] = await store.commit([{ key: turn.key, fence: turn.fence, seq, outcome: 'done' }]);
        count += 1;
        event = committed?.next;
      }
  return count;
}

/** A command that runs another one with a small disk of its own mounted on the folder; it is gone with the command. */
function onSmallDisk(folder: string, bytes: string, script: string): [string, string[]] {
  const mount = `mount -t tmpfs -o size=${bytes} tmpfs '${folder}' && ${script}`;
  return ['unshare', ['--map-root-user', '--mount', 'sh', '-c', mount]];
}

describe('a disk', () => {
  test('that is full has events refused, loses none that was accepted, and is used again when there is room', async () => {
    const child = bundledStoreChild('store-full-disk.ts');
    const folder = mkdtempSync(join(scratch, 'disk-'));
    const { finished } = start(
      ...onSmallDisk(folder, '8m', `exec '${process.execPath}' '${child.script}' '${folder}'`),
    );
    const { code, lines, stderr } = await finished;
    child.remove();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const seen = JSON.parse(lines[0] ?? '{}');
    expect(seen.refusals).toEqual([
      expect.stringMatching(/^ERR_STORE_UNAVAILABLE: the store .*store\.db has no room/),
    ]);
    expect(seen.acknowledged.length).toBeGreaterThan(5);
    expect(seen.readWhenFull).toBe('queued');
    expect(seen.together).toEqual([expect.stringContaining('ERR_STORE_UNAVAILABLE'), 'fulfilled']);
    expect(seen.isCommitted).toBe(true);
    expect(seen.found).toEqual(seen.acknowledged);
    expect(seen.refusedIsThere).toBe(false);
    expect(seen.failed).toBe(0);
  });

  test('that was full is not filled by the log of what would have room on it', async () => {
    const child = bundledStoreChild('store-tight-disk.ts');
    const folder = mkdtempSync(join(scratch, 'disk-'));
    const { finished } = start(
      ...onSmallDisk(folder, '4m', `exec '${process.execPath}' '${child.script}' '${folder}'`),
    );
    const seen = await finished;
    child.remove();
    expect(seen).toMatchObject({ code: 0, lines: ['1000'], stderr: '' });
  });

  test('that is read-only has the store refused at its opening', async () => {
    const child = bundledStoreChild('store-syncs.ts');
    const folder = mkdtempSync(join(scratch, 'disk-'));
    const run = `'${process.execPath}' '${child.script}' '${folder}/store.db' 1`;
    const script = `${run} && mount -o remount,ro '${folder}' && exec ${run}`;
    const { code, lines, stderr } = await start(...onSmallDisk(folder, '8m', script)).finished;
    child.remove();
    expect(lines).toEqual(['opened', 'acknowledged 0']);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/StoreUnavailableError: the store .*store\.db may not be written; .*\(EROFS\)/);
  });
});

describe('a file', () => {
  test.each(['removed', 'replaced'])(
    'that was %s while it was open takes nothing more until it is back (QC3)',
    async (how) => {
      const file = newFile();
      const store = await openFile(file);
      await store.append([eventOf('before')]);
      renameSync(file, `${file}.away`);
      if (how === 'replaced') writeFileSync(file, '');
      await expect(store.append([eventOf('lost')])).rejects.toThrow(
        /^the store .*store-\d+\.db was removed or replaced while it was open; put it back/,
      );
      renameSync(`${file}.away`, file);
      await store.append([eventOf('after')]);
      await store.close();
      const again = await openFile(file);
      expect((await allRecords(again)).map(({ id }) => id).sort()).toEqual(['after', 'before']);
      await again.close();
    },
  );

  test('that is no database is refused and left as it is', async () => {
    const file = newFile();
    writeFileSync(file, 'something else entirely, '.repeat(400));
    const before = readFileSync(file);
    expect(await refusalOf(openFile(file))).toMatch(
      /^the store .*store-\d+\.db is not a database; move it away/,
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('of another program is refused and left as it is', async () => {
    const file = newFile();
    const other = new Database(file);
    other.exec('CREATE TABLE theirs (a)');
    other.close();
    const before = readFileSync(file);
    expect(await refusalOf(openFile(file))).toMatch(/is a database of another program; name another file/);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('of a newer version is refused and left as it is (SM2)', async () => {
    const file = newFile();
    await (await openFile(file)).close();
    const newer = new Database(file);
    const { user_version: version } = newer.prepare('PRAGMA user_version').get() as {
      user_version: number;
    };
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    const before = readFileSync(file);
    expect(await refusalOf(openFile(file))).toMatch(/was written by a newer version \(schema 99, here \d+\)/);
    expect(readFileSync(file).equals(before)).toBe(true);
    const again = new Database(file);
    again.exec(`PRAGMA user_version = ${version}`);
    again.close();
    await (await openFile(file)).close();
  });

  test('that is damaged inside has calls refused that meet the damage, by name and without its content', async () => {
    const file = newFile();
    const store = await openFile(file);
    const secret = 'a secret that nobody may see';
    await store.append(Array.from({ length: 200 }, (_, n) => eventOf(`a:${n}`, `k/${n}`, secret.repeat(50))));
    await store.close();
    const size = statSync(file).size;
    const opened = openSync(file, 'r+');
    // The first page is left as it is, so that the file still opens as one of ours.
    for (let at = 3 * 4096; at < size; at += 4096) writeSync(opened, Buffer.alloc(2_000, 0xff), 0, 2_000, at);
    closeSync(opened);
    const failure = await openFile(file)
      .then(async (damaged) => {
        const all = await Promise.allSettled([damaged.claim(200, 1_000), damaged.append([eventOf('b:1')])]);
        await damaged.close();
        const failed = all.find((one) => one.status === 'rejected');
        if (failed?.status !== 'rejected') throw new Error('nothing was refused');
        throw failed.reason;
      })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(String(failure)).toMatch(/store-\d+\.db is damaged; keep a copy, and restore a backup/);
    expect(String(failure)).not.toContain('secret');
  });

  test('that is open already is refused to a second one, and the first goes on', async () => {
    const file = newFile();
    const store = await openFile(file);
    await store.append([eventOf('a:1'), eventOf('a:2')]);
    const [turn] = await store.claim(1, 60_000);
    expect(await refusalOf(openFile(file))).toMatch(/is held by another process; end that one \(SQLITE_BUSY/);
    const result = { key: turn?.key ?? '', fence: turn?.fence ?? 0, seq: turn?.event.seq ?? 0 };
    expect(await store.commit([{ ...result, outcome: 'done' }])).toMatchObject([{ next: { id: 'a:2' } }]);
    await store.close();
  });

  test('in a folder that is not there is refused', async () => {
    expect(await refusalOf(openFile(join(scratch, 'nowhere', 'store.db')))).toMatch(
      /cannot be opened.*\(ENOENT\)/,
    );
  });

  test('is readable by its owner only, with all that belongs to it', async () => {
    const file = newFile();
    const store = await openFile(file);
    await store.append([eventOf('a:1')]);
    for (const suffix of ['', '-wal']) expect(statSync(file + suffix).mode & 0o777, suffix).toBe(0o600);
    await store.close();
  });
});
