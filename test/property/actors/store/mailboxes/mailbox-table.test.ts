// The table of mailboxes (queues of one key, mailbox-table.ts), compared with a model that scans all
// mailboxes. Mailboxes and claims (permissions to handle a mailbox) change, the clock moves, and transactions
// are rolled back. A rollback restores the state before the transaction, except for the order of ready
// mailboxes.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { crashDomainOf } from '../../../../../actors/store/crash-domain.ts';
import {
  type ClaimEntry,
  type MailboxEntry,
  MailboxTable,
} from '../../../../../actors/store/mailboxes/mailbox-table.ts';
import { mayStartWith } from '../../../../../machines/crashes.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

/** A mailbox of the model. */
interface Row {
  readonly key: string;
  /** Time at which the mailbox is ready, or its claim expires. Infinity if neither. */
  readonly dueAt: number;
  readonly claim: ClaimEntry | undefined;
  readonly mayHaveMore: boolean;
  readonly isLocked: boolean;
  /** Crashes of the first event or the claimed event. */
  readonly crashes: number;
}

const keys = [
  'x',
  'y',
  'a/',
  'a/1',
  'a/b/1',
  'a/b/2',
  'a/b/c/1',
  'a/b/c/2',
  'b/1',
  'b/2',
  '/1',
  'outbox/p/1',
  'outbox/q/1',
  'outbox/x',
] as const;
const prefixes = [
  '',
  'a',
  'a/',
  'a/b',
  'a/b/',
  'a/b/1',
  'ab/',
  'b/',
  'x',
  '/',
  'c/',
  'c',
  'outbox',
  'outbox/',
  'outbox/p',
  'outbox/p/',
  'outbox/q/1',
] as const;

/** A minimal model of the table. */
class Model {
  now = 0;
  rows = new Map<string, Row>();

  /** Returns the ready mailboxes whose keys have the prefix. */
  ready(prefix: string): readonly Row[] {
    return [...this.rows.values()].filter(
      (row) => row.key.startsWith(prefix) && row.dueAt <= this.now && this.mayBegin(row),
    );
  }

  /** Returns false if other suspects (events that ran during a crash) must finish first. */
  mayBegin({ key, crashes }: Row): boolean {
    if (crashes === 0) return true;
    const runningSuspects = [...this.rows.values()].flatMap((row) =>
      row.key === key || row.claim === undefined || row.claim.crashes === 0
        ? []
        : [{ key: row.key, crashes: row.claim.crashes }],
    );
    const inDomain = runningSuspects.filter(
      (other) => other.crashes >= crashes && crashDomainOf(other.key) === crashDomainOf(key),
    );
    const maxCrashes = Math.max(0, ...runningSuspects.map((other) => other.crashes));
    return mayStartWith(crashes, inDomain.length, maxCrashes);
  }

  nextAfterNow(): number | undefined {
    const laterTimes = [...this.rows.values()]
      .map(({ dueAt }) => dueAt)
      .filter((dueAt) => dueAt > this.now && dueAt !== Number.POSITIVE_INFINITY);
    return laterTimes.length === 0 ? undefined : Math.min(...laterTimes);
  }
}

const rowOf = ({ key, dueAt, claim, mayHaveMore, isBlocked: isLocked, crashes }: MailboxEntry): Row => ({
  key,
  dueAt,
  claim,
  mayHaveMore,
  isLocked,
  crashes,
});
const sortedByKey = (rows: Iterable<Row>) => [...rows].sort((one, other) => (one.key < other.key ? -1 : 1));

/** Compares the results of all read methods. */
function checkAll(table: MailboxTable, model: Model): void {
  const firstReadyKeys = prefixes.map((prefix) => {
    const ready = model.ready(prefix).map(({ key }) => key);
    const first = table.firstReady(prefix)?.key;
    // A rollback may change the order, so any ready mailbox may be the first one.
    return first !== undefined && ready.includes(first) ? ready[0] : first;
  });
  expect({
    all: sortedByKey(table.all().map(rowOf)),
    dueTimes: keys.map((key) => table.get(key)?.dueAt),
    firstReadyKeys,
    next: table.nextAfter(model.now),
  }).toEqual({
    all: sortedByKey(model.rows.values()),
    dueTimes: keys.map((key) => model.rows.get(key)?.dueAt),
    firstReadyKeys: prefixes.map((prefix) => model.ready(prefix)[0]?.key),
    next: model.nextAfterNow(),
  });
}

