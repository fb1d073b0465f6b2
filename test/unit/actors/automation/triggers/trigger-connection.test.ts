// Connection of a trigger across refusals, pauses and reloads, with real registries and a simulated platform.

import { expect, onTestFinished, test, vi } from 'vitest';
import { type AnyActorRef, createActor } from 'xstate';
import { TRIGGERS, TriggerRegistry } from '../../../../../actors/automation/triggers/registry.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { stopChildrenOnThrow } from '../../../../../actors/base/supervision/stop-children-on-throw.ts';
import { ConnectionError } from '../../../../../actors/platforms/connections/connector.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { supervisorMachine } from '../../../../../machines/supervisor.ts';
import { openConnections } from '../../../../fixtures/automation/open-connections.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { FakeAccount } from '../../../../fixtures/fake-account.ts';

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function bench() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const account = new FakeAccount();
  const { registry: connections } = openConnections();
  const triggers = new TriggerRegistry({
    log: silentLog,
    supervisor: () => supervisor,
    open: async (trigger, observer) => {
      const use = { platform: 'botmessenger', account: '42', trigger, connector: account.connector() };
      const connection = connections.use(use, (reason) => observer.onRefused(reason));
      observer.onConnection(connection);
      return {
        close: () => {
          observer.onConnection(undefined);
          return connection.release();
        },
      };
    },
  });
  const supervisor: AnyActorRef = createActor(stopChildrenOnThrow(supervisorMachine), {
    systemId: TRIGGERS,
    input: triggers.supervisorInput(),
  });
  supervisor.start();
  const trigger = (name: string, hash = 'h') => ({ ...manualTrigger(name), hash }) as Trigger;
  const states = () => triggers.all().map(({ name }) => triggers.life(name).state);
  return { account, triggers, trigger, states, load: (all: Trigger[]) => triggers.apply(all, () => false) };
}

test('triggers have the state failed while the platform refuses their connection, and open afterwards', async () => {
  const { account, triggers, trigger, states, load } = bench();
  load([trigger('a'), trigger('b')]);
  await pass(0);
  expect(states()).toEqual(['open', 'open']);
  expect(triggers.life('a').connection).toMatchObject({ account: '42', state: 'connecting' });
  account.last.refuse(new Error('read ECONNRESET'));
  await pass(0);
  expect(states()).toEqual(['open', 'open']);
  expect(triggers.life('a').lastError).toBeUndefined();
  expect(triggers.life('a').connection).toMatchObject({ state: 'backingOff', lastError: 'read ECONNRESET' });
  await pass(1_000);
  account.last.refuse(new ConnectionError('Unauthorized', { kind: 'refused' }));
  await pass(0);
  const { retryAt = 0 } = triggers.life('b').connection ?? {};
  expect(triggers.life('b')).toMatchObject({ state: 'failed', lastError: 'Unauthorized', retryAt });
  expect(retryAt).toBeGreaterThan(0);
  triggers.mark('a', true);
  load([trigger('a'), trigger('b', 'changed'), trigger('c')]);
  await pass(0);
  expect(states()).toEqual(['failed', 'failed', 'failed']);
  expect(account.attempts).toHaveLength(2);
  await pass(10_000);
  account.last.accept();
  await pass(0);
  expect(states()).toEqual(['paused', 'open', 'open']);
  expect(triggers.life('c')).toMatchObject({ lastError: undefined, retryAt: undefined });
  expect(triggers.life('c').connection).toMatchObject({ state: 'connected', lastError: undefined });
});

test('a reload keeps the connection of a changed trigger, and closes it with the last trigger of the account', async () => {
  const { account, triggers, trigger, load } = bench();
  account.answerAll();
  load([trigger('a')]);
  await pass(10);
  load([trigger('a', 'changed')]);
  await pass(10);
  expect([account.attempts.length, triggers.life('a').connection?.state]).toEqual([1, 'connected']);
  load([{ ...trigger('a', 'off'), enabled: false }]);
  await pass(10);
  expect(triggers.life('a')).toMatchObject({ state: 'off', connection: undefined });
  expect([account.live.length, account.closed]).toEqual([0, 1]);
});
