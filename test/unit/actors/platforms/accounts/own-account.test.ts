import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { OwnAccount } from '../../../../../actors/platforms/accounts/own-account.ts';

/** Account of a platform that returns these answers in order; the last one repeats. */
function account(answers: readonly (string | undefined | Error)[], retryEveryMs = 0) {
  let requests = 0;
  const own = new OwnAccount(async () => {
    const answer = answers[Math.min(requests++, answers.length - 1)];
    if (answer instanceof Error) throw answer;
    return answer;
  }, retryEveryMs);
  const learn = async () => {
    own.learn();
    await turn();
  };
  return { own, learn, asked: () => requests };
}

test('no sender counts as the bot itself before its account name is known; then its name matches in any case', async () => {
  const { own, learn, asked } = account(['The-Bot']);
  expect(own.isName('the-bot')).toBe(false);
  expect(own.isName(undefined)).toBe(false);
  await learn();
  expect([own.isName('the-BOT'), own.isName('another'), own.isName(undefined)]).toEqual([true, false, false]);
  await learn();
  expect(asked()).toBe(1);
});

test('the own account name is requested again after a temporary failure, but not before the pause', async () => {
  const soon = account([new DeliveryError('down'), 'bot']);
  await soon.learn();
  await soon.learn();
  expect(soon.own.isName('bot')).toBe(true);
  const later = account([new DeliveryError('down'), 'bot'], 3_600_000);
  await later.learn();
  await later.learn();
  const withRetryAfter = account([new DeliveryError('wait', { retryAfterMs: 3_600_000 }), 'bot']);
  await withRetryAfter.learn();
  await withRetryAfter.learn();
  expect([later.asked(), withRetryAfter.asked()]).toEqual([1, 1]);
});

test('the own account name is not requested again after a permanent failure, but can be learned from messages', async () => {
  for (const answer of [new DeliveryError('no', { isFinal: true }), undefined]) {
    const { own, learn, asked } = account([answer]);
    await learn();
    await learn();
    expect(asked()).toBe(1);
    own.note('an-app[bot]');
    own.note('other-user');
    expect([own.isName('an-app[bot]'), own.isName('other-user')]).toEqual([true, false]);
  }
});
