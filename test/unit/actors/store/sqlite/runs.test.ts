// Journals and approvals in SQLite: state after a crash, size limits, and duration of lists.
// Invariant S16 is in actors/store/store.ts.

import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { InternalError } from '../../../../../actors/base/errors/errors.ts';
import type { RunNote } from '../../../../../actors/store/run.ts';
import type { TurnResult } from '../../../../../actors/store/store.ts';
import { openSqliteStore } from '../../../../../actors/store/worker/sqlite-store.ts';
import { isDeadAfter } from '../../../../../machines/crashes.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import {
  appendClaimed,
  claimOne,
  commitOne,
  eventOf,
  resultOf,
} from '../../../../fixtures/store/store-conformance.ts';
import { storeWorkerUrl } from '../../../../fixtures/store/store-worker.ts';

const RUN: RunNote = { kind: 'agent', name: 'oncall', figures: '{}' };
const newFile = () => join(storeFolder(), 'store.db');

function change(file: string, sql: string): void {
  const db = new Database(file);
  db.exec(sql);
  db.close();
}

async function timed<T>(action: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const since = performance.now();
  const result = await action();
  return { result, ms: performance.now() - since };
}

test('pending approvals are cancelled with a run that crashes the process too often (S16)', async () => {
  const file = newFile();
  let opened = openEngineStore({ file });
  const first = await appendClaimed(opened.store, eventOf('a:1', 'k'));
  const asks = [{ id: 'one', body: '{}' }];
  await commitOne(opened.store, resultOf(first, 'checkpoint', { steps: ['1'], run: RUN, asks }));
  for (let crashes = 1; ; crashes += 1) {
    await opened.store.close();
    opened = openEngineStore({ file, now: opened.now() });
    if (isDeadAfter(crashes)) break;
    expect(await opened.store.approval('one')).toMatchObject({ state: 'pending' });
    opened.advance(3_600_000);
    expect((await claimOne(opened.store)).event).toMatchObject({ crashes, steps: 1 });
  }
  expect(await opened.store.run('a:1')).toMatchObject({ steps: 1, delivery: { state: 'dead' } });
  expect(await opened.store.approval('one')).toMatchObject({ state: 'cancelled' });
  await opened.store.close();
});

test('a journal is read in parts of 8 MiB at most, and a larger row separately', async () => {
  const { store } = openEngineStore({ file: newFile() });
  const turn = await appendClaimed(store, eventOf('a:1', 'k'));
  const row = (megabytes: number) => JSON.stringify('x'.repeat(megabytes * 1024 * 1024));
  const steps = [row(5), row(2), row(5), row(9), '1', '2'];
  await commitOne(store, resultOf(turn, 'checkpoint', { steps, run: RUN }));
  const parts: number[][] = [];
  for (let after = 0; after < steps.length; after = parts.at(-1)?.at(-1) ?? steps.length)
    parts.push((await store.steps('a:1', after)).map(({ n }) => n));
  expect(parts).toEqual([[1, 2], [3], [4], [5, 6]]);
  await store.close();
});

test('a write that would make a journal too large is rejected as a whole, and one sweep deletes a large journal', async () => {
  const file = newFile();
  const opened = openEngineStore({ file, retentionMs: 1_000 });
  const { store } = opened;
  const turn = await appendClaimed(store, eventOf('a:1', 'k'));
  const other = await appendClaimed(store, eventOf('b:1', 'l'));
  const rows = (count: number, bytes: number): Partial<TurnResult> => ({
    steps: Array.from({ length: count }, () => 'x'.repeat(bytes)),
    run: RUN,
  });
  for (let parts = 0; parts < 10; parts += 1)
    await commitOne(store, resultOf(turn, 'checkpoint', rows(999, 6_000)));
  const refused = store.commit([resultOf(other), resultOf(turn, 'checkpoint', rows(11, 1))]);
  await expect(refused).rejects.toThrow(InternalError);
  await expect(refused).rejects.toThrow('10001');
  await expect(store.commit([resultOf(turn, 'checkpoint', rows(8, 1_048_576))])).rejects.toThrow('67108864');
  expect(await store.delivery('b:1')).toMatchObject({ state: 'running' });
  expect((await store.run('a:1'))?.steps).toBe(9_990);
  await store.commit([resultOf(other), resultOf(turn, 'done', rows(10, 1))]);
  opened.advance(2_000);
  // The sweep deletes both records; the journal is deleted in a separate part.
  const { result, ms } = await timed(() => store.sweep());
  expect(result).toBe(2);
  expect(ms).toBeLessThan(2_000);
  expect(await store.steps('a:1')).toEqual([]);
  await store.close();
});

const MANY = 100_000;

