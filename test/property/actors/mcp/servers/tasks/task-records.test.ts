// Records of the tasks that clients created at a server, compared with a simple model. Tasks are added,
// report a status and expire. Sessions and server processes end. An owner finds only its tasks, and the
// limits apply.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallOwner } from '../../../../../../actors/mcp/servers/calls/owner.ts';
import type { PoolMember } from '../../../../../../actors/mcp/servers/pool/pool-member.ts';
import {
  ACTIVE_MS,
  MAX_ID_LENGTH,
  MAX_PER_OWNER,
  MAX_RECORDS,
  TaskRecords,
} from '../../../../../../actors/mcp/servers/tasks/task-records.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

const sessions = ['s1', 's2', 's3'].map((label) => ({ label }) as CallOwner);
/** Owners are the three sessions, and two principals. */
const owners = [...sessions, 'key:a', 'token:b'];
/** Maximum record age, in ms, even if its ttl is longer. */
const DAY_MS = 86_400_000;
/** Random task ids are 0 to 5. */
const MAX_ID = 5;
const openMember = () => ({ isClosing: false }) as PoolMember;

interface ModelRecord {
  readonly session: CallOwner;
  readonly member: PoolMember;
  isActive: boolean;
  ttl: number;
  /** Time of the last change, in ms. */
  updatedAt: number;
}

/**
 * Steps. `owner`, `session` and `member` are indexes; a member is a connection to a process of the server.
 * `status` reports a task status, `end` ends the process of a member, and `release` ends a session.
 */
const step = fc.oneof(
  fc.record({
    do: fc.constant('add' as const),
    owner: fc.nat(4),
    session: fc.nat(2),
    id: fc.nat(MAX_ID),
    member: fc.nat(1),
    ttl: fc.constantFrom(null, 0, 50, 5_000),
  }),
  fc.record({
    do: fc.constant('status' as const),
    member: fc.nat(1),
    id: fc.nat(MAX_ID),
    // 7 is an invalid status, as of a faulty server.
    status: fc.constantFrom('working', 'completed', 'cancelled', 7),
  }),
  fc.record({ do: fc.constant('end' as const), member: fc.nat(1) }),
  fc.record({ do: fc.constant('release' as const), session: fc.nat(2) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 60, ACTIVE_MS) }),
);

// Tasks of a local server end with its process. Tasks of a remote server outlive its connections.
test.each(['process', 'server'] as const)(
  'with tasks of lifetime %s, each owner finds only its own tasks, even after sessions and processes have ended',
  (lifetime) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const members = [openMember(), openMember()];
        const endedMembers: PoolMember[] = [];
        let now = 0;
        const records = new TaskRecords(lifetime, () => now);
        const model = new Map<string, ModelRecord>();
        const isValid = (record: ModelRecord | undefined): record is ModelRecord =>
          record !== undefined && now - record.updatedAt <= Math.min(record.ttl, DAY_MS);
        // Keys of the model are `OWNER/ID`, with the index of the owner.
        const keyOf = (owner: number, id: number) => `${owner}/${id}`;
        for (const each of steps) {
          if (each.do === 'wait') now += each.ms;
          else if (each.do === 'end') {
            const member = members[each.member] as PoolMember;
            member.isClosing = true;
            endedMembers.push(member);
            members[each.member] = openMember();
            if (lifetime === 'process')
              for (const [recordKey, record] of model) if (record.member === member) model.delete(recordKey);
          } else if (each.do === 'add') {
            const owner = owners[each.owner] as CallOwner | string;
            // Any session may create tasks for its principal.
            const session = (typeof owner === 'string' ? sessions[each.session] : owner) as CallOwner;
            const member = members[each.member] as PoolMember;
            records.add({ owner, session, member }, `t${each.id}`, { status: 'working', ttl: each.ttl });
            // The newest task with an id on a server or process replaces older tasks.
            for (let eachOwner = 0; eachOwner < owners.length; eachOwner += 1) {
              const older = model.get(keyOf(eachOwner, each.id));
              if (lifetime === 'server' || older?.member === member) model.delete(keyOf(eachOwner, each.id));
            }
            model.set(keyOf(each.owner, each.id), {
              session,
              member,
              isActive: true,
              ttl: each.ttl ?? Number.POSITIVE_INFINITY,
              updatedAt: now,
            });
          } else if (each.do === 'status') {
            const member = members[each.member] as PoolMember;
            const ownersFound = records.onStatus(member, `t${each.id}`, {
              status: each.status,
              ttl: undefined,
            });
            const matches = owners
              .flatMap((_, owner) => model.get(keyOf(owner, each.id)) ?? [])
              .filter((record) => record.member === member && isValid(record));
            for (const record of matches) {
              record.updatedAt = now;
              if (each.status === 'completed' || each.status === 'cancelled') record.isActive = false;
            }
            for (const session of ownersFound)
              expect(matches.map((record) => record.session)).toContain(session);
          } else {
            records.release(sessions[each.session] as CallOwner);
            for (const recordKey of [...model.keys()])
              if (recordKey.startsWith(`${each.session}/`)) model.delete(recordKey);
          }
          for (const [ownerIndex, owner] of owners.entries())
            for (let id = 0; id <= MAX_ID; id += 1) {
              const record = model.get(keyOf(ownerIndex, id));
              for (const member of [...members, ...endedMembers])
                expect(records.has(owner, `t${id}`, member)).toBe(
                  isValid(record) && (lifetime === 'server' || record.member === member),
                );
              expect(records.find(owner, `t${id}`)?.member).toBe(isValid(record) ? record.member : undefined);
            }
          for (const member of members) {
            const isActive = [...model.values()].some(
              (record) =>
                record.member === member &&
                record.isActive &&
                now - record.updatedAt < Math.min(record.ttl, ACTIVE_MS),
            );
            // Expired records are removed later. Before the removal they may count as active or not.
            if (isActive) expect(records.isActiveOn(member)).toBe(true);
            else if (![...model.values()].some((record) => record.member === member))
              expect(records.isActiveOn(member)).toBe(false);
          }
        }
      }),
      { numRuns: runs(500) },
    );
  },
);

