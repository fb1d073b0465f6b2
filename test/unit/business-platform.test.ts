// Checks the fake business messenger with an independent client, which sends messages and receives
// notifications.
// The invariants BF1 and BF2 are in test/fixtures/business-platform/business-platform.ts.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WhatsAppAPI } from 'whatsapp-api-js';
import {
  ActionButtons,
  ActionList,
  Body,
  Button,
  Header,
  Interactive,
  ListSection,
  Reaction,
  Row,
  Text,
} from 'whatsapp-api-js/messages';
import { WhatsAppAPI as Receiver } from 'whatsapp-api-js/middleware/node-http';
import { BusinessPlatform } from '../fixtures/business-platform/business-platform.ts';
import {
  buttonReply,
  listReply,
  type Members,
  messagesOf,
  notification,
  textMessage,
} from '../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../fixtures/business-platform/webhook-sender.ts';

const PHONE = '100000000000001';
const business = { phone_number_id: PHONE, display_phone_number: '15550001111' };
const ada = { name: 'Ada Ö. 🦋', number: '15550002222' };
const pablo = { name: 'Pablo', userId: 'US.13491208655302741918' };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function platform(): Promise<BusinessPlatform> {
  const started = await new BusinessPlatform({ token: 'token', phoneNumberIds: [PHONE] }).start();
  closing.push(() => started.stop());
  return started;
}

/** Creates the client; replaces the built-in URL of the vendor. */
function client({ url }: BusinessPlatform, token = 'token'): WhatsAppAPI {
  const toFake = (input: string | URL | Request, init?: RequestInit) =>
    fetch(String(input).replace('https://graph.facebook.com', url), init);
  return new WhatsAppAPI({ token, secure: false, v: 'v24.0', ponyfill: { fetch: toFake } });
}

const codeOf = (response: unknown) => (response as { error?: { code: number } }).error?.code;

