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
  TriggersRefusedError,
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

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

class TestRegistry {
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

  /** Connections for the triggers of an adapter. */
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

describe('the connection of a chat account', () => {
  test('is shared by all triggers of an account, and is closed after the last trigger', async () => {
    const registry = new TestRegistry();
    const { account } = registry;
    const [first, second] = [registry.use('a'), registry.use('b')];
    registry.use('other', 'token', '43');
    await advance(0);
    expect(account.attempts).toHaveLength(2);
    for (const attempt of account.attempts) attempt.accept();
    await advance(0);
    expect([first.status().state, second.status().state]).toEqual(['connected', 'connected']);
    expect(account.attempts[0]?.users().map(({ name }) => name)).toEqual(['a', 'b']);
    await first.release();
    await first.release();
    expect([second.status().state, account.open.length]).toEqual(['connected', 2]);
    const released = second.release();
    await advance(1);
    await released;
    expect([account.open.length, account.closed]).toEqual([1, 1]);
    expect(Object.keys(registry.supervisor.getSnapshot().children)).toHaveLength(1);
  });

  test('stays open after a reload of its trigger, and is notified of the new trigger', async () => {
    const notifications: string[][] = [];
    const account = new FakeAccount({
      answer: (attempt) => attempt.accept(),
      onUsers: async (triggers) => void notifications.push(triggers.map(({ hash }) => hash)),
    });
    const registry = new TestRegistry(account);
    const use = (name: string, hash: string) =>
      registry.registry.use(
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
    await advance(50);
    expect(notifications).toEqual([['a1', 'b1']]);
    const replacement = use('a', 'a2');
    await old.release();
    await advance(50);
    expect(notifications).toEqual([
      ['a1', 'b1'],
      ['a2', 'b1'],
    ]);
    expect([account.attempts.length, replacement.status().state]).toEqual([1, 'connected']);
  });

  test('with another credential is closed before the new one is opened', async () => {
    const account = new FakeAccount({ closeMs: 500, answer: (attempt) => attempt.accept() });
    const registry = new TestRegistry(account);
    const old = registry.use('a', 'old');
    await advance(0);
    const replacement = registry.use('a', 'new');
    await old.release();
    expect([account.attempts.length, replacement.status().state]).toEqual([1, 'closing']);
    await advance(500);
    expect(account.open.map(({ identity }) => identity)).toEqual(['new']);
    expect([account.peakConnections, account.closed, replacement.status().state]).toEqual([
      1,
      1,
      'connected',
    ]);
  });

  test('returns to the credential of the remaining trigger', async () => {
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const registry = new TestRegistry(account);
    registry.use('a', 'one');
    const newer = registry.use('b', 'two');
    await advance(10);
    expect(account.open.map(({ identity }) => identity)).toEqual(['two']);
    void newer.release();
    await advance(10);
    expect(account.open.map(({ identity }) => identity)).toEqual(['one']);
    expect(account.peakConnections).toBe(1);
  });

  test('refused by the platform is reported to all its triggers, until it connects', async () => {
    const registry = new TestRegistry();
    const { account, refusals } = registry;
    const use = registry.use('a');
    await advance(0);
    account.last.refuse(new Error('read ECONNRESET'));
    await advance(0);
    expect([use.status().state, refusals.size]).toEqual(['backingOff', 0]);
    expect(use.status().lastError).toBe('read ECONNRESET');
    await advance(1_000);
    account.last.refuse(refusal());
    await advance(0);
    registry.use('b');
    expect([...refusals]).toEqual([
      ['a', 'Unauthorized'],
      ['b', 'Unauthorized'],
    ]);
    const { state, retryAt = 0, since = 0 } = use.status();
    expect([state, retryAt > since]).toEqual(['failed', true]);
    await advance(10_000);
    account.last.accept();
    await advance(0);
    expect([...refusals]).toEqual([
      ['a', undefined],
      ['b', undefined],
    ]);
    account.last.drop(new ConnectionError('terminated by other getUpdates request', { kind: 'conflict' }));
    await advance(0);
    expect(refusals.get('a')).toBe('terminated by other getUpdates request');
  });

  test('with one refused trigger notifies only that trigger, and continues for the other triggers', async () => {
    let refused = 'bad';
    const account = new FakeAccount({
      answer: (attempt) => attempt.accept(),
      onUsers: async (triggers) => {
        const refusedTriggers = triggers.filter(({ hash }) => hash === refused);
        if (refusedTriggers.length > 0)
          throw new TriggersRefusedError(new Map(refusedTriggers.map((each) => [each, 'invalid_auth'])));
      },
    });
    const registry = new TestRegistry(account);
    const notifications: string[] = [];
    const use = (name: string, hash: string) =>
      registry.registry.use(
        {
          platform: 'chatworkspace',
          account: 'A1',
          trigger: { name, hash } as Trigger,
          connector: account.connector(),
        },
        (reason) => void notifications.push(`${name} ${hash} ${reason}`),
      );
    use('a', 'good');
    const second = use('b', 'bad');
    await advance(50);
    expect(notifications).toEqual(['b bad invalid_auth']);
    expect([second.status().state, account.open.length]).toEqual(['connected', 1]);
    // A reload fixes the trigger, so the old refusal is no longer reported.
    use('b', 'mended');
    await second.release();
    await advance(50);
    expect(notifications).toEqual(['b bad invalid_auth']);
    // The platform first refuses the credential of this reload, and accepts it later.
    use('b', 'bad');
    await advance(50);
    expect(notifications.at(-1)).toBe('b bad invalid_auth');
    refused = 'none';
    await advance(10_000);
    expect(notifications.at(-1)).toBe('b bad undefined');
    expect(account.attempts).toHaveLength(1);
  });

  test('waits for the pause that the platform requests, also for an early failure', async () => {
    const registry = new TestRegistry();
    const { account } = registry;
    registry.use('a');
    await advance(0);
    account.last.refuse(new ConnectionError('too many', { kind: 'transient', retryAfterMs: 60_000 }));
    await advance(59_999);
    expect(account.attempts).toHaveLength(1);
    await advance(20_000);
    expect(account.attempts).toHaveLength(2);
  });

  test('that does not connect in time is aborted and retried', async () => {
    const registry = new TestRegistry();
    const { account } = registry;
    const use = registry.use('a');
    await advance(29_999);
    expect([use.status().state, account.live.length]).toEqual(['connecting', 1]);
    await advance(2);
    expect([use.status().state, account.live.length]).toEqual(['backingOff', 0]);
    expect(use.status().lastError).toBe('botmessenger/42 did not connect within 30 s');
    await advance(1_000);
    expect(account.attempts).toHaveLength(2);
  });

  test('that does not close in time is aborted, and its trigger stops waiting', async () => {
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const registry = new TestRegistry(account);
    const connector = account.connector();
    const use = registry.registry.use(
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
    await advance(0);
    let isReleased = false;
    void use.release().then(() => {
      isReleased = true;
    });
    await advance(2_999);
    expect([account.open.length, isReleased]).toEqual([1, false]);
    await advance(10);
    expect([account.open.length, isReleased, registry.errors]).toEqual([0, true, []]);
  });

  test('whose connector ignores the abort is abandoned with an error', async () => {
    const registry = new TestRegistry();
    const use = registry.connections.use({
      trigger: { name: 'a' } as ManualTrigger,
      connector: { identity: 'x', connect: () => new Promise<never>(() => {}) },
    });
    await advance(0);
    const released = use.release();
    await advance(2_000);
    await released;
    expect(registry.errors).toEqual(['connection did not close when aborted; abandoning it']);
  });

  test('that the supervisor restarts after an internal error is not open twice', async () => {
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const registry = new TestRegistry(account);
    const use = registry.use('a');
    await advance(0);
    const child = registry.supervisor.getSnapshot().context.children.get('botmessenger/42');
    child.ref.send({ type: 'lost', failure: undefined });
    await advance(0);
    expect([use.status().state, account.open.length]).toEqual(['backingOff', 0]);
    await advance(1_000);
    expect([use.status().state, account.attempts.length, account.peakConnections]).toEqual([
      'connected',
      2,
      1,
    ]);
    void use.release();
    await advance(10);
    expect([account.open.length, account.closed]).toEqual([0, 1]);
  });

  test('is closed with all others when the supervisor stops', async () => {
    const account = new FakeAccount({ closeMs: 100, answer: (attempt) => attempt.accept() });
    const registry = new TestRegistry(account);
    const uses = [registry.use('a'), registry.use('b', 'token', '43')];
    await advance(0);
    registry.supervisor.send({ type: 'shutdown' });
    await advance(100);
    expect([registry.supervisor.getSnapshot().status, account.closed]).toEqual(['done', 2]);
    await Promise.all(uses.map((use) => use.release()));
  });
});

describe('a connection in a cluster', () => {
  test('is on standby while another node is connected, without a failure', async () => {
    let grant = (): void => {};
    const lease: ConnectionLease = {
      acquire: (_account, _signal, wish) => {
        wish?.onWaits?.('eu-2');
        wish?.onWaits?.('eu-3');
        return new Promise((resolve) => {
          grant = () => resolve({ lossSignal: new AbortController().signal, release: () => {} });
        });
      },
    };
    const account = new FakeAccount({ answer: (attempt) => attempt.accept() });
    const use = new TestRegistry(account, lease).use('a');
    await advance(1_000);
    const status = { state: 'standby', connectedNode: 'eu-3', lastError: undefined, retryAt: undefined };
    expect([use.status(), account.attempts.length]).toMatchObject([status, 0]);
    grant();
    await advance(0);
    expect(use.status()).toMatchObject({ state: 'connected' });
    expect(use.status().connectedNode).toBeUndefined();
  });

  test('whose lease is lost is aborted immediately with the reason, and connects again', async () => {
    const losses = [new AbortController(), new AbortController()];
    let released = 0;
    const signals = losses.values();
    const lease: ConnectionLease = {
      acquire: async () => {
        const lost = signals.next().value?.signal ?? new AbortController().signal;
        const release = () => {
          released += 1;
        };
        return { lossSignal: lost, release };
      },
    };
    const account = new FakeAccount({ closeMs: 60_000, answer: (attempt) => attempt.accept() });
    const use = new TestRegistry(account, lease).use('a');
    await advance(0);
    expect(use.status().state).toBe('connected');
    losses[0]?.abort();
    await advance(0);
    expect([account.open.length, released]).toEqual([0, 1]);
    expect(use.status()).toMatchObject({
      state: 'backingOff',
      lastError: expect.stringContaining('database'),
    });
    await advance(400);
    expect(use.status()).toMatchObject({ state: 'connected', lastError: undefined });
  });
});

describe('over random joins, leaves, reloads, failures and internal errors', () => {
  type Step =
    | { readonly do: 'use'; readonly name: string; readonly identity: string }
    | { readonly do: 'release' | 'reload' | 'accept' | 'refuse' | 'drop' | 'fault'; readonly at: number }
    /** The platform refuses the credential of one trigger, or accepts all. */
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

  test('an account never has two connections, each connection is closed, and every trigger gets a connection', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.nat(800), async (steps, closeMs) => {
        let refused: string | undefined;
        const onUsers = async (triggers: readonly Trigger[]): Promise<void> => {
          const refusedTriggers = triggers.filter(({ name }) => name === refused);
          if (refusedTriggers.length > 0)
            throw new TriggersRefusedError(new Map(refusedTriggers.map((each) => [each, 'no'])));
        };
        const account = new FakeAccount({ closeMs, onUsers });
        const registry = new TestRegistry(account);
        const uses: { name: string; use: WatchedConnection }[] = [];
        const failure = (number: number) => (number % 2 === 0 ? new Error('reset') : refusal());
        for (const each of steps) {
          if (each.do === 'use') uses.push({ name: each.name, use: registry.use(each.name, each.identity) });
          else if (each.do === 'pass') await advance(each.ms);
          else if (each.do === 'refuse one') {
            refused = each.name;
            // The refusal occurs at the next connection.
            for (const attempt of account.open) attempt.drop(new Error('reset'));
          } else if (each.do === 'release') void uses.splice(each.at, 1)[0]?.use.release();
          else if (each.do === 'reload') {
            const [old] = uses.splice(each.at, 1);
            if (old === undefined) continue;
            uses.push({ name: old.name, use: registry.use(old.name, each.at % 2 === 0 ? 'one' : 'two') });
            void old.use.release();
          } else if (each.do === 'accept') for (const attempt of account.live) attempt.accept();
          else if (each.do === 'refuse') for (const attempt of account.live) attempt.refuse(failure(each.at));
          else if (each.do === 'drop') for (const attempt of account.open) attempt.drop(failure(each.at));
          else {
            const child = registry.supervisor.getSnapshot().context.children.get('botmessenger/42');
            child?.ref?.send({ type: 'lost', failure: undefined });
          }
          expect(account.peakConnections).toBeLessThanOrEqual(1);
        }
        account.answerAll();
        await advance(400_000);
        const refusedNames = new Set(
          uses.map(({ name }) => name).filter((name) => registry.refusals.get(name) !== undefined),
        );
        expect([...refusedNames]).toEqual(uses.some(({ name }) => name === refused) ? [refused] : []);
        refused = undefined;
        await advance(400_000);
        expect(account.open).toHaveLength(uses.length === 0 ? 0 : 1);
        for (const { use } of uses) expect(use.status().state).toBe('connected');
        expect(
          registry.refusals.size === 0 || uses.every(({ name }) => registry.refusals.get(name) === undefined),
        ).toBe(true);
        const released = Promise.all(uses.map(({ use }) => use.release()));
        await advance(10_000);
        await released;
        expect([account.live.length, account.peakConnections > 1, registry.errors]).toEqual([
          0,
          false,
          expect.any(Array),
        ]);
        expect(registry.supervisor.getSnapshot().context.children.size).toBe(0);
      }),
      { numRuns: 150 },
    );
  });
});
