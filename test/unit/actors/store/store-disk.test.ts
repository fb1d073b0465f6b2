// Failures of the store's process, disk or file: real kills, a full disk, damaged files.

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
import { runs } from '../../../fixtures/property-runs.ts';
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

describe('a killed process', () => {
  test('loses no acknowledged event, keeps the order and reverts no outcome', async () => {
    const child = bundledStoreChild('store-user.ts');
    const file = newFile();
    const random = seeded(7);
    const acknowledged: string[] = [];
    const done: string[] = [];
    const rounds = runs(6);
    for (let round = 0; round < rounds; round += 1) {
      const { child: running, finished } = start(process.execPath, [child.script, file, `${round}`]);
      // Counts lines, because a slow machine writes few of them in a fixed time.
      let linesLeft = 60 + random() * 200;
      const killMs = random() * 20;
      running.stdout?.on('data', (piece: Buffer) => {
        linesLeft -= piece.toString().split('\n').length - 1;
        if (linesLeft <= 0) setTimeout(() => running.kill('SIGKILL'), killMs);
      });
      const { lines, signal, stderr } = await finished;
      expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
      for (const line of lines) (line.startsWith('A ') ? acknowledged : done).push(line.slice(2));
    }
    child.remove();
    expect(acknowledged.length).toBeGreaterThan(15 * rounds);
    expect(done.length).toBeGreaterThan(15 * rounds);

    const store = await openFile(file);
    const everything = await allRecords(store);
    const byId = new Map(everything.map((record) => [record.id, record]));
    expect(acknowledged.filter((id) => !byId.has(id))).toEqual([]);
    expect(done.filter((id) => byId.get(id)?.state !== 'done')).toEqual([]);
    // The process prints the numbers per round and key, in the order of handling.
    const last = new Map<string, number>();
    for (const id of done) {
      const [round = '', key = '', n = ''] = id.split(':');
      const before = last.get(`${round}:${key}`) ?? -1;
      expect(Number(n)).toBeGreaterThan(before);
      last.set(`${round}:${key}`, Number(n));
    }
    // Commits are atomic: an outcome exists if and only if the emitted events exist.
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
    // Events that were running at the kill are due after a pause.
    await vi.waitFor(
      async () => {
        handled += await handleRest(store);
        expect(handled).toBe(queued + retrying);
      },
      { timeout: 20_000, interval: 100 },
    );
    await store.close();
  });

  test('has synced each event to disk before it reports its acceptance', async () => {
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
      // strace prints a long call twice (unfinished, resumed); only the second line counts.
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

/** Handles the remaining events. Returns the number. */
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

/** Returns a command that mounts a small disk on the folder and runs `script`. */
function onSmallDisk(folder: string, bytes: string, script: string): [string, string[]] {
  const mount = `mount -t tmpfs -o size=${bytes} tmpfs '${folder}' && ${script}`;
  return ['unshare', ['--map-root-user', '--mount', 'sh', '-c', mount]];
}

describe('the store on a disk', () => {
  test('that is full rejects events, loses no accepted event, and continues when the disk has space', async () => {
    const child = bundledStoreChild('store-full-disk.ts');
    const folder = mkdtempSync(join(scratch, 'disk-'));
    const { finished } = start(
      ...onSmallDisk(folder, '8m', `exec '${process.execPath}' '${child.script}' '${folder}'`),
    );
    const { code, lines, stderr } = await finished;
    child.remove();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const output = JSON.parse(lines[0] ?? '{}');
    expect(output.refusals).toEqual([
      expect.stringMatching(/^ERR_STORE_UNAVAILABLE: the store .*store\.db has no disk space/),
    ]);
    expect(output.acknowledged.length).toBeGreaterThan(5);
    expect(output.readWhenFull).toBe('queued');
    expect(output.together).toEqual([expect.stringContaining('ERR_STORE_UNAVAILABLE'), 'fulfilled']);
    expect(output.isCommitted).toBe(true);
    expect(output.found).toEqual(output.acknowledged);
    expect(output.refusedIsThere).toBe(false);
    expect(output.failed).toBe(0);
  });

  test('that was full is not filled again by the write-ahead log of small writes', async () => {
    const child = bundledStoreChild('store-tight-disk.ts');
    const folder = mkdtempSync(join(scratch, 'disk-'));
    const { finished } = start(
      ...onSmallDisk(folder, '4m', `exec '${process.execPath}' '${child.script}' '${folder}'`),
    );
    const output = await finished;
    child.remove();
    expect(output).toMatchObject({ code: 0, lines: ['1000'], stderr: '' });
  });

  test('that is read-only cannot be opened', async () => {
    const child = bundledStoreChild('store-syncs.ts');
    const folder = mkdtempSync(join(scratch, 'disk-'));
    const run = `'${process.execPath}' '${child.script}' '${folder}/store.db' 1`;
    const script = `${run} && mount -o remount,ro '${folder}' && exec ${run}`;
    const { code, lines, stderr } = await start(...onSmallDisk(folder, '8m', script)).finished;
    child.remove();
    expect(lines).toEqual(['opened', 'acknowledged 0']);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/StoreUnavailableError: the store .*store\.db is not writable; .*\(EROFS\)/);
  });
});

describe('a store file', () => {
  test.each(['removed', 'replaced'])(
    'that was %s while it was open rejects writes until it is restored',
    async (how) => {
      const file = newFile();
      const store = await openFile(file);
      await store.append([eventOf('before')]);
      renameSync(file, `${file}.away`);
      if (how === 'replaced') writeFileSync(file, '');
      await expect(store.append([eventOf('lost')])).rejects.toThrow(
        /^the store .*store-\d+\.db was removed or replaced while it was open; restore it/,
      );
      renameSync(`${file}.away`, file);
      await store.append([eventOf('after')]);
      await store.close();
      const reopened = await openFile(file);
      expect((await allRecords(reopened)).map(({ id }) => id).sort()).toEqual(['after', 'before']);
      await reopened.close();
    },
  );

  test('that is not a database is rejected and left unchanged', async () => {
    const file = newFile();
    writeFileSync(file, 'something else entirely, '.repeat(400));
    const before = readFileSync(file);
    expect(await refusalOf(openFile(file))).toMatch(
      /^the store .*store-\d+\.db is not a database; move it away/,
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('of another program is rejected and left unchanged', async () => {
    const file = newFile();
    const other = new Database(file);
    other.exec('CREATE TABLE theirs (a)');
    other.close();
    const before = readFileSync(file);
    expect(await refusalOf(openFile(file))).toMatch(/belongs to another program; use another file/);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('of a newer version is rejected and left unchanged', async () => {
    const file = newFile();
    await (await openFile(file)).close();
    const newer = new Database(file);
    const { user_version: version } = newer.prepare('PRAGMA user_version').get() as {
      user_version: number;
    };
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    const before = readFileSync(file);
    expect(await refusalOf(openFile(file))).toMatch(
      /was written by a newer version \(schema 99, expected \d+\)/,
    );
    expect(readFileSync(file).equals(before)).toBe(true);
    const reopened = new Database(file);
    reopened.exec(`PRAGMA user_version = ${version}`);
    reopened.close();
    await (await openFile(file)).close();
  });

  test('with damaged pages rejects the calls that read them, without revealing content', async () => {
    const file = newFile();
    const store = await openFile(file);
    const secret = 'a secret that must not leak';
    await store.append(Array.from({ length: 200 }, (_, n) => eventOf(`a:${n}`, `k/${n}`, secret.repeat(50))));
    await store.close();
    const size = statSync(file).size;
    const opened = openSync(file, 'r+');
    // The first page stays intact, so that the file still opens as a store.
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

  test('that is already open is rejected for a second process, and the first continues', async () => {
    const file = newFile();
    const store = await openFile(file);
    await store.append([eventOf('a:1'), eventOf('a:2')]);
    const [turn] = await store.claim(1, 60_000);
    expect(await refusalOf(openFile(file))).toMatch(
      /is locked by another process; stop that process \(SQLITE_BUSY/,
    );
    const result = { key: turn?.key ?? '', fence: turn?.fence ?? 0, seq: turn?.event.seq ?? 0 };
    expect(await store.commit([{ ...result, outcome: 'done' }])).toMatchObject([{ next: { id: 'a:2' } }]);
    await store.close();
  });

  test('in a missing folder is rejected', async () => {
    expect(await refusalOf(openFile(join(scratch, 'nowhere', 'store.db')))).toMatch(
      /cannot be opened.*\(ENOENT\)/,
    );
  });

  test('and its log are readable by their owner only', async () => {
    const file = newFile();
    const store = await openFile(file);
    await store.append([eventOf('a:1')]);
    for (const suffix of ['', '-wal']) expect(statSync(file + suffix).mode & 0o777, suffix).toBe(0o600);
    await store.close();
  });
});
