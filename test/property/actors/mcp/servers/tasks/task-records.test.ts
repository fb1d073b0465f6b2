// Task records compared with a model: owners cannot find foreign tasks, and the bounds hold.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallOwner } from '../../../../../../actors/mcp/servers/calls/call-owner.ts';
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
const owners = [...sessions, 'key:a', 'token:b'];
const openMember = () => ({ isClosing: false }) as PoolMember;

interface Modelled {
  readonly session: CallOwner;
  readonly member: PoolMember;
  isActive: boolean;
  ttl: number;
  at: number;
}

const step = fc.oneof(
  fc.record({
    do: fc.constant('add' as const),
    owner: fc.nat(4),
    session: fc.nat(2),
    id: fc.nat(5),
    member: fc.nat(1),
    ttl: fc.constantFrom(null, 0, 50, 5_000),
  }),
  fc.record({
    do: fc.constant('status' as const),
    member: fc.nat(1),
    id: fc.nat(5),
    status: fc.constantFrom('working', 'completed', 'cancelled', 7),
  }),
  fc.record({ do: fc.constant('end' as const), member: fc.nat(1) }),
  fc.record({ do: fc.constant('release' as const), session: fc.nat(2) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 60, ACTIVE_MS) }),
);

test.each(['process', 'server'] as const)(
  '%s: each owner finds its own tasks only, across ends of sessions and processes',
  (lifetime) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const members = [openMember(), openMember()];
        const ended: PoolMember[] = [];
        let now = 0;
        const records = new TaskRecords(lifetime, () => now);
        const model = new Map<string, Modelled>();
        const isThere = (it: Modelled | undefined): it is Modelled =>
          it !== undefined && now - it.at <= Math.min(it.ttl, 86_400_000);
        const key = (owner: number, id: number) => `${owner}/${id}`;
        for (const one of steps) {
          if (one.do === 'wait') now += one.ms;
          else if (one.do === 'end') {
            const member = members[one.member] as PoolMember;
            member.isClosing = true;
            ended.push(member);
            members[one.member] = openMember();
            if (lifetime === 'process')
              for (const [at, it] of model) if (it.member === member) model.delete(at);
          } else if (one.do === 'add') {
            const owner = owners[one.owner] as CallOwner | string;
            // Any session may create tasks for its principal.
            const session = (typeof owner === 'string' ? sessions[one.session] : owner) as CallOwner;
            const member = members[one.member] as PoolMember;
            records.add({ owner, session, member }, `t${one.id}`, { status: 'working', ttl: one.ttl });
            // The newest task with an id at one server or process replaces the others.
            for (let other = 0; other < owners.length; other += 1) {
              const replaced = model.get(key(other, one.id));
              if (lifetime === 'server' || replaced?.member === member) model.delete(key(other, one.id));
            }
            model.set(key(one.owner, one.id), {
              session,
              member,
              isActive: true,
              ttl: one.ttl ?? Number.POSITIVE_INFINITY,
              at: now,
            });
          } else if (one.do === 'status') {
            const member = members[one.member] as PoolMember;
            const told = records.onStatus(member, `t${one.id}`, { status: one.status, ttl: undefined });
            const meant = owners
              .flatMap((_, owner) => model.get(key(owner, one.id)) ?? [])
              .filter((it) => it.member === member && isThere(it));
            for (const it of meant) {
              it.at = now;
              if (one.status === 'completed' || one.status === 'cancelled') it.isActive = false;
            }
            for (const session of told) expect(meant.map((it) => it.session)).toContain(session);
          } else {
            records.release(sessions[one.session] as CallOwner);
            for (const at of [...model.keys()]) if (at.startsWith(`${one.session}/`)) model.delete(at);
          }
          for (const [owner, who] of owners.entries())
            for (let id = 0; id <= 5; id += 1) {
              const it = model.get(key(owner, id));
              for (const member of [...members, ...ended])
                expect(records.has(who, `t${id}`, member)).toBe(
                  isThere(it) && (lifetime === 'server' || it.member === member),
                );
              expect(records.find(who, `t${id}`)?.member).toBe(isThere(it) ? it.member : undefined);
            }
          for (const member of members) {
            const isActive = [...model.values()].some(
              (it) => it.member === member && it.isActive && now - it.at < Math.min(it.ttl, ACTIVE_MS),
            );
            if (isActive) expect(records.isActiveOn(member)).toBe(true);
            else if (![...model.values()].some((it) => it.member === member))
              expect(records.isActiveOn(member)).toBe(false);
          }
        }
      }),
      { numRuns: runs(500) },
    );
  },
);

describe('bounds', () => {
  const [session = {} as CallOwner] = sessions;
  const member = openMember();
  const working = { status: 'working', ttl: null };

  test('one owner keeps its newest tasks, and takes none from others', () => {
    const records = new TaskRecords('process');
    records.add({ owner: 'key:a', session, member }, 'mine', working);
    for (let n = 0; n < MAX_PER_OWNER + 10; n += 1)
      records.add({ owner: session, session, member }, `t${n}`, working);
    expect(records.size).toBe(MAX_PER_OWNER + 1);
    expect(records.find(session, 't9')).toBeUndefined();
    expect(records.find(session, 't10')).toBeDefined();
    expect(records.find('key:a', 'mine')).toBeDefined();
  });

  test('all owners together keep MAX_RECORDS; the owner without new tasks for longest loses its oldest', () => {
    const records = new TaskRecords('process');
    for (let n = 0; n < MAX_RECORDS + 50; n += 1)
      records.add({ owner: `key:${n % 1000}`, session: undefined, member }, `t${n}`, working);
    expect(records.size).toBe(MAX_RECORDS);
    expect(records.find('key:193', 't193')).toBeUndefined();
    expect(records.find(`key:${(MAX_RECORDS + 49) % 1000}`, `t${MAX_RECORDS + 49}`)).toBeDefined();
  });

  test('an id without measure is not kept', () => {
    const records = new TaskRecords('process');
    records.add({ owner: session, session, member }, 'x'.repeat(MAX_ID_LENGTH + 1), working);
    expect(records.size).toBe(0);
  });

  test('records of tasks that are over are removed', () => {
    let now = 0;
    const records = new TaskRecords('process', () => now);
    for (let n = 0; n < 100; n += 1)
      records.add({ owner: session, session, member }, `t${n}`, { status: 'completed', ttl: 1_000 });
    now = 120_000;
    records.add({ owner: 'key:a', session, member }, 'new', working);
    expect(records.size).toBe(1);
  });
});
