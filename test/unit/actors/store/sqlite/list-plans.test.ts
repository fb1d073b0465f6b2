// Query plans for lists of deliveries, runs, approvals and steps in SQLite. Each list must use an index for
// the filter, to find rare rows in large tables quickly.

import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ApprovalFilter } from '../../../../../actors/store/approval.ts';
import type { DeliveryState } from '../../../../../actors/store/delivery.ts';
import { stateCodes } from '../../../../../actors/store/delivery-states.ts';
import { SqliteConnection } from '../../../../../actors/store/sqlite/connection.ts';
import { SqliteEngine } from '../../../../../actors/store/sqlite/engine.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

/** More rows than a page reads. */
const DEAD = 12_000;
/** States of the oldest rows; later rows are dead. */
const OLDEST = { 1: 'waiting', 2: 'queued', 3: 'held' } as const;

const options = {
  retentionMs: 1_000_000,
  snapshotRetentionMs: 1_000_000,
  maxWaiting: 100,
  maxParked: 100,
  now: () => DEAD,
};
const BEFORE = { askedAt: 5, id: 'p:5' };

const file = join(storeFolder(), 'plans.sqlite');
let engine: SqliteEngine;

beforeAll(async () => {
  await openEngineStore({ file }).store.close();
  const db = new Database(file);
  const { dead, waiting, queued, held } = stateCodes;
  db.exec(`
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${DEAD})
    INSERT INTO delivery (seq, id, key, trace, state, at, waits_for, held_by, has_progress)
      SELECT n, 'a:' || n, 'k/' || n, 't',
        CASE n WHEN 1 THEN ${waiting} WHEN 2 THEN ${queued} WHEN 3 THEN ${held} ELSE ${dead} END, n,
        CASE n WHEN 1 THEN 'yes' END, CASE n WHEN 3 THEN 'orders' END, 1 FROM n;
    INSERT INTO body (seq, meta, body) SELECT seq, '', x'' FROM delivery;
    INSERT INTO run (seq, kind, name, figures) SELECT seq, 'agent', 'oncall', '{}' FROM delivery;
    INSERT INTO step (seq, n, at, total, text) SELECT seq, 1, seq, 2, '{}' FROM run;
    INSERT INTO approval (id, seq, state, asked, body)
      SELECT 'p:' || seq, seq, CASE seq WHEN 1 THEN 0 ELSE 4 END, seq, '{}' FROM run;`);
  db.close();
  engine = new SqliteEngine({ ...options, file });
});
afterAll(() => engine.close());

interface Planned {
  readonly sql: string;
  /** One line per table: `SEARCH delivery USING INDEX delivery_dead (seq<?)`. */
  readonly plan: readonly string[];
}

/** Returns the query plans of all statements that `action` prepares. */
function plansOf(action: () => unknown): readonly Planned[] {
  const prepared = vi.spyOn(SqliteConnection.prototype, 'prepare');
  try {
    action();
    const { calls, contexts } = prepared.mock;
    prepared.mockRestore();
    return calls.flatMap(([sql], n) => {
      const connection = contexts[n] as SqliteConnection;
      if (/^\s*(PRAGMA|INSERT)/.test(sql)) return [];
      const rows: unknown = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all([]);
      return { sql, plan: (rows as readonly { detail: string }[]).map(({ detail }) => detail) };
    });
  } finally {
    prepared.mockRestore();
  }
}

/** Returns the tables and indexes read by a list. */
const readBy = (list: () => unknown) =>
  plansOf(() => engine.transaction(list)).flatMap(({ plan }) => plan.filter((line) => TABLE.test(line)));

const TABLE = /^(SCAN|SEARCH) (delivery|run|step|approval|progress)\b/;
/** Returns true for scans of whole tables and indexes. */
const isScan = (line: string) => line.startsWith('SCAN');
/** These indexes contain only waiting or running events, whose number is limited. */
const SMALL = /INDEX (delivery_unfinished|delivery_waiting)$/;