describe('the limits of task records', () => {
  const [session = {} as CallOwner] = sessions;
  const member = openMember();
  const working = { status: 'working', ttl: null };

  test('an owner above its limit loses its oldest tasks, and no other owner loses a task', () => {
    const records = new TaskRecords('process');
    records.add({ owner: 'key:a', session, member }, 'mine', working);
    for (let n = 0; n < MAX_PER_OWNER + 10; n += 1)
      records.add({ owner: session, session, member }, `t${n}`, working);
    // The first 10 tasks of the session are removed.
    expect(records.size).toBe(MAX_PER_OWNER + 1);
    expect(records.find(session, 't9')).toBeUndefined();
    expect(records.find(session, 't10')).toBeDefined();
    expect(records.find('key:a', 'mine')).toBeDefined();
  });

  test('above MAX_RECORDS in total, the owner that has added no task for the longest time loses its oldest task', () => {
    const records = new TaskRecords('process');
    for (let n = 0; n < MAX_RECORDS + 50; n += 1)
      records.add({ owner: `key:${n % 1000}`, session: undefined, member }, `t${n}`, working);
    expect(records.size).toBe(MAX_RECORDS);
    // 1,000 owners add tasks in turn. The first task above MAX_RECORDS (8,192) is added by `key:192`. At this
    // time, `key:193` is the owner that has added no task for the longest time.
    expect(records.find('key:193', 't193')).toBeUndefined();
    expect(records.find(`key:${(MAX_RECORDS + 49) % 1000}`, `t${MAX_RECORDS + 49}`)).toBeDefined();
  });

  test('an id above the length limit is not stored', () => {
    const records = new TaskRecords('process');
    records.add({ owner: session, session, member }, 'x'.repeat(MAX_ID_LENGTH + 1), working);
    expect(records.size).toBe(0);
  });

  test('records of finished tasks are removed after their ttl', () => {
    let now = 0;
    const records = new TaskRecords('process', () => now);
    for (let n = 0; n < 100; n += 1)
      records.add({ owner: session, session, member }, `t${n}`, { status: 'completed', ttl: 1_000 });
    // Long after the ttl of 1,000 ms.
    now = 120_000;
    records.add({ owner: 'key:a', session, member }, 'new', working);
    expect(records.size).toBe(1);
  });
});
