// A path that goes from a trigger of one type to one of another, as when a file is changed: each type has a table of its
// own, and the listener belongs to all of them. And listeners of their own, which triggers leave while requests run.

import { beforeEach, describe, expect, test } from 'vitest';
import { WebhookListeners } from '../../../../../actors/automation/triggers/webhook-listeners.ts';
import { loopbackOnly } from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { Webhook, WebhookReply } from '../../../../../actors/platforms/webhooks/webhook.ts';
import {
  type PathUse,
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

const says = (body: string): PathUse<WebhookSubscriber> => ({
  maxBodyBytes: 1_000,
  unauthorised: 'nobody may',
  answer: (): WebhookReply => ({ status: 200, body }),
  receive: async () => ({ status: 200, body }),
});
const table = (word: string) => new WebhookTable(says(word), LINGER_MS);
const member = (name: string): WebhookSubscriber => ({
  trigger: httpTrigger(name),
  host,
  methods: ['POST'],
  verifier: loopbackOnly,
});
const said = (hook: Webhook | undefined) => {
  const request = {
    method: 'POST',
    path: '/in',
    query: '',
    headers: {},
    remoteAddress: '',
    requestId: '',
    traceparent: '',
    holdBody: () => () => {},
    isBodyExact: true,
  };
  const reply = hook?.admit(request);
  return reply?.status === 200 ? reply.body : reply?.status;
};
const answer = () => said(listeners.at('/in'));
const afterLinger = () => new Promise((resolve) => setTimeout(resolve, LINGER_MS * 2));

test('a path is refused to a second type while a trigger of the first is there (WL1)', async () => {
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

describe('a listener of its own', () => {
  const address = { host: '127.0.0.1', port: 21_820 };

  /** One that has requests under way until it has less time. */
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

  test('that its last trigger leaves stops listening, and asks who is connected to come again (WL2, WT3)', async () => {
    const leave = await table('one').add(member('a'), '/in', address);
    expect(said(opened[0]?.at('/in'))).toBe('one');
    await leave();
    expect([opened[0]?.graces, opened[0]?.isClosed]).toEqual([[undefined], false]);
    expect(said(opened[0]?.at('/in'))).toBe(503);
  });

  test('is opened anew by a trigger that comes back while requests of the old one are under way', async () => {
    const one = table('one');
    await (await one.add(member('a'), '/in', address))();
    const leave = await one.add(member('a'), '/in', address);
    expect([said(opened[0]?.at('/in')), said(opened[1]?.at('/in'))]).toEqual([503, 'one']);
    await leave();
    expect(opened.map(({ graces }) => graces.length)).toEqual([1, 1]);
  });

  test('that others stay on answers 503 at the path that was left, and 404 a while later', async () => {
    const one = table('one');
    const leave = await one.add(member('a'), '/in', address);
    await one.add(member('b'), '/other', address);
    await leave();
    expect(said(opened[0]?.at('/in'))).toBe(503);
    await expect.poll(() => said(opened[0]?.at('/in')), { timeout: 30_000 }).toBeUndefined();
    expect([said(opened[0]?.at('/other')), opened[0]?.graces]).toEqual(['one', []]);
  });

  test('that others stay on takes a trigger that comes back to its path, and keeps it', async () => {
    const one = table('one');
    const leave = await one.add(member('a'), '/in', address);
    await one.add(member('b'), '/other', address);
    await leave();
    await one.add(member('a'), '/in', address);
    await afterLinger();
    expect([said(opened[0]?.at('/in')), opened.length]).toEqual(['one', 1]);
  });

  test('has a moment only for what is under way when the gateway stops', async () => {
    const one = table('one');
    await (await one.add(member('a'), '/in', address))();
    await (await one.add(member('b'), '/in', { ...address, port: 21_821 }))();
    await listeners.end();
    expect(opened.map(({ graces, isClosed }) => [graces, isClosed])).toEqual([
      [[undefined, 250], true],
      [[undefined, 250], true],
    ]);
    await listeners.end();
    expect(opened.map(({ graces }) => graces.length)).toEqual([2, 2]);
  });
});
