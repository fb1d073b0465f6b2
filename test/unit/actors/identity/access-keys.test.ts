// Access keys at two nodes of one store, compared with a simple model, and outages of the store.

import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { AccessKeyStore } from '../../../../actors/identity/access-keys/access-key.ts';
import { AccessKeys } from '../../../../actors/identity/access-keys/access-keys.ts';
import { hasChecksum, isKeyText, newKeyText } from '../../../../actors/identity/access-keys/key-text.ts';
import { OpenStreams } from '../../../../actors/identity/access-keys/open-streams.ts';
import { type Role, roles } from '../../../../actors/identity/roles.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { MemoryValues } from '../../../fixtures/store/memory-values.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const INVALID = { kind: 'forbidden', reason: 'Invalid API key' };

class SharedStore extends MemoryValues implements AccessKeyStore {
  isAway = false;
  readonly clock: { now: number };
  readonly #listeners = new Set<() => void>();

  constructor(clock = { now: 1_000_000 }) {
    super(() => clock.now);
    this.clock = clock;
  }

  now(): number {
    return this.clock.now;
  }

  override async accessKeys(afterVersion: number) {
    if (this.isAway) throw new StoreUnavailableError('away');
    return super.accessKeys(afterVersion);
  }

  watchAccessKeys(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies all nodes, and resolves when they have read the changes. */
  async spread(): Promise<void> {
    for (const listener of this.#listeners) listener();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

interface ModelKey {
  readonly id: string;
  readonly text: string;
  readonly name: string;
  readonly role: Role;
  readonly lifetimeMs: number | undefined;
  expiresAt: number;
  isRevoked: boolean;
}

const node = fc.integer({ min: 0, max: 1 });
const at = fc.nat({ max: 30 });
const duration = fc.constantFrom(0, 1_000, 60_000, 3_600_000);
const step = fc.oneof(
  fc.record({
    do: fc.constant('create' as const),
    node,
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    role: fc.constantFrom(...roles),
    lifetimeMs: fc.option(duration, { nil: undefined }),
  }),
  fc.record({ do: fc.constant('rotate' as const), node, at, overlapMs: duration }),
  fc.record({ do: fc.constant('revoke' as const), node, at }),
  fc.record({ do: fc.constant('pass' as const), ms: duration }),
);

test('random keys, rotations, revocations and requests at two nodes agree with a model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const store = new SharedStore();
      const nodes = [await AccessKeys.open(store), await AccessKeys.open(store)] as const;
      const model: ModelKey[] = [];
      const isValid = (key: ModelKey) => !key.isRevoked && store.clock.now < key.expiresAt;
      const add = (key: Awaited<ReturnType<AccessKeys['create']>>, lifetimeMs: number | undefined) => {
        const { id, name, role } = key.key;
        const expiresAt = store.clock.now + (lifetimeMs ?? Number.POSITIVE_INFINITY);
        model.push({ id, text: key.text, name, role, lifetimeMs, expiresAt, isRevoked: false });
      };
      try {
        for (const each of steps) {
          const old = 'at' in each ? model[each.at % Math.max(1, model.length)] : undefined;
          if (each.do === 'pass') store.clock.now += each.ms;
          else if (each.do === 'create') {
            const { name, role, lifetimeMs } = each;
            const created = nodes[each.node as 0 | 1].create({ name, role, lifetimeMs, createdBy: 'test' });
            if (model.some((key) => key.name === name && isValid(key)))
              await expect(created).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
            else add(await created, lifetimeMs);
          } else if (old === undefined) continue;
          else if (each.do === 'revoke') {
            await nodes[each.node as 0 | 1].revoke(old.id);
            old.isRevoked = true;
          } else {
            const rotated = nodes[each.node as 0 | 1].rotate(old.id, each.overlapMs, 'test');
            if (isValid(old)) {
              add(await rotated, old.lifetimeMs);
              old.expiresAt = Math.min(old.expiresAt, store.clock.now + each.overlapMs);
            } else await expect(rotated).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
          }
          await store.spread();
          for (const keys of nodes)
            for (const key of model) {
              const { id: keyId, name, role } = key;
              const verdict = isValid(key) ? { kind: 'key', name, role, keyId } : INVALID;
              expect(await keys.principalOf(key.text)).toEqual(verdict);
            }
        }
        const [last] = model.slice(-1);
        if (last !== undefined)
          for (const text of [flip(last.text, 20), flip(last.text, last.text.length - 1)])
            expect(await nodes[0].principalOf(text)).toEqual(INVALID);
        const listed = await nodes[0].list();
        expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(model.map(({ id }) => id)));
      } finally {
        await Promise.all(nodes.map((each) => each.close()));
      }
    }),
    { numRuns: runs(100) },
  );
});