describe.each(Object.entries(OLDEST))(
  'the oldest of very many rows, number %s, which is %s',
  (seq, state) => {
    const states: readonly DeliveryState[] = [state];

    test('appears in each list that is filtered by its state, and the list has one page', () => {
      for (const filter of [{ states }, { states, name: 'oncall' }, { states, kind: 'agent' as const }]) {
        const { runs, beforeSeq } = engine.runs({ ...filter, limit: 50 });
        expect([runs.map(({ delivery }) => delivery.seq), beforeSeq]).toEqual([[Number(seq)], undefined]);
      }
      const { deliveries, beforeSeq } = engine.deliveryPage({ states, limit: 50 });
      expect([deliveries.map((each) => each.seq), beforeSeq]).toEqual([[Number(seq)], undefined]);
    });
  },
);

describe('a list', () => {
  test.each<[states: readonly DeliveryState[], indexes: readonly string[]]>([
    [['waiting'], ['delivery_waiting']],
    [['running', 'retrying'], ['delivery_unfinished']],
    [['dead'], ['delivery_dead']],
    [
      ['queued', 'held', 'waiting'],
      ['delivery_unfinished', 'delivery_waiting'],
    ],
    [
      ['waiting', 'dead'],
      ['delivery_dead', 'delivery_waiting'],
    ],
  ])('of %s deliveries reads the indexes %s', (states, indexes) => {
    for (const list of [
      () => engine.runs({ states, limit: 50 }),
      () => engine.runs({ states, name: 'oncall', limit: 50 }),
      () => engine.deliveryPage({ states, limit: 50 }),
    ]) {
      const read = readBy(list);
      const used = new Set(read.flatMap((line) => /INDEX (delivery_\w+)/.exec(line)?.[1] ?? []));
      expect([...used].sort()).toEqual(indexes);
      expect(read.filter((line) => isScan(line) && !SMALL.test(line))).toEqual([]);
    }
  });

  test('of runs is read from the start of the page, with or without a name filter', () => {
    expect(readBy(() => engine.runs({ name: 'oncall', states: ['done'], limit: 50 }))).toContain(
      'SEARCH run USING COVERING INDEX run_name (name=? AND seq<?)',
    );
    for (const list of [() => engine.runs({ limit: 50 }), () => engine.runs({ states: ['done'], limit: 50 })])
      expect(readBy(list).filter(isScan)).toEqual([]);
  });

  test.each<[filter: Omit<ApprovalFilter, 'limit'>, index: string]>([
    [{ states: ['pending'] }, 'approval_state (state=?)'],
    [{ states: ['pending', 'denied'], before: BEFORE }, 'approval_state (state=? AND (asked,id)<(?,?))'],
    [{ before: BEFORE }, 'approval_asked ((asked,id)<(?,?))'],
    [{ run: 'a:7' }, 'approval_seq (seq=?)'],
    [{ run: 'a:7', states: ['pending'] }, 'approval_seq (seq=?)'],
  ])('of approvals with the filter %j is read through the index %s', (filter, index) => {
    const read = readBy(() => engine.approvals({ ...filter, limit: 50 }));
    expect(read).toContain(`SEARCH approval USING INDEX ${index}`);
    expect(read.filter(isScan)).toEqual([]);
  });
});

test('queries for the steps and approvals of one run read only that run', () => {
  let other: SqliteEngine | undefined;
  const plans = plansOf(() => {
    other = new SqliteEngine({ ...options, file: join(storeFolder(), 'empty.sqlite') });
  });
  other?.close();
  const about = plans.filter(({ sql }) => /\b(FROM|UPDATE|JOIN) (run|step|approval)\b/.test(sql));
  expect(about.length).toBeGreaterThan(10);
  expect(about.filter(({ plan }) => plan.some((line) => TABLE.test(line) && isScan(line)))).toEqual([]);
});
