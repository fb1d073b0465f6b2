import { expect, test } from 'vitest';
import { menuAccounts, registerMenu } from '../../../../../actors/automation/operator/register-menus.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { businessMessengerTrigger, manualTrigger } from '../../../../fixtures/automation/triggers.ts';

const adapter = (more: Partial<Adapter>) =>
  ({
    type: 'BusinessMessenger',
    account: ({ config }: Trigger) => (config as { phone_number_id: string }).phone_number_id,
    ...more,
  }) as unknown as Adapter;

const triggers = [
  businessMessengerTrigger('a', { phone_number_id: '1' }),
  businessMessengerTrigger('b', { phone_number_id: '2' }),
  businessMessengerTrigger('c', { phone_number_id: '1' }),
  manualTrigger('hand'),
];

test('registering the menu of one trigger registers the commands of all triggers of its account', () => {
  const registering = adapter({ register: async () => [] });
  const adapterOf = (type: Trigger['type']) =>
    type === 'BusinessMessenger' ? registering : adapter({ type });
  const menuText = (names: readonly string[]) => {
    const { accounts, without } = menuAccounts(triggers, names, undefined, adapterOf);
    return [accounts.map((each) => each.triggers.map(({ name }) => name)), without];
  };
  expect(menuText([])).toEqual([[['a', 'c'], ['b']], ['hand']]);
  expect(menuText(['c'])).toEqual([[['a', 'c']], []]);
  expect(menuText(['hand'])).toEqual([[], ['hand']]);
  expect(menuAccounts(triggers, [], '1', adapterOf).accounts).toEqual([]);
});

test('the menu of a platform without a menu API is returned as text for manual entry', async () => {
  const byHand = adapter({
    manualMenu: (all) => ({ formName: 'the manifest', text: all.map(({ name }) => `/${name}`).join('\n') }),
  });
  const { accounts } = menuAccounts(triggers.slice(0, 2), ['b'], undefined, () => byHand);
  expect(await Promise.all(accounts.map((each) => registerMenu(each, undefined, () => {})))).toEqual([
    {
      platform: 'businessmessenger',
      account: '2',
      triggers: ['b'],
      done: 'by hand',
      formName: 'the manifest',
      text: '/b',
    },
  ]);
});