function flip(text: string, index: number): string {
  const other = text[index] === 'A' ? 'B' : 'A';
  return text.slice(0, index) + other + text.slice(index + 1);
}

test('each changed character of a key is detected by its checksum, without a look-up', () => {
  const { text } = newKeyText();
  expect([isKeyText(text), hasChecksum(text)]).toEqual([true, true]);
  for (let index = 15; index < text.length; index += 1) expect(hasChecksum(flip(text, index))).toBe(false);
});

test('without the store known keys work for 60 s, and unknown keys cannot be verified', async () => {
  const store = new SharedStore();
  const keys = await AccessKeys.open(store);
  const { text } = await keys.create({ name: 'a', role: 'user', lifetimeMs: undefined, createdBy: 'test' });
  const unknown = newKeyText().text;
  expect(await keys.principalOf(unknown)).toEqual(INVALID);
  store.isAway = true;
  expect(await keys.principalOf(unknown)).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 5 });
  const start = performance.now();
  const setTime = (ms: number) => vi.spyOn(performance, 'now').mockReturnValue(start + ms);
  setTime(59_000);
  expect(keys.principalOf(text)).toMatchObject({ name: 'a' });
  setTime(61_000);
  expect(keys.principalOf(text)).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 5 });
  store.isAway = false;
  await store.spread();
  expect(keys.principalOf(text)).toMatchObject({ name: 'a' });
  await keys.close();
});

test('the last use of a key is stored, and a single process needs no look-ups', async () => {
  const store = new SharedStore();
  const single: AccessKeyStore = {
    now: () => store.now(),
    accessKeys: (after) => store.accessKeys(after),
    addAccessKey: (key, replaced) => store.addAccessKey(key, replaced),
    revokeAccessKey: (id) => store.revokeAccessKey(id),
    noteKeyUses: (uses) => store.noteKeyUses(uses),
  };
  const keys = await AccessKeys.open(single);
  const { text, key } = await keys.create({
    name: 'a',
    role: 'user',
    lifetimeMs: undefined,
    createdBy: 'test',
  });
  expect(keys.principalOf(newKeyText().text)).toEqual(INVALID);
  store.clock.now += 5_000;
  expect(keys.principalOf(text)).toMatchObject({ keyId: key.id });
  expect((await keys.list())[0]?.usedAt).toBe(store.clock.now);
  await keys.close();
  expect((await store.accessKeys(0))[0]?.usedAt).toBe(store.clock.now);
});

test('a stream that opens while its key ends is ended too, and completed responses are forgotten', () => {
  const streams = new OpenStreams();
  const opened = {
    isDone: false,
    isStream: false,
    endStream: () => {
      opened.isDone = opened.isStream;
    },
  };
  const answered = { isDone: true, endStream: () => expect.unreachable() };
  streams.add('one', opened);
  streams.add('two', answered);
  const isEnded = (id: string) => id === 'one';
  streams.sweep(isEnded);
  expect(opened.isDone).toBe(false);
  opened.isStream = true;
  streams.sweep(isEnded);
  expect(opened.isDone).toBe(true);
  streams.sweep(() => true);
});
