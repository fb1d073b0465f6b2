// A path that goes from a trigger of one type to one of another, as when a file is changed: each type has a table of its
// own, and the listener belongs to all of them.

import { beforeEach, expect, test } from 'vitest';
import { WebhookListeners } from '../../../../actors/automation/webhook-listeners.ts';
import type { WebhookReply } from '../../../../actors/sources/webhook.ts';
import { type Member, type PathUse, WebhookTable } from '../../../../actors/sources/webhook-table.ts';
import { TestSourceHost } from '../../../fixtures/source-host.ts';
import { httpTrigger } from '../../../fixtures/triggers.ts';

const LINGER_MS = 60;

let listeners: WebhookListeners;
let host: TestSourceHost;
beforeEach(() => {
  listeners = new WebhookListeners(async () => async () => {});
  host = new TestSourceHost();
  host.listen = (webhook, address) => listeners.listen(webhook, address);
});

const says = (body: string): PathUse<Member> => ({
  maxBodyBytes: 1_000,
  admit: (): WebhookReply => ({ status: 200, body }),
  receive: async () => ({ status: 200, body }),
});
const table = (word: string) => new WebhookTable(says(word), LINGER_MS);
const member = (name: string): Member => ({ trigger: httpTrigger(name), host, methods: ['POST'] });
const answer = () => {
  const request = {
    method: 'POST',
    path: '/in',
    query: '',
    headers: {},
    remoteAddress: '',
    requestId: '',
    traceparent: '',
  };
  const reply = listeners.at('/in')?.admit(request);
  return reply?.status === 200 ? reply.body : reply?.status;
};
const afterLinger = () => new Promise((resolve) => setTimeout(resolve, LINGER_MS * 2));

test('a path is refused to a second type while a trigger of the first is there', async () => {
  const [one, two] = [table('one'), table('two')];
  await one.add(member('a'), '/in');
  await expect(two.add(member('b'), '/in')).rejects.toThrow('another trigger type');
  expect(answer()).toBe('one');
});

test('a path goes to a second type as soon as the first has left, and back, and stays there', async () => {
  const [one, two] = [table('one'), table('two')];
  const leaveOne = await one.add(member('a'), '/in');
  await leaveOne();
  expect(answer()).toBe(503);
  const leaveTwo = await two.add(member('b'), '/in');
  expect(answer()).toBe('two');
  await afterLinger();
  expect(answer()).toBe('two');
  await leaveTwo();
  const leaveAgain = await one.add(member('a'), '/in');
  expect(answer()).toBe('one');
  await afterLinger();
  expect(answer()).toBe('one');
  await leaveAgain();
  await expect.poll(answer).toBeUndefined();
});
