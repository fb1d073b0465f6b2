// The connections of a gateway, with a platform that the test answers for and time that it lets pass.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AnyActorRef } from 'xstate';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { ConnectionLease } from '../../../../../actors/platforms/connections/connection-lease.ts';
import type {
  ConnectionRegistry,
  WatchedConnection,
} from '../../../../../actors/platforms/connections/connection-registry.ts';
import {
  ConnectionError,
  type Connections,
  UsersRefusedError,
} from '../../../../../actors/platforms/connections/connector.ts';
import type { ManualTrigger, Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { openConnections } from '../../../../fixtures/automation/open-connections.ts';
import { FakeAccount } from '../../../../fixtures/fake-account.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

class Bench {
  readonly errors: string[] = [];
  readonly account: FakeAccount;
  readonly refusals = new Map<string, string | undefined>();
  readonly supervisor: AnyActorRef;
  readonly registry: ConnectionRegistry;

  constructor(account = new FakeAccount(), lease?: ConnectionLease) {
    this.account = account;
    const log = { ...silentLog, error: (_: object, message: string) => void this.errors.push(message) };
    ({ registry: this.registry, supervisor: this.supervisor } = openConnections(log, lease));
  }

  /** As an adapter sees it, for triggers of its own type. */
  readonly connections: Connections = {
    use: (use) => this.registry.use({ ...use, platform: 'p', account: '1' }, () => {}),
  };

  use(name: string, identity = 'token', account = '42'): WatchedConnection {
    const trigger = { name } as Trigger;
    const connector = this.account.connector(identity);
    return this.registry.use({ platform: 'botmessenger', account, trigger, connector }, (reason) => {
      this.refusals.set(name, reason);
    });
  }
}

const refusal = () => new ConnectionError('Unauthorized', { kind: 'refused' });

describe('a connection', () => {
  test('is one for all triggers of an account, and is closed after the last of them (CG1, CG2)', async () => {
    const bench = new Bench();
    const { account } = bench;
    const [first, second] = [bench.use('a'), bench.use('b')];
    bench.use('other', 'token', '43');
    await pass(0);
    expect(account.attempts).toHaveLength(2);
    for (const attempt of account.attempts) attempt.accept();
    await pass(0);
    expect([first.status().state, second.status().state]).toEqual(['connected', 'connected']);
    expect(account.attempts[0]?.users().map(({ name }) => name)).toEqual(['a', 'b']);
    await first.release();
    await first.release();
    expect([second.status().state, account.open.length]).toEqual(['connected', 2]);
    const released = second.release();
    await pass(1);
    await released;
    expect([account.open.length, account.closed]).toEqual([1, 1]);
    expect(Object.keys(bench.supervisor.getSnapshot().children)).toHaveLength(1);
  });

  test('stays over a reload that exchanges its trigger, and hears of the new one', async () => {
    const heard: string[][] = [];
    const account = new FakeAccount({
      answer: (attempt) => attempt.accept(),
      onUsers: async (triggers) => void heard.push(triggers.map(({ hash }) => hash)),
    });
    const bench = new Bench(account);
    const use = (name: string, hash: string) =>
      bench.registry.use(
        {
          platform: 'botmessenger',
          account: '42',
          trigger: { name, hash } as Trigger,
          connector: account.connector(),
        },
        () => {},
      );
    const old = use('a', 'a1');
    use('b', 'b1');
    await pass(50);
    expect(heard).toEqual([['a1', 'b1']]);
    const exchanged = use('a', 'a2');
    await old.release();
    await pass(50);
    expect(heard).toEqual([
      ['a1', 'b1'],
      ['a2', 'b1'],
    ]);
    expect([account.attempts.length, exchanged.status().state]).toEqual([1, 'connected']);
  });

  test('with another credential is closed before the new one is opened (CG1, SN1)', async () => {
    const account = new FakeAccount({ closeMs: 500, answer: (attempt) => attempt.accept() });
    const bench = new Bench(account);
    const old = bench.use('a', 'old');
    await pass(0);
    const exchanged = bench.use('a', 'new');
    await old.release();
    expect([account.attempts.length, exchanged.status().state]).toEqual([1, 'closing']);
    await pass(500);
    expect(account.open.map(({ identity }) => identity)).toEqual(['new']);
    expect([account.most, account.closed, exchanged.status().state]).toEqual([1, 1, 'connected']);
  });

  test('goes back to the credential of the trigger that is left', async () => {
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const bench = new Bench(account);
    bench.use('a', 'one');
    const newer = bench.use('b', 'two');
    await pass(10);
    expect(account.open.map(({ identity }) => identity)).toEqual(['two']);
    void newer.release();
    await pass(10);
    expect(account.open.map(({ identity }) => identity)).toEqual(['one']);
    expect(account.most).toBe(1);
  });

  test('that the platform refuses is told to each of its triggers, until it is connected (CG3, SN2)', async () => {
    const bench = new Bench();
    const { account, refusals } = bench;
    const use = bench.use('a');
    await pass(0);
    account.last.refuse(new Error('read ECONNRESET'));
    await pass(0);
    expect([use.status().state, refusals.size]).toEqual(['backingOff', 0]);
    expect(use.status().lastError).toBe('read ECONNRESET');
    await pass(1_000);
    account.last.refuse(refusal());
    await pass(0);
    bench.use('b');
    expect([...refusals]).toEqual([
      ['a', 'Unauthorized'],
      ['b', 'Unauthorized'],
    ]);
    const { state, retryAt = 0, since = 0 } = use.status();
    expect([state, retryAt > since]).toEqual(['failed', true]);
    await pass(10_000);
    account.last.accept();
    await pass(0);
    expect([...refusals]).toEqual([
      ['a', undefined],
      ['b', undefined],
    ]);
    account.last.drop(new ConnectionError('terminated by other getUpdates request', { kind: 'conflict' }));
    await pass(0);
    expect(refusals.get('a')).toBe('terminated by other getUpdates request');
  });

  test('of which one trigger is refused tells this one alone, and goes on for the others (SN2)', async () => {
    let refused = 'bad';
    const account = new FakeAccount({
      answer: (attempt) => attempt.accept(),
      onUsers: async (triggers) => {
        const which = triggers.filter(({ hash }) => hash === refused);
        if (which.length > 0)
          throw new UsersRefusedError(new Map(which.map((each) => [each, 'invalid_auth'])));
      },
    });
    const bench = new Bench(account);
    const heard: string[] = [];
    const use = (name: string, hash: string) =>
      bench.registry.use(
        {
          platform: 'chatworkspace',
          account: 'A1',
          trigger: { name, hash } as Trigger,
          connector: account.connector(),
        },
        (reason) => void heard.push(`${name} ${hash} ${reason}`),
      );
    use('a', 'good');
    const second = use('b', 'bad');
    await pass(50);
    expect(heard).toEqual(['b bad invalid_auth']);
    expect([second.status().state, account.open.length]).toEqual(['connected', 1]);
    // A reload mends it, and is not called refused for what was before.
    use('b', 'mended');
    await second.release();
    await pass(50);
    expect(heard).toEqual(['b bad invalid_auth']);
    // Another reload brings what is refused, which the platform takes later.
    use('b', 'bad');
    await pass(50);
    expect(heard.at(-1)).toBe('b bad invalid_auth');
    refused = 'none';
    await pass(10_000);
    expect(heard.at(-1)).toBe('b bad undefined');
    expect(account.attempts).toHaveLength(1);
  });

  test('waits as long as the platform asks, however early it failed', async () => {
    const bench = new Bench();
    const { account } = bench;
    bench.use('a');
    await pass(0);
    account.last.refuse(new ConnectionError('too many', { kind: 'transient', retryAfterMs: 60_000 }));
    await pass(59_999);
    expect(account.attempts).toHaveLength(1);
    await pass(20_000);
    expect(account.attempts).toHaveLength(2);
  });

  test('that is not made in time is given up and tried again (RU2, RU3)', async () => {
    const bench = new Bench();
    const { account } = bench;
    const use = bench.use('a');
    await pass(29_999);
    expect([use.status().state, account.live.length]).toEqual(['connecting', 1]);
    await pass(2);
    expect([use.status().state, account.live.length]).toEqual(['backingOff', 0]);
    expect(use.status().lastError).toBe('botmessenger/42 did not connect within 30 s');
    await pass(1_000);
    expect(account.attempts).toHaveLength(2);
  });

  test('that does not close in time is cut, and its trigger waits no longer (RU2, CT2)', async () => {
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const bench = new Bench(account);
    const connector = account.connector();
    const use = bench.registry.use(
      {
        platform: 'p',
        account: '1',
        trigger: { name: 'a' } as Trigger,
        connector: {
          ...connector,
          connect: async (signal, users) => {
            const open = await connector.connect(signal, users);
            return { ...open, close: () => new Promise(() => {}) };
          },
        },
      },
      () => {},
    );
    await pass(0);
    let isReleased = false;
    void use.release().then(() => {
      isReleased = true;
    });
    await pass(2_999);
    expect([account.open.length, isReleased]).toEqual([1, false]);
    await pass(10);
    expect([account.open.length, isReleased, bench.errors]).toEqual([0, true, []]);
  });

  test('whose connector does not even end when it is cut is left behind, with an error (RU2)', async () => {
    const bench = new Bench();
    const use = bench.connections.use({
      trigger: { name: 'a' } as ManualTrigger,
      connector: { identity: 'x', connect: () => new Promise<never>(() => {}) },
    });
    await pass(0);
    const released = use.release();
    await pass(2_000);
    await released;
    expect(bench.errors).toEqual(['connection did not end when it was told to, and is left behind']);
  });

  test('that comes back to life by the supervisor after a fault is not there twice (CG1)', async () => {
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const bench = new Bench(account);
    const use = bench.use('a');
    await pass(0);
    const child = bench.supervisor.getSnapshot().context.children.get('botmessenger/42');
    child.ref.send({ type: 'lost', failure: undefined });
    await pass(0);
    expect([use.status().state, account.open.length]).toEqual(['backingOff', 0]);
    await pass(1_000);
    expect([use.status().state, account.attempts.length, account.most]).toEqual(['connected', 2, 1]);
    void use.release();
    await pass(10);
    expect([account.open.length, account.closed]).toEqual([0, 1]);
  });

  test('is closed with the others when the supervisor ends', async () => {
    const account = new FakeAccount({ closeMs: 100, answer: (attempt) => attempt.accept() });
    const bench = new Bench(account);
    const uses = [bench.use('a'), bench.use('b', 'token', '43')];
    await pass(0);
    bench.supervisor.send({ type: 'shutdown' });
    await pass(100);
    expect([bench.supervisor.getSnapshot().status, account.closed]).toEqual(['done', 2]);
    await Promise.all(uses.map((use) => use.release()));
  });
});

describe('a connection of one of several nodes', () => {
  test('stands by while another one is connected, and is no failure', async () => {
    let give = (): void => {};
    const lease: ConnectionLease = {
      take: (_account, _signal, wish) => {
        wish?.onWaits?.('eu-2');
        wish?.onWaits?.('eu-3');
        return new Promise((resolve) => {
          give = () => resolve({ lost: new AbortController().signal, release: () => {} });
        });
      },
    };
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const use = new Bench(account, lease).use('a');
    await pass(1_000);
    const status = { state: 'standby', heldBy: 'eu-3', lastError: undefined, retryAt: undefined };
    expect([use.status(), account.attempts.length]).toMatchObject([status, 0]);
    give();
    await pass(0);
    expect(use.status()).toMatchObject({ state: 'connected' });
    expect(use.status().heldBy).toBeUndefined();
  });

  test('whose lease is lost is cut at once, says why, and is made again (RU4)', async () => {
    const losses = [new AbortController(), new AbortController()];
    let released = 0;
    const takes = losses.values();
    const lease: ConnectionLease = {
      take: async () => {
        const lost = takes.next().value?.signal ?? new AbortController().signal;
        const release = () => {
          released += 1;
        };
        return { lost, release };
      },
    };
    const account = new FakeAccount({ closeMs: 60_000, answer: (attempt) => attempt.accept() });
    const use = new Bench(account, lease).use('a');
    await pass(0);
    expect(use.status().state).toBe('connected');
    losses[0]?.abort();
    await pass(0);
    expect([account.open.length, released]).toEqual([0, 1]);
    expect(use.status()).toMatchObject({
      state: 'backingOff',
      lastError: expect.stringContaining('database'),
    });
    await pass(400);
    expect(use.status()).toMatchObject({ state: 'connected', lastError: undefined });
  });
});

describe('over random joins, leaves, reloads, failures and faults', () => {
  type Step =
    | { readonly do: 'use'; readonly name: string; readonly identity: string }
    | { readonly do: 'release' | 'reload' | 'accept' | 'refuse' | 'drop' | 'fault'; readonly at: number }
    /** The platform refuses what one of them has of its own, or takes all. */
    | { readonly do: 'refuse one'; readonly name: string | undefined }
    | { readonly do: 'pass'; readonly ms: number };
  const at = fc.nat(5);
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      do: fc.constant('use' as const),
      name: fc.constantFrom('a', 'b', 'c'),
      identity: fc.constantFrom('one', 'two'),
    }),
    fc.record({
      do: fc.constantFrom(
        'release' as const,
        'reload' as const,
        'accept' as const,
        'accept' as const,
        'refuse' as const,
        'drop' as const,
        'fault' as const,
      ),
      at,
    }),
    fc.record({
      do: fc.constant('refuse one' as const),
      name: fc.constantFrom('a', 'b', 'c', undefined),
    }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 300, 5_000, 40_000) }),
  );

  test('an account has one connection at most, each is closed, and no trigger stays without one (CG1, CG2)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.nat(800), async (steps, closeMs) => {
        let refused: string | undefined;
        const onUsers = async (triggers: readonly Trigger[]): Promise<void> => {
          const which = triggers.filter(({ name }) => name === refused);
          if (which.length > 0) throw new UsersRefusedError(new Map(which.map((each) => [each, 'no'])));
        };
        const account = new FakeAccount({ closeMs, onUsers });
        const bench = new Bench(account);
        const uses: { name: string; use: WatchedConnection }[] = [];
        const failure = (number: number) => (number % 2 === 0 ? new Error('reset') : refusal());
        for (const each of steps) {
          if (each.do === 'use') uses.push({ name: each.name, use: bench.use(each.name, each.identity) });
          else if (each.do === 'pass') await pass(each.ms);
          else if (each.do === 'refuse one') {
            refused = each.name;
            // It says so when it is told who uses the connection: with the next one.
            for (const attempt of account.open) attempt.drop(new Error('reset'));
          } else if (each.do === 'release') void uses.splice(each.at, 1)[0]?.use.release();
          else if (each.do === 'reload') {
            const [old] = uses.splice(each.at, 1);
            if (old === undefined) continue;
            uses.push({ name: old.name, use: bench.use(old.name, each.at % 2 === 0 ? 'one' : 'two') });
            void old.use.release();
          } else if (each.do === 'accept') for (const attempt of account.live) attempt.accept();
          else if (each.do === 'refuse') for (const attempt of account.live) attempt.refuse(failure(each.at));
          else if (each.do === 'drop') for (const attempt of account.open) attempt.drop(failure(each.at));
          else {
            const child = bench.supervisor.getSnapshot().context.children.get('botmessenger/42');
            child?.ref?.send({ type: 'lost', failure: undefined });
          }
          expect(account.most).toBeLessThanOrEqual(1);
        }
        account.answerAll();
        await pass(400_000);
        const told = new Set(
          uses.map(({ name }) => name).filter((name) => bench.refusals.get(name) !== undefined),
        );
        expect([...told]).toEqual(uses.some(({ name }) => name === refused) ? [refused] : []);
        refused = undefined;
        await pass(400_000);
        expect(account.open).toHaveLength(uses.length === 0 ? 0 : 1);
        for (const { use } of uses) expect(use.status().state).toBe('connected');
        expect(
          bench.refusals.size === 0 || uses.every(({ name }) => bench.refusals.get(name) === undefined),
        ).toBe(true);
        const released = Promise.all(uses.map(({ use }) => use.release()));
        await pass(10_000);
        await released;
        expect([account.live.length, account.most > 1, bench.errors]).toEqual([0, false, expect.any(Array)]);
        expect(bench.supervisor.getSnapshot().context.children.size).toBe(0);
      }),
      { numRuns: 150 },
    );
  });
});
