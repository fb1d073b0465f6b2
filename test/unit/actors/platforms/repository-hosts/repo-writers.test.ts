// Who may command is asked of the host: once for many events, and never taken for known.

import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { mayWriteAt } from '../../../../../actors/platforms/repository-hosts/filter.ts';
import type { RepoApi, RepoTrigger } from '../../../../../actors/platforms/repository-hosts/host.ts';
import { RepoWriters } from '../../../../../actors/platforms/repository-hosts/writers.ts';
import { commentPayload, REPOSITORY, repoInbound } from '../../../../fixtures/automation/repo-comments.ts';
import { repoHostTrigger } from '../../../../fixtures/automation/triggers.ts';

type Answer = boolean | DeliveryError | Promise<boolean>;

/** A token whose host answers so, one after the other, and then always as the last time. */
function tokenOf(...answers: Answer[]) {
  const asked: string[] = [];
  const api = {
    mayWrite: async (repository: string, { id }: { readonly id: string }) => {
      asked.push(`${id} at ${repository}`);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof DeliveryError) throw answer;
      return answer ?? false;
    },
  } as unknown as RepoApi;
  return { api, asked };
}

const passing = () => new DeliveryError('not now');
const refused = (what = 'no right') => new DeliveryError(what, { isFinal: true, platformCode: 403 });

let hosts = 0;
const triggerAt = (api_url = `https://host-${++hosts}.example`) =>
  repoHostTrigger(`t${++hosts}`, { api_url });

const command = (login = 'ada') => repoInbound('issue_comment', commentPayload('/deploy staging', login));

function bench(
  tokens: readonly (readonly [RepoTrigger, RepoApi | undefined])[],
  writers = new RepoWriters(),
) {
  const apis = new Map(tokens);
  return async (event = command()) => {
    const triggers = [...apis.keys()];
    return (await writers.complete(event, triggers, (trigger) => apis.get(trigger)))?.checks;
  };
}

test('an answer is good for many events of that person in that repository, and for nobody else', async () => {
  const { api, asked } = tokenOf(true);
  const trigger = triggerAt();
  const ask = bench([[trigger, api]]);
  const yes = { [mayWriteAt(trigger)]: true };
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([yes, yes, yes]);
  expect(await ask()).toEqual(yes);
  expect(asked).toEqual([`ada at ${REPOSITORY}`]);
  await ask(command('bob'));
  await ask(command('Ada'));
  expect(asked).toEqual([`ada at ${REPOSITORY}`, `bob at ${REPOSITORY}`, `Ada at ${REPOSITORY}`]);
});

test('an answer is forgotten after its time, a refusal sooner', async () => {
  const writers = new RepoWriters({ trueMs: 250, falseMs: 20 });
  const { api, asked } = tokenOf(false, true, false);
  const trigger = triggerAt();
  const ask = bench([[trigger, api]], writers);
  const check = mayWriteAt(trigger);
  expect(await ask()).toEqual({ [check]: false });
  expect(await ask()).toEqual({ [check]: false });
  await setTimeout(40);
  expect(await ask()).toEqual({ [check]: true });
  await setTimeout(40);
  expect(await ask()).toEqual({ [check]: true });
  await setTimeout(260);
  expect(await ask()).toEqual({ [check]: false });
  expect(asked).toHaveLength(3);
});

test('a question that failed is no answer, and is asked again', async () => {
  const { api, asked } = tokenOf(passing(), refused(), true);
  const trigger = triggerAt();
  const ask = bench([[trigger, api]]);
  await expect(ask()).rejects.toMatchObject({ message: 'not now', isFinal: false });
  await expect(ask()).rejects.toMatchObject({ message: 'no right', isFinal: true });
  expect(await ask()).toEqual({ [mayWriteAt(trigger)]: true });
  expect(asked).toHaveLength(3);
});

test('a host that does not answer is given up at the deadline, and asked again', async () => {
  const { api, asked } = tokenOf(new Promise<boolean>(() => {}), true);
  const trigger = triggerAt();
  const ask = bench([[trigger, api]], new RepoWriters({ askMs: 30 }));
  await expect(ask()).rejects.toMatchObject({ code: 'ERR_DELIVERY', isFinal: false });
  expect(await ask()).toEqual({ [mayWriteAt(trigger)]: true });
  expect(asked).toHaveLength(2);
});

test('of one host the next token is asked where one is refused, and no more than one of those that answer', async () => {
  const url = 'https://one.example';
  const [a, b, c] = [triggerAt(url), triggerAt(url), triggerAt(url)];
  const [poor, good, spare] = [tokenOf(refused()), tokenOf(true), tokenOf(true)];
  const ask = bench([
    [a, poor.api],
    [b, good.api],
    [c, spare.api],
  ]);
  expect(await ask()).toEqual({ [mayWriteAt(a)]: true });
  expect(mayWriteAt(a)).toBe(mayWriteAt(b));
  expect([poor, good, spare].map(({ asked }) => asked.length)).toEqual([1, 1, 0]);
});

test('a token whose host fails for now is not passed over for another', async () => {
  const url = 'https://two.example';
  const [failing, good] = [tokenOf(passing()), tokenOf(true)];
  const ask = bench([
    [triggerAt(url), failing.api],
    [triggerAt(url), good.api],
  ]);
  await expect(ask()).rejects.toMatchObject({ isFinal: false });
  expect(good.asked).toEqual([]);
});

test.each([
  ['lets somebody in, and one that refuses to answer', true, refused(), { one: true }],
  ['lets nobody in, and one that refuses to answer', false, refused('told'), 'told'],
  ['lets somebody in, and one that fails for now', true, passing(), 'not now'],
  ['lets somebody in, and one that does not', true, false, { one: true, two: false }],
] as const)('of hosts each has its say: one that %s', async (_, first, second, expected) => {
  const [one, two] = [triggerAt(), triggerAt()];
  const ask = bench([
    [one, tokenOf(first).api],
    [two, tokenOf(second).api],
  ]);
  if (typeof expected === 'string') return expect(ask()).rejects.toMatchObject({ message: expected });
  const { one: ofOne, two: ofTwo } = expected as { readonly one: boolean; readonly two?: boolean };
  expect(await ask()).toEqual({
    [mayWriteAt(one)]: ofOne,
    ...(ofTwo !== undefined && { [mayWriteAt(two)]: ofTwo }),
  });
});

test('where no trigger has a token nobody is asked', async () => {
  expect(await bench([[triggerAt(), undefined]])()).toBeUndefined();
});

test('what is remembered of one token is bounded', async () => {
  const { api, asked } = tokenOf(true);
  const trigger = triggerAt();
  const ask = bench([[trigger, api]]);
  await ask(command('first'));
  const event = command();
  const { facts } = event as { readonly facts: object };
  for (let n = 0; n < 10_000; n += 1)
    await ask({
      ...event,
      facts: Object.create(facts, { sender: { value: `u${n}` }, senderId: { value: `u${n}` } }),
    });
  await ask(command('first'));
  expect(asked.filter((each) => each.startsWith('first'))).toHaveLength(2);
});
