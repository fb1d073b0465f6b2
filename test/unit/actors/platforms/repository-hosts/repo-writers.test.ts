// Write permission of command senders: requested once for many events, not assumed.

import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { mayWriteAt } from '../../../../../actors/platforms/repository-hosts/filter.ts';
import type { RepoApi, RepoTrigger } from '../../../../../actors/platforms/repository-hosts/host.ts';
import { RepoWriters } from '../../../../../actors/platforms/repository-hosts/writers.ts';
import { commentPayload, REPOSITORY, repoInbound } from '../../../../fixtures/automation/repo-comments.ts';
import { repoHostTrigger } from '../../../../fixtures/automation/triggers.ts';

type Verdict = boolean | DeliveryError | Promise<boolean>;

/** Token of a host that returns these answers in order; the last one repeats. */
function tokenOf(...answers: Verdict[]) {
  const requests: string[] = [];
  const api = {
    mayWrite: async (repository: string, { id }: { readonly id: string }) => {
      requests.push(`${id} at ${repository}`);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof DeliveryError) throw answer;
      return answer ?? false;
    },
  } as unknown as RepoApi;
  return { api, requests };
}

const temporaryError = () => new DeliveryError('not now');
const permanentError = (what = 'no right') => new DeliveryError(what, { isFinal: true, platformCode: 403 });

let hosts = 0;
const triggerAt = (api_url = `https://host-${++hosts}.example`) =>
  repoHostTrigger(`t${++hosts}`, { api_url });

const command = (login = 'ada') => repoInbound('issue_comment', commentPayload('/deploy staging', login));

function createCheck(
  tokens: readonly (readonly [RepoTrigger, RepoApi | undefined])[],
  writers = new RepoWriters(),
) {
  const apis = new Map(tokens);
  return async (event = command()) => {
    const triggers = [...apis.keys()];
    return (await writers.complete(event, triggers, (trigger) => apis.get(trigger)))?.checks;
  };
}

test('the result of a write access check is cached only for its user and repository', async () => {
  const { api, requests } = tokenOf(true);
  const trigger = triggerAt();
  const askMayWrite = createCheck([[trigger, api]]);
  const yes = { [mayWriteAt(trigger)]: true };
  expect(await Promise.all([askMayWrite(), askMayWrite(), askMayWrite()])).toEqual([yes, yes, yes]);
  expect(await askMayWrite()).toEqual(yes);
  expect(requests).toEqual([`ada at ${REPOSITORY}`]);
  await askMayWrite(command('bob'));
  await askMayWrite(command('Ada'));
  expect(requests).toEqual([`ada at ${REPOSITORY}`, `bob at ${REPOSITORY}`, `Ada at ${REPOSITORY}`]);
});

test('a cached write access result expires, and a negative one expires sooner than a positive one', async () => {
  const writers = new RepoWriters({ grantedMs: 250, deniedMs: 20 });
  const { api, requests } = tokenOf(false, true, false);
  const trigger = triggerAt();
  const askMayWrite = createCheck([[trigger, api]], writers);
  const check = mayWriteAt(trigger);
  expect(await askMayWrite()).toEqual({ [check]: false });
  expect(await askMayWrite()).toEqual({ [check]: false });
  await setTimeout(40);
  expect(await askMayWrite()).toEqual({ [check]: true });
  await setTimeout(40);
  expect(await askMayWrite()).toEqual({ [check]: true });
  await setTimeout(260);
  expect(await askMayWrite()).toEqual({ [check]: false });
  expect(requests).toHaveLength(3);
});

test('a failed permission request is not cached and is repeated', async () => {
  const { api, requests } = tokenOf(temporaryError(), permanentError(), true);
  const trigger = triggerAt();
  const askMayWrite = createCheck([[trigger, api]]);
  await expect(askMayWrite()).rejects.toMatchObject({ message: 'not now', isFinal: false });
  await expect(askMayWrite()).rejects.toMatchObject({ message: 'no right', isFinal: true });
  expect(await askMayWrite()).toEqual({ [mayWriteAt(trigger)]: true });
  expect(requests).toHaveLength(3);
});

test('a permission request without response ends at the deadline and is repeated', async () => {
  const { api, requests } = tokenOf(new Promise<boolean>(() => {}), true);
  const trigger = triggerAt();
  const askMayWrite = createCheck([[trigger, api]], new RepoWriters({ checkMs: 30 }));
  await expect(askMayWrite()).rejects.toMatchObject({ code: 'ERR_DELIVERY', isFinal: false });
  expect(await askMayWrite()).toEqual({ [mayWriteAt(trigger)]: true });
  expect(requests).toHaveLength(2);
});

test('a write access check uses the next token of a host if a token is refused, but not after a result', async () => {
  const url = 'https://one.example';
  const [a, b, c] = [triggerAt(url), triggerAt(url), triggerAt(url)];
  const [refusedToken, good, spare] = [tokenOf(permanentError()), tokenOf(true), tokenOf(true)];
  const askMayWrite = createCheck([
    [a, refusedToken.api],
    [b, good.api],
    [c, spare.api],
  ]);
  expect(await askMayWrite()).toEqual({ [mayWriteAt(a)]: true });
  expect(mayWriteAt(a)).toBe(mayWriteAt(b));
  expect([refusedToken, good, spare].map(({ requests }) => requests.length)).toEqual([1, 1, 0]);
});

test('after a temporary failure of a permission request no other token is used', async () => {
  const url = 'https://two.example';
  const [failing, good] = [tokenOf(temporaryError()), tokenOf(true)];
  const askMayWrite = createCheck([
    [triggerAt(url), failing.api],
    [triggerAt(url), good.api],
  ]);
  await expect(askMayWrite()).rejects.toMatchObject({ isFinal: false });
  expect(good.requests).toEqual([]);
});

test.each([
  ['a writer on one host and a refused request', true, permanentError(), { one: true }],
  ['no writer and a refused request', false, permanentError('forbidden'), 'forbidden'],
  ['a writer on one host and a temporary failure', true, temporaryError(), 'not now'],
  ['a writer on one host only', true, false, { one: true, two: false }],
] as const)('the verdicts of several hosts are combined: %s', async (_, first, second, expected) => {
  const [one, two] = [triggerAt(), triggerAt()];
  const askMayWrite = createCheck([
    [one, tokenOf(first).api],
    [two, tokenOf(second).api],
  ]);
  if (typeof expected === 'string') return expect(askMayWrite()).rejects.toMatchObject({ message: expected });
  const { one: expectedOne, two: expectedTwo } = expected as {
    readonly one: boolean;
    readonly two?: boolean;
  };
  expect(await askMayWrite()).toEqual({
    [mayWriteAt(one)]: expectedOne,
    ...(expectedTwo !== undefined && { [mayWriteAt(two)]: expectedTwo }),
  });
});

test('no permission request is made without a token', async () => {
  expect(await createCheck([[triggerAt(), undefined]])()).toBeUndefined();
});

test('the cache of write access results is limited in size for each token', async () => {
  const { api, requests } = tokenOf(true);
  const trigger = triggerAt();
  const askMayWrite = createCheck([[trigger, api]]);
  await askMayWrite(command('first'));
  const event = command();
  const { facts } = event as { readonly facts: object };
  for (let n = 0; n < 10_000; n += 1)
    await askMayWrite({
      ...event,
      facts: Object.create(facts, { sender: { value: `u${n}` }, senderId: { value: `u${n}` } }),
    });
  await askMayWrite(command('first'));
  expect(requests.filter((each) => each.startsWith('first'))).toHaveLength(2);
});
