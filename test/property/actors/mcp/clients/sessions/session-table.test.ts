// The table of sessions with its stored records, compared with a model. Sessions are created, used, left idle
// and deleted, by several principals (verified senders) and clients. The process is killed and restarts with
// the same journal (the file of the records). A session is known to its principal until it is deleted, and
// never to another principal. The memory and the records stay within their limits.

import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import { allServers } from '../../../../../../actors/mcp/clients/profiles/profile.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { SessionRestorer } from '../../../../../../actors/mcp/clients/sessions/session-restorer.ts';
import { Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { StoredSessions } from '../../../../../../actors/mcp/clients/sessions/stored-sessions.ts';
import { SessionJournal } from '../../../../../../actors/state/session-journal.ts';
import { newFolder } from '../../../../../fixtures/new-folder.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

/** Time after which an idle session is removed from memory. */
const IDLE_MS = 60_000;
/** Maximum number of sessions per run. All of their records fit. */
const MAX_CREATED = 40;
const principals = ['ada', 'bob'].map((name) => ({ kind: 'token' as const, name }));
const clients = ['10.0.0.1', '10.0.0.2'];

// An owner is a principal at a client, with a number from 0 to 3.
const clientOf = (owner: number) => clients[Math.floor(owner / 2)];
/** Returns the owner with the same client and the opposite principal. */
const thiefOf = (owner: number) => (owner % 2 === 0 ? owner + 1 : owner - 1);

/** The sessions of a single gateway process. */
class Process {
  readonly sessions: Sessions;
  readonly restorer: SessionRestorer;
  readonly records: StoredSessions;
  readonly #journal: SessionJournal;

  static async start(folder: string, maxSessions: number): Promise<Process> {
    return new Process(await SessionJournal.open(folder, () => {}), maxSessions);
  }

  private constructor(journal: SessionJournal, maxSessions: number) {
    this.#journal = journal;
    this.records = new StoredSessions(journal, maxSessions, () => {});
    this.sessions = new Sessions({
      ...{ maxSessions, idleMs: IDLE_MS, log: silentLog, onEnd: () => {} },
      areStored: true,
      onForgotten: (session) => void this.restorer.forget(session).catch(() => {}),
    });
    this.restorer = new SessionRestorer({
      ...{ sessions: this.sessions, records: this.records, log: silentLog },
      serversOf: () => [],
    });
  }

  async create(owner: number): Promise<string> {
    const session = this.sessions.create({
      ...{ target: undefined, protocolVersion: '2025-06-18', clientInfo: { owner }, capabilities: {} },
      principal: principalOf(owner),
      client: clientOf(owner),
    });
    await this.restorer.save(session);
    return session.id;
  }

  async find(id: string, owner: number): Promise<ClientSession | undefined> {
    const session = await this.restorer.restore(id, allServers, principalOf(owner));
    return session instanceof ClientSession ? session : undefined;
  }

  async delete(id: string, owner: number): Promise<void> {
    const session = await this.find(id, owner);
    if (session === undefined) return;
    this.sessions.end(session, 'deleted');
    await this.restorer.forget(session);
  }

  /** `kill -9`: only the written journal remains. */
  async kill(): Promise<void> {
    await this.#journal.close();
    this.restorer.close();
    this.sessions.close();
  }
}

function principalOf(owner: number) {
  const principal = principals[owner % 2];
  if (principal === undefined) throw new Error('no principal');
  return principal;
}

afterEach(() => {
  vi.useRealTimers();
});

/** Steps. `at` selects one of the known sessions. `steal` uses it with the other principal. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      owner: fc.nat({ max: 3 }),
      count: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('use' as const, 'steal' as const, 'delete' as const),
      at: fc.nat({ max: 50 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('idle' as const, 'kill' as const) }) },
);

test('a session is known to its principal until it is deleted, through idle times and kills', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: MAX_CREATED, max: 2 * MAX_CREATED }),
      async (steps, maxSessions) => {
        const folder = newFolder();
        let process = await Process.start(folder, maxSessions);
        const known: { readonly id: string; readonly owner: number }[] = [];
        const deleted: typeof known = [];
        for (const each of steps) {
          vi.advanceTimersByTime(1);
          switch (each.do) {
            case 'create':
              for (
                let count = 0;
                count < each.count && known.length + deleted.length < MAX_CREATED;
                count += 1
              )
                known.push({ id: await process.create(each.owner), owner: each.owner });
              break;
            case 'use':
            case 'steal':
            case 'delete': {
              const chosen = known[each.at % Math.max(1, known.length)];
              if (chosen === undefined) break;
              const { id, owner } = chosen;
              if (each.do === 'steal') {
                expect(await process.find(id, thiefOf(owner))).toBeUndefined();
                await process.delete(id, thiefOf(owner));
                break;
              }
              expect((await process.find(id, owner))?.clientInfo).toEqual({ owner });
              if (each.do === 'use') break;
              await process.delete(id, owner);
              known.splice(known.indexOf(chosen), 1);
              deleted.push(chosen);
              break;
            }
            case 'idle':
              vi.advanceTimersByTime(2 * IDLE_MS);
              expect(process.sessions.size).toBe(0);
              break;
            case 'kill':
              await process.kill();
              process = await Process.start(folder, maxSessions);
          }
          expect(process.sessions.size).toBeLessThanOrEqual(maxSessions);
          // With two principals, either may use half of the capacity.
          for (const principal of principals) {
            const own = [...process.sessions.all()].filter(
              ({ owner }) => owner.principal === `token:${principal.name}`,
            );
            expect(own.length).toBeLessThanOrEqual(Math.ceil(maxSessions / 2));
          }
        }
        for (const { id, owner } of deleted) expect(await process.find(id, owner)).toBeUndefined();
        await process.kill();
      },
    ),
    { numRuns: runs(200) },
  );
});

test('stored sessions of one owner use at most half of the capacity; its latest and those of other owners are kept', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 4, max: 40 }), async (maxSessions) => {
      const folder = newFolder();
      const process = await Process.start(folder, maxSessions);
      const [greedyOwner, otherOwner] = [0, 3];
      const otherId = await process.create(otherOwner);
      const ids: string[] = [];
      for (let count = 0; count < 3 * maxSessions; count += 1) ids.push(await process.create(greedyOwner));
      await process.kill();
      const next = await Process.start(folder, maxSessions);
      // The capacity is 2 × `maxSessions` small records, and an owner may use half of it.
      expect(next.records.size).toBeLessThanOrEqual(maxSessions + 1);
      expect(next.records.size).toBeGreaterThanOrEqual(maxSessions - 1);
      expect(await next.find(otherId, otherOwner)).toBeDefined();
      expect(await next.find(ids.at(-1) ?? '', greedyOwner)).toBeDefined();
      expect(await next.find(ids[0] ?? '', greedyOwner)).toBeUndefined();
      await next.kill();
    }),
    { numRuns: runs(20) },
  );
});