/** Removes all ready mailboxes individually: none is duplicate, missing or unexpected. */
function checkDrained(table: MailboxTable, model: Model, prefix: string): void {
  const returned: string[] = [];
  for (let entry = table.firstReady(prefix); entry !== undefined; entry = table.firstReady(prefix)) {
    returned.push(entry.key);
    table.delete(entry.key);
  }
  const expected: string[] = [];
  for (let [row] = model.ready(prefix); row !== undefined; [row] = model.ready(prefix)) {
    expected.push(row.key);
    model.rows.delete(row.key);
  }
  expect(returned.sort()).toEqual(expected.sort());
}

/** A change of the table and the model. */
type Change = (table: MailboxTable, model: Model) => void;

const arbKey = fc.constantFrom(...keys);
/** Ready for a while, ready now, ready later, or held. */
const arbDelay = fc.oneof(fc.integer({ min: -50, max: 50 }), fc.constant(Number.POSITIVE_INFINITY));
const arbClaim = fc.option(
  fc.record({
    fence: fc.nat({ max: 99 }),
    seq: fc.nat({ max: 99 }),
    leaseMs: fc.nat({ max: 99 }),
    crashes: fc.nat({ max: 7 }),
  }),
  { nil: undefined },
);
const arbMailboxChange = fc.record({
  key: arbKey,
  inMs: arbDelay,
  claim: arbClaim,
  mayHaveMore: fc.boolean(),
  /** Crashes of the first event, if there is no claim. */
  crashesOfFirst: fc.nat({ max: 7 }),
});

const setMailbox = arbMailboxChange.map(
  ({ key, inMs, claim, mayHaveMore, crashesOfFirst }): Change =>
    (table, model) => {
      const dueAt = model.now + inMs;
      const crashes = claim?.crashes ?? crashesOfFirst;
      table.set(key, dueAt, claim, mayHaveMore, crashes);
      const isLocked = model.rows.get(key)?.isLocked ?? false;
      model.rows.set(key, { key, dueAt, claim, mayHaveMore, isLocked, crashes });
    },
);
const setMore = arbKey.map(
  (key): Change =>
    (table, model) => {
      const entry = table.get(key);
      if (entry !== undefined) table.setMore(entry);
      const row = model.rows.get(key);
      if (row !== undefined) model.rows.set(key, { ...row, mayHaveMore: true });
    },
);
/** A new locked mailbox is not scheduled, like a held mailbox. */
const lock = fc.tuple(arbKey, fc.boolean()).map(
  ([key, isLocked]): Change =>
    (table, model) => {
      table.setBlocked(key, isLocked);
      const newMailbox = {
        key,
        dueAt: Number.POSITIVE_INFINITY,
        claim: undefined,
        mayHaveMore: true,
        crashes: 0,
      };
      const row = model.rows.get(key) ?? (isLocked ? newMailbox : undefined);
      if (row !== undefined) model.rows.set(key, { ...row, isLocked });
    },
);
const remove = arbKey.map(
  (key): Change =>
    (table, model) => {
      table.delete(key);
      model.rows.delete(key);
    },
);
const change = fc.oneof({ weight: 3, arbitrary: setMailbox }, setMore, lock, remove);

/** Advances the time by a check for the next due time. */
const checkNextDue = fc.nat({ max: 60 }).map(
  (ms): Change =>
    (table, model) => {
      model.now += ms;
      expect(table.nextAfter(model.now)).toBe(model.nextAfterNow());
    },
);
const moveClockBack = fc.nat({ max: 60 }).map(
  (ms): Change =>
    (table, model) => {
      model.now -= ms;
      table.moveBack(model.now);
    },
);

