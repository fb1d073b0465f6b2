import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { OwnAccount } from '../../../../../actors/platforms/accounts/own-account.ts';

/** One whose platform answers the questions as told, the last answer again and again. */
function account(answers: readonly (string | undefined | Error)[], askEveryMs = 0) {
  let asked = 0;
  const own = new OwnAccount(async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    if (answer instanceof Error) throw answer;
    return answer;
  }, askEveryMs);
  const learn = async () => {
    own.learn();
    await turn();
  };
  return { own, learn, asked: () => asked };
}

test('nobody is the account before its name is known, and then whoever has it in any case', async () => {
  const { own, learn, asked } = account(['The-Bot']);
  expect(own.is('the-bot')).toBe(false);
  expect(own.is(undefined)).toBe(false);
  await learn();
  expect([own.is('the-BOT'), own.is('another'), own.is(undefined)]).toEqual([true, false, false]);
  await learn();
  expect(asked()).toBe(1);
});

test('the name is asked for again after a failure that passes, not before the pause', async () => {
  const soon = account([new DeliveryError('down'), 'bot']);
  await soon.learn();
  await soon.learn();
  expect(soon.own.is('bot')).toBe(true);
  const later = account([new DeliveryError('down'), 'bot'], 3_600_000);
  await later.learn();
  await later.learn();
  const asPlatformSaid = account([new DeliveryError('wait', { retryAfterMs: 3_600_000 }), 'bot']);
  await asPlatformSaid.learn();
  await asPlatformSaid.learn();
  expect([later.asked(), asPlatformSaid.asked()]).toEqual([1, 1]);
});

test('the name is not asked for again where the platform will not say it, and may be noted all the same', async () => {
  for (const answer of [new DeliveryError('no', { isFinal: true }), undefined]) {
    const { own, learn, asked } = account([answer]);
    await learn();
    await learn();
    expect(asked()).toBe(1);
    own.note('an-app[bot]');
    own.note('somebody');
    expect([own.is('an-app[bot]'), own.is('somebody')]).toEqual([true, false]);
  }
});
