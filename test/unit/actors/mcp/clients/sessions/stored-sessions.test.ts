// Records of sessions that are damaged, or written by another program or version.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseRecord,
  type SessionRecord,
} from '../../../../../../actors/mcp/clients/sessions/session-record.ts';
import {
  type SessionStorage,
  StoredSessions,
} from '../../../../../../actors/mcp/clients/sessions/stored-sessions.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

const record: SessionRecord = {
  owner: { principal: 'token:ada', client: '10.0.0.1' },
  principal: { kind: 'token', name: 'ada' },
  target: 'api',
  protocolVersion: '2025-06-18',
  clientInfo: { name: 'client', version: '1' },
  capabilities: { roots: {} },
  generation: 1,
  level: 'warning',
  subscriptions: [
    ['api', 'test://a'],
    ['api', 'test://b', true],
  ],
  processes: ['api'],
  usedAt: Date.now(),
};

/** Changes of the valid record that make it unusable. */
const damages: Readonly<Record<string, unknown>>[] = [
  { owner: undefined },
  { owner: { principal: 'token:ada' } },
  { principal: null },
  { principal: { kind: 'token', name: 7 } },
  { target: {} },
  { profile: 1 },
  { protocolVersion: undefined },
  { protocolVersion: '2099-01-01' },
  { capabilities: [] },
  { level: 'loud' },
  { subscriptions: undefined },
  { subscriptions: 'api' },
  { subscriptions: [['api']] },
  { subscriptions: [null] },
  { processes: { api: true } },
  { processes: [1] },
  { generation: '1' },
  { generation: 1.5 },
  { usedAt: null },
];

const texts = [
  ...damages.map((damage) => JSON.stringify({ ...record, ...damage })),
  ...['', 'null', '[]', '"text"', '7', '{}', '{"owner":', JSON.stringify(record).slice(0, -20)],
];

function storageOf(entries: readonly (readonly [string, string])[]) {
  const deleted: string[] = [];
  const storage: SessionStorage = {
    entries: () => entries,
    find: () => entries[0]?.[1],
    put: async () => {},
    delete: async (key) => void deleted.push(key),
  };
  return { storage, deleted };
}

test('a damaged session record is deleted with a warning, and the other records are loaded', async () => {
  expect(parseRecord(JSON.stringify(record))).toEqual(JSON.parse(JSON.stringify(record)));
  for (const text of texts) {
    const warnings: string[] = [];
    const { storage, deleted } = storageOf([
      ['bad', text],
      ['good', JSON.stringify(record)],
    ]);
    const records = new StoredSessions(storage, 100, (warning) => warnings.push(warning));
    expect([records.size, deleted], text).toEqual([1, ['bad']]);
    expect(warnings).toEqual([expect.stringContaining('skipped damaged session records (1)')]);
    expect(await records.find('any'), text).toBeUndefined();
    expect(warnings).toHaveLength(2);
  }
});

test('an expired session record is removed without a warning', async () => {
  const warnings: string[] = [];
  const { storage, deleted } = storageOf([['old', JSON.stringify({ ...record, usedAt: 1 })]]);
  const records = new StoredSessions(storage, 100, (warning) => warnings.push(warning));
  expect([records.size, deleted, await records.find('any'), warnings]).toEqual([0, ['old'], undefined, []]);
});

test('a session record with any changed member is either parsed to the right types or rejected', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(record)), fc.jsonValue(), (member, value) => {
      const parsed = parseRecord(JSON.stringify({ ...record, [member]: value }));
      if (parsed === undefined) return;
      const { owner, principal, subscriptions, processes, usedAt, generation } = parsed;
      expect([owner.principal, owner.client, principal.name].map((each) => typeof each)).toEqual(
        Array(3).fill('string'),
      );
      for (const [server, uri] of subscriptions)
        expect([typeof server, typeof uri]).toEqual(['string', 'string']);
      expect(processes.every((each) => typeof each === 'string')).toBe(true);
      expect(Number.isSafeInteger(usedAt) && Number.isSafeInteger(generation)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});