/** Moves the expiry of all claims. */
function moveClaims(table: MailboxTable, model: Model, byMs: number): void {
  table.moveClaims(byMs);
  for (const row of [...model.rows.values()])
    if (row.claim !== undefined) model.rows.set(row.key, { ...row, dueAt: row.dueAt + byMs });
}

/** A transaction with several changes. It is rolled back if `fails`. */
const transaction = fc
  .record({
    ms: fc.nat({ max: 60 }),
    isClockMovedBack: fc.boolean(),
    moveClaimsByMs: fc.option(fc.integer({ min: -60, max: 60 }), { nil: undefined }),
    changes: fc.array(change, { maxLength: 12 }),
    fails: fc.boolean(),
  })
  .map(
    ({ ms, isClockMovedBack, moveClaimsByMs, changes, fails }): Change =>
      (table, model) => {
        const before = model.now;
        model.now += isClockMovedBack ? -ms : ms;
        const becomeReady = [...model.rows.values()].some(
          ({ dueAt }) => dueAt > before && dueAt <= model.now,
        );
        expect(table.begin(model.now)).toBe(becomeReady);
        const savedRows = new Map(model.rows);
        if (moveClaimsByMs !== undefined) moveClaims(table, model, moveClaimsByMs);
        if (isClockMovedBack) table.moveBack(model.now);
        for (const applyChange of changes) applyChange(table, model);
        checkAll(table, model);
        if (!fails) return;
        table.rollBack();
        model.rows = savedRows;
      },
  );

const arbStep = fc.oneof(
  { weight: 4, arbitrary: transaction },
  { weight: 1, arbitrary: checkNextDue },
  moveClockBack,
);

test('the mailbox table has the ready time and claim of each mailbox after any changes and rollbacks', () => {
  fc.assert(
    fc.property(
      fc.array(arbStep, { maxLength: 30, size: 'max' }),
      fc.constantFrom(...prefixes),
      (steps, prefix) => {
        const table = new MailboxTable();
        const model = new Model();
        model.now = 1_000_000;
        table.begin(model.now);
        for (const step of steps) {
          step(table, model);
          checkAll(table, model);
        }
        checkDrained(table, model, prefix);
      },
    ),
    { numRuns: runs(150) },
  );
});

test('mailboxes are returned in the order in which they become ready, for any key prefix', () => {
  const arbDues = fc.uniqueArray(fc.record({ key: arbKey, inMs: fc.nat({ max: 100 }) }), {
    selector: ({ key }) => key,
  });
  fc.assert(
    fc.property(arbDues, fc.constantFrom(...prefixes), (dues, prefix) => {
      const table = new MailboxTable();
      table.begin(1);
      for (const { key, inMs } of dues) table.set(key, 1 + inMs);
      table.begin(1_000);
      const returned: number[] = [];
      for (let entry = table.firstReady(prefix); entry !== undefined; entry = table.firstReady(prefix)) {
        returned.push(entry.dueAt);
        table.delete(entry.key);
      }
      const expected = dues.filter(({ key }) => key.startsWith(prefix)).map(({ inMs }) => 1 + inMs);
      expect(returned).toEqual(expected.sort((one, other) => one - other));
    }),
  );
});

test('a rollback of the mailbox table undoes the current transaction, not the previous transaction', () => {
  const table = new MailboxTable();
  table.begin(10);
  table.set('a/1', 10);
  table.begin(11);
  table.delete('a/1');
  table.set('a/1', 50, { fence: 1, seq: 1, leaseMs: 39, crashes: 0 });
  table.set('a/2', 11);
  table.rollBack();
  expect(table.all().map(({ key, dueAt, claim }) => ({ key, dueAt, claim }))).toEqual([
    { key: 'a/1', dueAt: 10, claim: undefined },
  ]);
  // A second rollback changes nothing.
  table.rollBack();
  expect(table.firstReady('a/')?.key).toBe('a/1');
});