describe('an independent client of the business messenger (BF2)', () => {
  it('sends text, buttons, a list and a reaction, and receives their ids', async () => {
    const fake = await platform();
    const api = client(fake);
    const buttons = new ActionButtons(new Button('yes', 'Yes'), new Button('no', 'No'));
    const rows = [new Row('a', 'Apples', 'red ones'), new Row('b', 'Pears')] as const;
    const list = new ActionList('Fruit', new ListSection(undefined, ...rows));
    const requests = [
      await api.sendMessage(PHONE, ada.number, new Text('hello 🦋')),
      await api.sendMessage(PHONE, ada.number, new Interactive(buttons, new Body('well?'))),
      await api.sendMessage(PHONE, ada.number, new Interactive(list, new Body('which?'), new Header('Shop'))),
      await api.sendMessage(PHONE, ada.number, new Reaction('wamid.1', '👍')),
    ];
    expect(requests.map(codeOf)).toEqual([undefined, undefined, undefined, undefined]);
    const ids = requests.map((each) => 'messages' in each && each.messages[0].id);
    expect(fake.sent.map(({ id }) => id)).toEqual(ids);
    expect(fake.textsTo(ada.number)).toEqual(['hello 🦋', 'well?', 'which?', '']);
  });

  it('reaches a user without phone number by `recipient`, not by `to`', async () => {
    const fake = await platform();
    const api = client(fake);
    await api.sendMessage(PHONE, { bsuid: pablo.userId }, new Text('found'));
    const response = await fetch(`${fake.url}/v24.0/${PHONE}/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer token' },
      body: JSON.stringify({
        messaging_product: 'whatsapp',
        to: pablo.userId,
        type: 'text',
        text: { body: 'lost' },
      }),
    });
    expect(response.status).toBe(200);
    expect(fake.textsTo(pablo.userId)).toEqual(['found']);
    expect(fake.lost).toHaveLength(1);
  });

  it('marks a message as read, with and without typing', async () => {
    const fake = await platform();
    const api = client(fake);
    expect(await api.markAsRead(PHONE, 'wamid.1')).toEqual({ success: true });
    expect(await api.markAsRead(PHONE, 'wamid.2', 'text')).toEqual({ success: true });
    expect(fake.read).toEqual(['wamid.1', 'wamid.2']);
    expect(fake.typing).toEqual(['wamid.2']);
  });

  it("receives the vendor's error codes", async () => {
    const fake = await platform();
    const api = client(fake);
    const text = new Text('hello');
    expect(codeOf(await client(fake, 'other').sendMessage(PHONE, ada.number, text))).toBe(190);
    expect(codeOf(await api.sendMessage('1', ada.number, text))).toBe(100);
    expect(codeOf(await api.sendMessage(PHONE, ada.number, new Text(' ')))).toBe(100);
    fake.closedWindows.add(ada.number);
    expect(codeOf(await api.sendMessage(PHONE, ada.number, text))).toBe(131047);
    fake.refuse(130429);
    expect(codeOf(await api.sendMessage(PHONE, '15550003333', text))).toBe(130429);
    fake.meter.limits = { pairEveryMs: 60_000 };
    expect(codeOf(await api.sendMessage(PHONE, '15550003333', text))).toBe(undefined);
    expect(codeOf(await api.sendMessage(PHONE, '15550003333', text))).toBe(131056);
    expect(fake.sent).toHaveLength(1);
  });
});

describe('the fake business messenger refuses what the vendor refuses (BF1)', () => {
  const button = (id: string, title: string) => ({ type: 'reply', reply: { id, title } });
  const row = (index: number) => ({ id: `r${index}`, title: `Row ${index}` });
  const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index));
  const buttons = (...all: readonly unknown[]) => ({
    type: 'button',
    body: { text: 'x' },
    action: { buttons: all },
  });
  const list = (...sections: readonly unknown[]) => ({
    type: 'list',
    body: { text: 'x' },
    action: { button: 'Open', sections },
  });

  const interactive: readonly (readonly [string, object, number | undefined])[] = [
    ['three buttons', buttons(button('a', 'A'), button('b', 'B'), button('c', 'C')), undefined],
    ['four buttons', buttons(...['a', 'b', 'c', 'd'].map((id) => button(id, id))), 131009],
    ['a title of 21 characters', buttons(button('a', 'x'.repeat(21))), 131009],
    ['an empty title', buttons(button('a', '')), 131009],
    ['two equal titles', buttons(button('a', 'A'), button('b', 'A')), 131009],
    ['two equal ids', buttons(button('a', 'A'), button('a', 'B')), 131009],
    ['an id with a trailing space', buttons(button('a ', 'A')), 131009],
    ['an id of 257 characters', buttons(button('x'.repeat(257), 'A')), 131009],
    ['an unknown member', { ...buttons(button('a', 'A')), colour: 'red' }, 100],
    [
      'a text of 1,025 characters',
      { ...buttons(button('a', 'A')), body: { text: 'x'.repeat(1025) } },
      131009,
    ],
    ['no text', { type: 'button', action: { buttons: [button('a', 'A')] } }, 131008],
    ['ten rows', list({ rows: rows(10) }), undefined],
    [
      'ten rows in two sections with titles',
      list({ title: 'A', rows: rows(5) }, { title: 'B', rows: rows(10).slice(5) }),
      undefined,
    ],
    [
      'two sections, one without a title',
      list({ title: 'A', rows: rows(2) }, { rows: rows(4).slice(2) }),
      100,
    ],
    [
      'eleven rows in two sections',
      list({ title: 'A', rows: rows(6) }, { title: 'B', rows: rows(11).slice(6) }),
      131009,
    ],
    ['a row with a title of 25 characters', list({ rows: [{ id: 'a', title: 'x'.repeat(25) }] }), 131009],
    ['a description of 73 characters', list({ rows: [{ ...row(1), description: 'x'.repeat(73) }] }), 131009],
  ];

  it.each(interactive)('with %s', async (_, content, code) => {
    const fake = await platform();
    const answer = await post(fake, { type: 'interactive', interactive: content });
    expect(answer.error?.code).toBe(code);
  });

  it('for a text of 4,097 characters, and an invalid sticker', async () => {
    const fake = await platform();
    expect((await post(fake, { text: { body: 'x'.repeat(4097) } })).error?.code).toBe(100);
    expect((await post(fake, { text: { body: 'x'.repeat(4096) } })).error).toBe(undefined);
    expect((await post(fake, { type: 'sticker', sticker: {} })).error?.code).toBe(100);
    expect((await post(fake, { type: 'sticker' })).error?.code).toBe(131051);
  });

  async function post(fake: BusinessPlatform, message: object) {
    const response = await fetch(`${fake.url}/v18.0/${PHONE}/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer token' },
      body: JSON.stringify({ messaging_product: 'whatsapp', to: ada.number, ...message }),
    });
    return (await response.json()) as { readonly error?: { readonly code: number } };
  }
});

