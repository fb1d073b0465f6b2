import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { type BotAccount, BotAccounts } from '../../../../../actors/platforms/botmessenger/account.ts';
import type { BotMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const triggerOf = (bot_token: string, name = 'helper') =>
  ({ name, config: { bot_token, api_root: 'https://api.telegram.org' } }) as BotMessengerTrigger;

test('all triggers of a bot share one account, also after a trigger is replaced', () => {
  const { of } = new BotAccounts(adapterServices());
  const first = triggerOf('42:secret');
  expect(of(triggerOf('42:secret', 'other'))).toBe(of(first));
  expect(of(triggerOf('42:renewed'))).toBe(of(first));
  expect(of(triggerOf('43:secret'))).not.toBe(of(first));
});

test('accounts of unused bots are released, and accounts in use are not', async () => {
  const { of } = new BotAccounts(adapterServices());
  const usedTrigger = triggerOf('1:secret');
  const account = of(usedTrigger);
  const unusedAccounts: WeakRef<BotAccount>[] = [];
  for (let id = 2; id < 200; id += 1) unusedAccounts.push(new WeakRef(of(triggerOf(`${id}:secret`))));
  await eventually(() => {
    collect();
    expect(unusedAccounts.filter((each) => each.deref() !== undefined)).toHaveLength(0);
  });
  expect(of(triggerOf('1:secret'))).toBe(account);
  expect(of(usedTrigger)).toBe(account);
});