/** Inserts runs (finished, but one in 1,000 is waiting) and approvals (one is pending). */
function fillStore(file: string): void {
  change(
    file,
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${MANY})
     INSERT INTO delivery (seq, id, key, trace, state, at, ended, waits_for, has_progress)
       SELECT n, 'a:' || n, 'k/' || n, 't', CASE WHEN n % 1000 = 0 THEN w.state ELSE d.state END, n, n,
         CASE WHEN n % 1000 = 0 THEN 'yes' END, 1
       FROM n, (SELECT state FROM delivery WHERE id = 'w') AS w, (SELECT state FROM delivery WHERE id = 'd') AS d;
     INSERT INTO run (seq, kind, name, figures)
       SELECT seq, 'agent', CASE WHEN seq = 7 THEN 'rare' ELSE 'oncall' END, '{}' FROM delivery WHERE id LIKE 'a:%';
     INSERT INTO step (seq, n, at, total, text) SELECT seq, 1, seq, 2, '{}' FROM run;
     INSERT INTO approval (id, seq, state, asked, decided, body)
       SELECT 'p:' || seq, seq, CASE WHEN seq = 1 THEN 0 ELSE 1 END, seq, seq, '{}' FROM run;`,
  );
}

test('lists of 100,000 runs and approvals take milliseconds, with any filter', async () => {
  const file = newFile();
  await openEngineStore({ file }).store.close();
  // Rows added through the store get higher numbers.
  change(file, `INSERT INTO sqlite_sequence VALUES ('delivery', ${MANY + 1_000})`);
  const before = openEngineStore({ file });
  for (const [id, outcome] of [
    ['w', 'parked'],
    ['d', 'done'],
  ] as const) {
    const turn = await appendClaimed(before.store, eventOf(id, id));
    await commitOne(before.store, resultOf(turn, outcome, { parkedOn: 'never' }));
  }
  await before.store.close();
  fillStore(file);
  const { store } = openEngineStore({ file });
  const queries = {
    newest: () => store.runs({ limit: 50 }),
    waiting: () => store.runs({ limit: 50, states: ['waiting'] }),
    failed: () => store.runs({ limit: 50, states: ['dead'] }),
    rare: () => store.runs({ limit: 50, name: 'rare' }),
    'none of the name': () => store.runs({ limit: 50, name: 'nobody' }),
    pending: () => store.approvals({ limit: 50, states: ['pending'] }),
    denied: () => store.approvals({ limit: 50, states: ['denied', 'expired'] }),
    decided: () => store.approvals({ limit: 50 }),
    'of one run': () => store.approvals({ limit: 50, run: 'a:7' }),
  };
  const found: Record<string, number> = {};
  const took: Record<string, number> = {};
  for (const [name, ask] of Object.entries(queries)) {
    // One slow round is allowed on a busy machine.
    for (let round = 0; round < 3; round += 1) {
      const { result, ms } = await timed<readonly unknown[] | { readonly runs: readonly unknown[] }>(ask);
      found[name] = 'runs' in result ? result.runs.length : result.length;
      took[name] = Math.min(took[name] ?? Number.POSITIVE_INFINITY, Math.round(ms * 10) / 10);
    }
  }
  if (process.env.SHOW_FIGURES !== undefined) console.error(took);
  expect(found).toEqual({
    newest: 50,
    waiting: 50,
    failed: 0,
    rare: 1,
    'none of the name': 0,
    pending: 1,
    denied: 0,
    decided: 50,
    'of one run': 1,
  });
  for (const ms of Object.values(took)) expect(ms).toBeLessThan(100);
  await store.close();
});

test('an approval in an unknown state is omitted from lists and logged, and texts with invalid characters are repaired', async () => {
  const file = newFile();
  const { store } = openEngineStore({ file });
  const turn = await appendClaimed(store, eventOf('a:1', 'k'));
  const asks = ['one', 'two\ud800', 'three'].map((id) => ({ id, body: '"\ud800\0"' }));
  const run = { ...RUN, name: 'n'.repeat(1_000), figures: '"\udc00"' };
  await commitOne(store, resultOf(turn, 'parked', { parkedOn: 'yes', steps: ['"\ud800\0"'], run, asks }));
  expect((await store.steps('a:1')).map(({ text }) => text)).toEqual(['"\ufffd\ufffd"']);
  expect(await store.run('a:1')).toMatchObject({ name: 'n'.repeat(256), figures: '"\ufffd"' });
  const decided = await store.decide('two\ud800', { state: 'denied', decision: '"\ud800"', emit: [] });
  expect(decided?.approval).toMatchObject({ id: 'two\ufffd', body: '"\ufffd\ufffd"', decision: '"\ufffd"' });
  await store.close();
  change(file, "UPDATE approval SET state = 54 WHERE id = 'one'");
  const warnings: string[] = [];
  const opened = await openSqliteStore({
    file,
    workerUrl: storeWorkerUrl(),
    onDamagedRecord: (name) => warnings.push(name),
  });
  const listed = await opened.approvals({ limit: 10 });
  expect(listed.map(({ id, state }) => [id, state])).toEqual([
    ['two\ufffd', 'denied'],
    ['three', 'pending'],
  ]);
  expect(warnings).toEqual(['approval one is not listed: an approval has an unknown state']);
  await expect(opened.approval('one')).rejects.toThrow('damaged');
  await opened.close();
});
