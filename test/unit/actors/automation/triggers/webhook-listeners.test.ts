// Webhook paths that move between trigger types: each type has a path table, and all types share the
// listener. Also separate listeners that are closed during requests.

import { beforeEach, describe, expect, test } from 'vitest';
import { WebhookListeners } from '../../../../../actors/automation/triggers/webhook-listeners.ts';
import { loopbackOnly } from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { Webhook, WebhookReply } from '../../../../../actors/platforms/webhooks/webhook.ts';
import {
  type PathHandler,
  type WebhookSubscriber,
  WebhookTable,
} from '../../../../../actors/platforms/webhooks/webhook-table.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { httpTrigger } from '../../../../fixtures/automation/triggers.ts';

const LINGER_MS = 60;

let listeners: WebhookListeners;
let host: TestSourceHost;
beforeEach(() => {
  listeners = new WebhookListeners(async () => async () => {});
  host = new TestSourceHost();
  host.listen = (webhook, address) => listeners.listen(webhook, address);
});

const respondWith = (body: string): PathHandler<WebhookSubscriber> => ({
  maxBodyBytes: 1_000,
  unauthorisedText: 'nobody may',
  answer: (): WebhookReply => ({ status: 200, body }),
  receive: async () => ({ status: 200, body }),
});
const table = (answerText: string) => new WebhookTable(respondWith(answerText), LINGER_MS);
const member = (name: string): WebhookSubscriber => ({
  trigger: httpTrigger(name),
  host,
  methods: ['POST'],
  verifier: loopbackOnly,
});
const answerOf = (hook: Webhook | undefined) => {
  const request = {
    method: 'POST',
    path: '/in',
    query: '',
    headers: {},
    remoteAddress: '',
    requestId: '',
    traceparent: '',
    reserveBody: () => () => {},
    isBodyExact: true,
  };
  const reply = hook?.admit(request);
  return reply?.status === 200 ? reply.body : reply?.status;
};
const answer = () => answerOf(listeners.at('/in'));
const waitForLinger = () => new Promise((resolve) => setTimeout(resolve, LINGER_MS * 2));

test('a webhook path is refused to a second trigger type while a trigger of the first type uses it', async () => {
  const [firstTable, two] = [table('one'), table('two')];
  await firstTable.add(member('a'), '/in');
  await expect(two.add(member('b'), '/in')).rejects.toThrow('another trigger type');
  expect(answer()).toBe('one');
});

test('a webhook path can be used by another trigger type once all triggers of the first type have left it', async () => {
  const [firstTable, two] = [table('one'), table('two')];
  const leaveOne = await firstTable.add(member('a'), '/in');
  await leaveOne();
  expect(answer()).toBe(503);
  const leaveTwo = await two.add(member('b'), '/in');
  expect(answer()).toBe('two');
  await waitForLinger();
  expect(answer()).toBe('two');
  await leaveTwo();
  const leaveAgain = await firstTable.add(member('a'), '/in');
  expect(answer()).toBe('one');
  await waitForLinger();
  expect(answer()).toBe('one');
  await leaveAgain();
  await expect.poll(answer).toBeUndefined();
});

describe('a separate webhook listener', () => {
  const address = { host: '127.0.0.1', port: 21_820 };

  /** Listener with running requests, until the grace period is shortened. */
  class BusyListener {
    readonly at: (path: string) => Webhook | undefined;
    readonly graces: (number | undefined)[] = [];
    isClosed = false;
    #cut: () => void = () => {};
    readonly #closed = new Promise<void>((resolve) => {
      this.#cut = resolve;
    });

    constructor(at: (path: string) => Webhook | undefined) {
      this.at = at;
    }

    readonly close = async (graceMs?: number) => {
      this.graces.push(graceMs);
      if (graceMs !== undefined) this.#cut();
      await this.#closed;
      this.isClosed = true;
    };
  }

  let opened: BusyListener[];
  beforeEach(() => {
    opened = [];
    listeners = new WebhookListeners(async (_, at) => {
      const listener = new BusyListener(at);
      opened.push(listener);
      return listener.close;
    }, LINGER_MS);
  });

  test('stops accepting connections when its last trigger is closed, and responds 503 on open ones', async () => {
    const leave = await table('one').add(member('a'), '/in', address);
    expect(answerOf(opened[0]?.at('/in'))).toBe('one');
    await leave();
    expect([opened[0]?.graces, opened[0]?.isClosed]).toEqual([[undefined], false]);
    expect(answerOf(opened[0]?.at('/in'))).toBe(503);
  });

  test('is opened again for a trigger that was closed and added again, while old requests are running', async () => {
    const firstTable = table('one');
    await (await firstTable.add(member('a'), '/in', address))();
    const leave = await firstTable.add(member('a'), '/in', address);
    expect([answerOf(opened[0]?.at('/in')), answerOf(opened[1]?.at('/in'))]).toEqual([503, 'one']);
    await leave();
    expect(opened.map(({ graces }) => graces.length)).toEqual([1, 1]);
  });

  test('responds 503, and later 404, at the path of a closed trigger if other triggers use it', async () => {
    const firstTable = table('one');
    const leave = await firstTable.add(member('a'), '/in', address);
    await firstTable.add(member('b'), '/other', address);
    await leave();
    expect(answerOf(opened[0]?.at('/in'))).toBe(503);
    await expect.poll(() => answerOf(opened[0]?.at('/in')), { timeout: 30_000 }).toBeUndefined();
    expect([answerOf(opened[0]?.at('/other')), opened[0]?.graces]).toEqual(['one', []]);
  });

  test('serves a trigger again that is closed and reopened while others keep the listener open', async () => {
    const firstTable = table('one');
    const leave = await firstTable.add(member('a'), '/in', address);
    await firstTable.add(member('b'), '/other', address);
    await leave();
    await firstTable.add(member('a'), '/in', address);
    await waitForLinger();
    expect([answerOf(opened[0]?.at('/in')), opened.length]).toEqual(['one', 1]);
  });

  test('shortens the grace period of running requests when the gateway stops', async () => {
    const firstTable = table('one');
    await (await firstTable.add(member('a'), '/in', address))();
    await (await firstTable.add(member('b'), '/in', { ...address, port: 21_821 }))();
    await listeners.end();
    expect(opened.map(({ graces, isClosed }) => [graces, isClosed])).toEqual([
      [[undefined, 250], true],
      [[undefined, 250], true],
    ]);
    await listeners.end();
    expect(opened.map(({ graces }) => graces.length)).toEqual([2, 2]);
  });
});