describe("an independent client of the business messenger's webhooks", () => {
  it('answers the handshake and receives messages, replies and statuses', async () => {
    const webhooks: unknown[] = [];
    const receiver = new Receiver({
      token: 'token',
      appSecret: 'app secret',
      webhookVerifyToken: 'prove it',
      v: 'v24.0',
    });
    receiver.on.message = ({ message, recipient, name }) => {
      webhooks.push({ message, recipient, name });
    };
    receiver.on.status = ({ id, status, error }) => {
      webhooks.push({ id, status, code: error?.code });
    };
    const server = createServer(async (request, response) => {
      if (request.method === 'GET')
        try {
          response.end(receiver.handle_get(request));
        } catch (status) {
          response.writeHead(Number(status)).end();
        }
      else response.writeHead(await receiver.handle_post(request)).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`;
    const sender = new WebhookSender({ url, appSecret: 'app secret', verifyToken: 'prove it' });
    await sender.subscribe();
    const sentMessage = textMessage(ada, 'Grüße 🦋');
    await sender.deliver(messagesOf(business, [[ada, sentMessage]]));
    await sender.deliver(messagesOf(business, [[pablo, textMessage(pablo, 'no number')]]));
    await sender.deliver(messagesOf(business, [[ada, buttonReply(ada, 'yes', 'Yes')]]));
    await sender.deliver(messagesOf(business, [[ada, listReply(ada, 'a', 'Apples')]]));
    const failed = { id: 'wamid.9', status: 'failed', timestamp: '1', recipient_id: ada.number };
    const errors = [{ code: 131047, title: 'Re-engagement message' }];
    await sender.deliver(notification(business, { statuses: [{ ...failed, errors }] }));
    expect(webhooks).toMatchObject([
      {
        message: { id: sentMessage.id, text: { body: 'Grüße 🦋' } },
        recipient: { phone: ada.number },
        name: ada.name,
      },
      { message: { text: { body: 'no number' } }, recipient: { bsuid: pablo.userId } },
      { message: { interactive: { button_reply: { id: 'yes', title: 'Yes' } } } },
      { message: { interactive: { list_reply: { id: 'a', title: 'Apples' } } } },
      { id: 'wamid.9', status: 'failed', code: 131047 },
    ]);
    const forged = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
    expect(await sender.send(messagesOf(business, [[ada, sentMessage]]) as Members, forged)).toBe(401);
    const stranger = new WebhookSender({ url, appSecret: 'x', verifyToken: 'something else' });
    await expect(stranger.subscribe()).rejects.toThrow('403');
  });

  it('receives a notification again until it responds with 200', async () => {
    let count = 0;
    const server = createServer((request, response) => {
      request.resume();
      count += 1;
      response.writeHead(count < 4 ? 503 : 200).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const sender = new WebhookSender({ url, appSecret: 's', verifyToken: 'v', retryMs: 5 });
    await sender.deliver(messagesOf(business, [[ada, textMessage(ada, 'hello')]]));
    expect(sender.attempts.map(({ status }) => status)).toEqual([503, 503, 503, 200]);
  });
});
