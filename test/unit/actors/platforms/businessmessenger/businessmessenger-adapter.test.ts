// Webhooks of the fake platform to BusinessMessenger triggers, over real sockets.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { businessMessengerAdapter } from '../../../../../actors/platforms/businessmessenger/adapter.ts';
import type { StoredApproval } from '../../../../../actors/store/approval.ts';
import type { BusinessMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { matchTrigger } from '../../../../../machines/matching.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { businessMessengerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { BusinessPlatform } from '../../../../fixtures/business-platform/business-platform.ts';
import {
  buttonReply,
  listReply,
  type Members,
  message,
  messagesOf,
  notification,
  type Person,
  textMessage,
} from '../../../../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../../../../fixtures/business-platform/webhook-sender.ts';

const PATH = '/webhook/businessmessenger';
const business = { phone_number_id: '100000000000001', display_phone_number: '15550001111' };
const other = { phone_number_id: '100000000000009', display_phone_number: '15550009999' };
const ada = { name: 'Ada', number: '15550002222' };
const pablo = { name: 'Pablo', userId: 'US.13491208655302741918' };
const both = { name: 'Pablo', number: '15550003333', userId: 'US.13491208655302741918' };

let host: TestSourceHost;
let adapter: Adapter<BusinessMessengerTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  adapter = businessMessengerAdapter(adapterServices(host));
});
afterEach(() => host.stop());

async function open(config: Partial<BusinessMessengerTrigger['config']> = {}, name = 'desk') {
  const trigger = businessMessengerTrigger(name, config);
  await adapter.open(trigger, host);
  return trigger;
}

const sender = (appSecret = 'the app secret', verifyToken = 'prove it') =>
  new WebhookSender({ url: host.url + PATH, appSecret, verifyToken });
const sendMessage = (person: Person, message: Members) =>
  sender().send(messagesOf(business, [[person, message]]));
const last = () => adapter.read(host.event());

describe('the handshake', () => {
  const ask = async (query: string) => {
    const response = await fetch(`${host.url}${PATH}?${query}`);
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    };
  };

  it('returns the challenge unchanged, for the token of any trigger of the path', async () => {
    await open();
    await open({ phone_number_id: other.phone_number_id, verify_token: 'prove this' }, 'shop');
    await sender().subscribe();
    await sender('the app secret', 'prove this').subscribe();
    const { status, type, text } = await ask(
      'hub.mode=subscribe&hub.verify_token=prove%20it&hub.challenge=a%2Bb%3D12%20%C3%BC',
    );
    expect({ status, text }).toEqual({ status: 200, text: 'a+b=12 ü' });
    expect(type).toMatch(/^text\/plain/);
  });

  it('rejects another token, another mode, and an invalid challenge', async () => {
    await open();
    const token = 'hub.verify_token=prove%20it';
    expect(await ask('hub.mode=subscribe&hub.challenge=1')).toMatchObject({ status: 403 });
    expect(await ask('hub.mode=subscribe&hub.verify_token=prove&hub.challenge=1')).toMatchObject({
      status: 403,
    });
    expect(await ask(`hub.mode=unsubscribe&${token}&hub.challenge=1`)).toMatchObject({ status: 400 });
    expect(await ask(`${token}&hub.challenge=1`)).toMatchObject({ status: 400 });
    expect(await ask(`hub.mode=subscribe&${token}`)).toMatchObject({ status: 400 });
    expect(await ask(`hub.mode=subscribe&${token}&hub.challenge=%3Cscript%3E`)).toMatchObject({
      status: 400,
    });
    expect((await fetch(host.url + PATH, { method: 'PUT' })).status).toBe(405);
  });
});

describe('an approval decision', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const id = decisionActionId(approval, 'deny');
  const react = (emoji: string | undefined, person: Person = ada) =>
    message(person, 'reaction', { message_id: 'wamid.asked', ...(emoji !== undefined && { emoji }) });

  it('by an approval button is queued with commands, and belongs to the chat with the sender', async () => {
    await open({ allowed_numbers: ['1'] });
    await sendMessage(both, buttonReply(both, id, 'Deny'));
    expect(host.event().key).toMatch(/^conversation\/businessmessenger\/100000000000001\/[^/]+\/commands$/);
    expect(last()).toMatchObject({
      decision: { verdict: 'deny', about: { approval } },
      names: [],
      text: undefined,
      user: both.userId,
      userAliases: [both.number],
      channel: business.phone_number_id,
      channelAliases: [both.number, both.userId],
      account: business.phone_number_id,
      triggers: ['desk'],
    });
  });

  it('is not read from a text or a list row that looks like an approval button', async () => {
    await open();
    for (const message of [
      textMessage(ada, id),
      textMessage(ada, `button:${id}`),
      listReply(ada, id, 'Deny'),
    ]) {
      await sendMessage(ada, message);
      expect(host.event().key).not.toMatch(/commands$/);
      expect(last().decision).toBeUndefined();
      expect(last().text).toContain(id);
    }
  });

  it('by a reaction names the id of the request message, and is read only while an approval is pending', async () => {
    await open();
    await sendMessage(ada, react('👍'));
    expect(last()).toMatchObject({ unsupported: 'UnsupportedMessageType: reaction' });
    expect(last().decision).toBeUndefined();
    host.store.approvals = async () => [{} as StoredApproval];
    await sendMessage(ada, react('👍🏾'));
    expect(host.event().key).toMatch(/\/commands$/);
    expect(last()).toMatchObject({ decision: { verdict: 'approve', about: { message: 'wamid.asked' } } });
    for (const emoji of ['😀', '', undefined]) {
      await sendMessage(ada, react(emoji));
      expect(last().decision).toBeUndefined();
      expect(last().unsupported).toBe('UnsupportedMessageType: reaction');
    }
  });
});

describe('a notification', () => {
  it('is accepted only with a valid signature', async () => {
    await open();
    const messages = messagesOf(business, [[ada, textMessage(ada, 'Grüße 🦋')]]);
    expect(await sender('another secret').send(messages)).toBe(401);
    expect(await sender().send(messages, { 'x-hub-signature-256': 'sha256=00' })).toBe(401);
    expect(await sender().send(messages, { 'x-hub-signature-256': '' })).toBe(401);
    expect(host.store.events).toEqual([]);
    expect(await sender().send(messages)).toBe(200);
    expect(last()).toMatchObject({ platform: 'businessmessenger', triggers: ['desk'], text: 'Grüße 🦋' });
  });

  it('of text contains the sender, the number and the text, and the payload reduced to this message', async () => {
    await open();
    const messages = [textMessage(ada, 'first'), textMessage(pablo, 'second')] as const;
    await sender().send(
      messagesOf(business, [
        [ada, messages[0]],
        [pablo, messages[1]],
      ]),
    );
    expect(host.store.events.map(({ id }) => id)).toEqual(
      messages.map(({ id }) => `businessmessenger:desk/${id}`),
    );
    expect(adapter.read(host.event(0))).toMatchObject({
      text: 'first',
      user: ada.number,
      channel: business.phone_number_id,
      context: {
        'message.id': messages[0].id,
        'message.type': 'text',
        'sender.name': 'Ada',
        'sender.number': ada.number,
        'business.phone_number_id': business.phone_number_id,
      },
      payload: messagesOf(business, [[ada, messages[0]]]),
    });
    expect(last()).toMatchObject({ text: 'second', user: pablo.userId });
    expect(last().context).not.toHaveProperty(['sender.number']);
  });

  it('of a button or list reply has the text button:ID or list:ID', async () => {
    await open();
    await sendMessage(ada, buttonReply(ada, 'yes please', 'Yes'));
    expect(last()).toMatchObject({ text: 'button:yes please', context: { 'reply.title': 'Yes' } });
    await sendMessage(ada, listReply(ada, 'a', 'Apples'));
    expect(last()).toMatchObject({ text: 'list:a', unsupported: undefined });
  });

  it.each([
    ['image', { id: '1', caption: 'My invoice is wrong' }, 'My invoice is wrong'],
    ['video', { id: '1', caption: 'it flickers' }, 'it flickers'],
    ['document', { id: '1', filename: 'a.pdf', caption: 'please check page 2' }, 'please check page 2'],
    ['order', { catalog_id: 'c', text: 'as a gift', product_items: [] }, 'as a gift'],
  ])('of an %s with a caption has the text of the caption', async (kind, content, text) => {
    await open();
    await sendMessage(ada, message(ada, kind, content));
    expect(last()).toMatchObject({ text, isChoice: false, unsupported: undefined });
  });

  it('of a template button has the text of the button, and its payload as a parameter', async () => {
    await open();
    await sendMessage(ada, message(ada, 'button', { payload: 'CONFIRM_7', text: 'Yes, please' }));
    expect(last()).toMatchObject({
      text: 'Yes, please',
      isChoice: true,
      parameters: { payload: 'CONFIRM_7' },
      context: { 'reply.title': 'Yes, please' },
    });
  });

  it('of a completed form has its values as parameters and text', async () => {
    await open();
    const form = (response_json: string) =>
      message(ada, 'interactive', {
        type: 'nfm_reply',
        nfm_reply: { name: 'flow', body: 'Sent', response_json },
      });
    await sendMessage(ada, form('{"flow_token":"t-1","day":"Monday","seats":2,"extras":["tea"]}'));
    expect(last()).toMatchObject({
      text: 'day: Monday\nseats: 2\nextras: ["tea"]',
      isChoice: true,
      parameters: { flow_token: 't-1', day: 'Monday', seats: '2', extras: '["tea"]' },
    });
    for (const json of ['no json', '[1]', 'null', '{"flow_token":"t"}', `{"a":${'['.repeat(9_000)}`]) {
      expect(await sendMessage(ada, form(json))).toBe(200);
      expect(last().text).toBe('Sent');
    }
  });

  it('names its sender, and is marked if it was forwarded', async () => {
    await open();
    await sendMessage(ada, textMessage(ada, 'look', { context: { forwarded: true } }));
    expect(last()).toMatchObject({
      senderName: 'Ada',
      channelName: business.display_phone_number,
      quoted: [{ relation: 'forwarded' }],
    });
  });

  it('of media without text is answered, but not one in a group, a removed reaction, or an unknown kind', async () => {
    await open();
    for (const kind of ['image', 'audio', 'sticker', 'location', 'contacts', 'document', 'unsupported']) {
      await sendMessage(ada, message(ada, kind, { id: '1' }));
      expect(last().isWordless).toBe(true);
    }
    for (const [kind, more] of [
      ['image', { group_id: 'a-group' }],
      ['reaction', {}],
      ['system', {}],
      ['constructor', {}],
    ] as const) {
      await sendMessage(ada, message(ada, kind, { id: '1' }, more));
      expect(last().isWordless).toBe(false);
    }
  });

  it('of the first visit to the chat is a press of the start button', async () => {
    await open();
    await sendMessage(ada, message(ada, 'request_welcome', undefined));
    expect(last()).toMatchObject({ isStart: true, text: undefined, unsupported: undefined });
  });

  it('of other kinds is an unsupported event', async () => {
    await open();
    const kinds: readonly Members[] = [
      message(ada, 'image', { id: '1', mime_type: 'image/jpeg' }),
      message(ada, 'audio', { id: '1', mime_type: 'audio/ogg; codecs=opus', voice: true }),
      message(ada, 'sticker', { id: '1', mime_type: 'image/webp', animated: false }),
      message(ada, 'location', { address: '1 Hacker Way', latitude: 37.48, longitude: -122.15 }),
      message(ada, 'contacts', [{ name: { formatted_name: 'Ada L' } }]),
      message(ada, 'document', { id: '1', filename: 'a.pdf' }),
      message(ada, 'order', { catalog_id: 'c', product_items: [] }),
      message(ada, 'reaction', { message_id: 'wamid.1', emoji: '👍' }),
      message(ada, 'unsupported', undefined, { errors: [{ code: 131051 }] }),
      message(ada, 'button', {}),
      message(ada, 'interactive', { type: 'nfm_reply', nfm_reply: { name: 'flow' } }),
      textMessage(ada, 'to all', { group_id: 'a-group' }),
    ];
    for (const kind of kinds) {
      expect(await sendMessage(ada, kind)).toBe(200);
      expect(last().unsupported).toMatch(/^UnsupportedMessageType: /);
    }
    expect(host.store.events).toHaveLength(kinds.length);
  });

  it('is parsed as recorded from the platform: two texts, a status, and a message with only a user id', async () => {
    await open();
    const metadata = { display_phone_number: '15550001111', phone_number_id: business.phone_number_id };
    const recordedBody = (value: Members) => ({
      object: 'whatsapp_business_account',
      entry: [
        {
          id: '100000000000002',
          changes: [{ value: { messaging_product: 'whatsapp', metadata, ...value }, field: 'messages' }],
        },
      ],
    });
    const contacts = [{ profile: { name: 'Test User' }, wa_id: '15550002222' }];
    const webhookOf = (id: string, timestamp: string, body: string) =>
      recordedBody({
        contacts,
        messages: [{ from: '15550002222', id, timestamp, text: { body }, type: 'text' }],
      });
    expect(await sender().send(webhookOf('wamid.FAKE_MSG_ID_001', '1772998024', 'What is Vercel?'))).toBe(
      200,
    );
    expect(last()).toMatchObject({ text: 'What is Vercel?', context: { 'sender.name': 'Test User' } });
    expect(await sender().send(webhookOf('wamid.FAKE_MSG_ID_002', '1772998054', 'Tell me more'))).toBe(200);
    expect(host.event(0).key).toBe(host.event(1).key);
    const status = {
      id: 'wamid.FAKE_MSG_SENT_001',
      status: 'sent',
      timestamp: '1772998034',
      recipient_id: '15550002222',
    };
    expect(await sender().send(recordedBody({ statuses: [status] }))).toBe(200);
    expect(host.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    const user_id = 'US.13491208655302741918';
    const fromId = recordedBody({
      contacts: [{ profile: { name: 'Pablo M.', username: '@pablomorales' }, user_id }],
      messages: [
        {
          from_user_id: user_id,
          id: 'wamid.BSUID_1',
          timestamp: '1772998054',
          type: 'text',
          text: { body: 'No phone number here' },
        },
      ],
    });
    expect(await sender().send(fromId)).toBe(200);
    expect(last()).toMatchObject({ text: 'No phone number here', user: user_id });
    expect(host.store.events).toHaveLength(3);
  });

  it('without messages gets status 200 and creates no event', async () => {
    await open();
    const status = { id: 'wamid.9', status: 'failed', timestamp: '1', recipient_id: ada.number };
    const errors = [{ code: 131047, title: 'Re-engagement message' }];
    const { from: _, ...withoutSender } = textMessage(ada, 'x');
    const nothing: readonly Members[] = [
      notification(business, { statuses: [{ ...status, errors }] }),
      notification(business, { errors: [{ code: 130429, message: 'Rate limit hit' }] }),
      notification(business, { messages: [withoutSender] }),
      notification(business, { messages: [message(ada, 'text', { text: 'no body' })] }),
      notification(business, { messages: [{ ...textMessage(ada, 'x'), id: undefined }] }),
      notification(business, { messages: ['no message', null, 7] }),
      messagesOf(other, [[ada, textMessage(ada, 'of a number without a trigger')]]),
      { object: 'whatsapp_business_account', entry: [{ changes: [{ field: 'account_update', value: {} }] }] },
      { object: 'whatsapp_business_account', entry: [null, { changes: 'none' }] },
    ];
    for (const each of nothing) expect(await sender().send(each)).toBe(200);
    expect(host.store.events).toEqual([]);
    const warned = host.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields.code);
    expect(warned).toEqual([131047, 130429]);
  });

  it('with a malformed body is rejected, even if it is signed', async () => {
    await open();
    for (const body of ['', 'no JSON', '7', '[]', '{"entry":{}}'])
      expect(await sender().send(body), body).toBe(400);
    expect(host.store.events).toEqual([]);
  });

  it('that is redelivered, with other messages or in another order, is identified by its message ids', async () => {
    await open();
    const [one, two, three] = ['one', 'two', 'three'].map((text) => textMessage(ada, text)) as [
      Members,
      Members,
      Members,
    ];
    await sender().send(messagesOf(business, [[ada, two]]));
    await sender().send(
      messagesOf(business, [
        [ada, one],
        [ada, two],
      ]),
    );
    await sender().send(
      messagesOf(business, [
        [ada, two],
        [ada, three],
        [ada, one],
      ]),
    );
    const texts = host.store.events.map((event) => adapter.read(event).text);
    expect(texts).toEqual(['two', 'one', 'three']);
  });

  it('is accepted only by triggers with the same number and secret', async () => {
    const desk = await open();
    const shop = await open({ phone_number_id: other.phone_number_id }, 'shop');
    await open({ app_secret: 'of another app' }, 'a-stranger');
    await sender().send(messagesOf(other, [[ada, textMessage(ada, 'to the shop')]]));
    expect(last().triggers).toEqual(['shop']);
    expect(adapter.account?.(shop)).toBe(last().account);
    expect(adapter.account?.(desk)).not.toBe(last().account);
    await sendMessage(ada, textMessage(ada, 'to the desk'));
    expect(last().triggers).toEqual(['desk']);
    expect(host.event().key).toBe(`conversation/businessmessenger/${business.phone_number_id}/${ada.number}`);
  });

  it('with many messages creates one event per message, in order', async () => {
    await open();
    const people = Array.from({ length: 100 }, (_, i) => ({ name: `P${i}`, number: `1555${1_000_000 + i}` }));
    const messages = Array.from({ length: 300 }, (_, i) => {
      const person = people[i % people.length] as Person;
      return [person, textMessage(person, `message ${i}`)] as const;
    });
    expect(await sender().send(messagesOf(business, messages))).toBe(200);
    expect(host.store.events.map((event) => adapter.read(event).text)).toEqual(
      messages.map((_, i) => `message ${i}`),
    );
    expect(new Set(host.store.events.map(({ key }) => key)).size).toBe(100);
  });

  it('is not acknowledged while the store is full', async () => {
    await open();
    host.store.fault = new OverloadedError('full');
    const messages = messagesOf(business, [
      [ada, textMessage(ada, 'a')],
      [ada, textMessage(ada, 'b')],
    ]);
    expect(await sender().send(messages)).toBe(503);
    host.store.fault = undefined;
    expect(await sender().send(messages)).toBe(200);
    expect(host.store.events.map((event) => adapter.read(event).text)).toEqual(['a', 'b']);
  });
});

describe('an accepted message that the platform could not deliver', () => {
  const failedStatus = (id: string, code: number | null = 131047) => ({
    id,
    status: 'failed',
    timestamp: '1772998035',
    recipient_id: ada.number,
    ...(code === null ? {} : { errors: [{ code, title: 'x', error_data: { details: 'the reason' } }] }),
  });
  const reportStatuses = (...statuses: readonly object[]) =>
    sender().send(notification(business, { statuses }));

  /** Stores a completed row with this receipt. */
  async function storeSentRow(id: string, receipt: string, number = business.phone_number_id): Promise<void> {
    const key = `outbox/businessmessenger/${number}/${ada.number}`;
    await host.store.append([{ id, key, meta: '{}', body: Buffer.from('{}'), trace: '' }]);
    for (const { fence, event } of await host.store.claim(9, 60_000, 'outbox/'))
      await host.store.commit([
        { key: event.key, fence, seq: event.seq, outcome: 'done', receipt, isLast: true },
      ]);
  }

  it('becomes dead, with code, meaning and reason; other messages stay done', async () => {
    await open();
    await open({ phone_number_id: other.phone_number_id }, 'shop');
    await storeSentRow('one', 'wamid.1');
    await storeSentRow('two', 'wamid.2');
    await storeSentRow('three', 'wamid.3');
    await storeSentRow('elsewhere', 'wamid.1', other.phone_number_id);
    const read = { ...failedStatus('wamid.3'), status: 'read' };
    expect(await reportStatuses(failedStatus('wamid.1'), read, failedStatus('wamid.2', null))).toBe(200);
    expect(await reportStatuses(failedStatus('wamid.1', 131026))).toBe(200);
    expect(await host.store.delivery('one')).toMatchObject({
      state: 'dead',
      note: '131047 re-engagement message required: the reason',
    });
    expect(await host.store.delivery('two')).toMatchObject({
      state: 'dead',
      note: 'not delivered: no reason from the platform',
    });
    for (const id of ['three', 'elsewhere'])
      expect(await host.store.delivery(id)).toMatchObject({ state: 'done', note: undefined });
    expect(host.lines.find(({ fields }) => fields.message === 'wamid.1')).toMatchObject({
      level: 'warn',
      fields: { delivery: 'one', code: 131047, trigger: 'desk' },
    });
  });

  it('is found even if the failure arrives before the receipt is stored', async () => {
    const platform = await new BusinessPlatform({
      token: 'the token',
      phoneNumberIds: [business.phone_number_id],
    }).start();
    const trigger = await open({ graph_url: platform.url });
    let answer = () => {};
    platform.fail({ kind: 'late', until: new Promise<void>((done) => (answer = done)) });
    const message = { target: { place: ada.number }, action: { do: 'post' }, text: 'hello' } as const;
    const [row] = adapter.outbound?.render(trigger, message) ?? [];
    const receiptOf = async () => undefined;
    const { signal } = new AbortController();
    const context = { signal, rowId: 'one', createdAt: Date.now(), wasTried: false, receiptOf };
    const sending = adapter.outbound?.send(trigger, row ?? ({} as never), context);
    while (platform.sent.length === 0) await new Promise((done) => setTimeout(done, 5));
    const id = String(platform.sent[0]?.id);
    const status = reportStatuses(failedStatus(id));
    await new Promise((done) => setTimeout(done, 100));
    answer();
    await storeSentRow('one', (await sending)?.id ?? '');
    expect(await status).toBe(200);
    expect(await host.store.delivery('one')).toMatchObject({ state: 'dead' });
    await platform.stop();
  });

  it('is not acknowledged while the store is full', async () => {
    await open();
    await storeSentRow('one', 'wamid.1');
    host.store.undeliver = () => Promise.reject(new OverloadedError('full'));
    expect(await reportStatuses(failedStatus('wamid.1'))).toBe(503);
  });

  it('causes only a few log lines of limited length per notification', async () => {
    await open();
    const ids = Array.from({ length: 60 }, (_, i) => `wamid.${i}`);
    for (const id of ids.slice(0, 30)) await storeSentRow(id, id);
    expect(await reportStatuses(...ids.map((id) => failedStatus(id)))).toBe(200);
    expect(host.lines.filter(({ level }) => level === 'warn')).toHaveLength(22);
    expect(host.lines.slice(-2).map(({ fields }) => fields.count)).toEqual([10, 30]);
    expect(await reportStatuses(failedStatus('x'.repeat(100_000)))).toBe(200);
    expect(JSON.stringify(host.lines.at(-1)?.fields).length).toBeLessThan(1_000);
  });
});

describe('a sender', () => {
  const key = () => host.event().key.split('/').at(-1);

  it('with a number and an id, or with one of them, has one conversation', async () => {
    await open();
    await sendMessage(both, textMessage(both, 'number and id'));
    const name = key();
    expect(name).toBe(both.userId);
    await sendMessage(pablo, textMessage(pablo, 'id alone'));
    expect(key()).toBe(name);
    const old = { name: 'Pablo', number: both.number };
    await sendMessage(old, textMessage(old, 'number alone'));
    expect(key()).toBe(name);
  });

  it('that is first known by number keeps the conversation of the number, also after a restart', async () => {
    await open();
    const old = { name: 'Pablo', number: both.number };
    await sendMessage(old, textMessage(old, 'number alone'));
    expect(key()).toBe(both.number);
    await sendMessage(both, textMessage(both, 'number and id'));
    expect(key()).toBe(both.number);
    await host.stop();
    const { store } = host;
    host = await new TestSourceHost().start();
    Object.defineProperty(host, 'store', { value: store });
    adapter = businessMessengerAdapter({ ...adapterServices(host), maxBodyBytes: 1_000_000 });
    await open();
    await sendMessage(pablo, textMessage(pablo, 'id alone'));
    expect(key()).toBe(both.number);
  });

  it('has another conversation with another number of the business', async () => {
    await open();
    await open({ phone_number_id: other.phone_number_id }, 'shop');
    await sendMessage(both, textMessage(both, 'here'));
    const old = { name: 'Pablo', number: both.number };
    await sender().send(messagesOf(other, [[old, textMessage(old, 'there')]]));
    expect(host.event().key).toBe(`conversation/businessmessenger/${other.phone_number_id}/${both.number}`);
  });

  it.each([
    [{}, [true, true, true]],
    [{ allowed_numbers: ['15550002222'] }, [true, false, false]],
    [{ allowed_users: ['US.13491208655302741918'] }, [false, true, true]],
    [{ allowed_numbers: ['1555000222'], allowed_users: ['US.1'] }, [false, false, false]],
    [{ allowed_numbers: ['15550003333'] }, [false, false, true]],
    [{ allowed_users: ['*'] }, [true, true, true]],
  ])('is allowed or rejected by the lists %j', async (lists, expected) => {
    const trigger = await open(lists);
    const matches: (string | undefined)[] = [];
    for (const person of [ada, pablo, both]) {
      await sendMessage(person, textMessage(person, 'hello'));
      matches.push(matchOf(trigger));
    }
    expect(matches).toEqual(expected.map((isAllowed) => (isAllowed ? 'desk' : undefined)));
  });

  it('is matched by a trigger that names it before a trigger for all senders', async () => {
    const all = await open({}, 'all');
    const vip = await open({ allowed_numbers: [both.number] }, 'vip');
    for (const [person, expectedName] of [
      [ada, 'all'],
      [both, 'vip'],
    ] as const) {
      await sendMessage(person, textMessage(person, 'hello'));
      expect(matchOf(all, vip)).toBe(expectedName);
    }
  });

  /** Returns the name of the trigger that matches the last message. */
  function matchOf(...triggers: readonly BusinessMessengerTrigger[]): string | undefined {
    const candidates = triggers.filter((trigger) => adapter.account?.(trigger) === last().account);
    const match = matchTrigger(candidates, last(), (trigger) => adapter.filters?.(trigger));
    return typeof match === 'string' ? undefined : match.trigger.name;
  }
});

it('a trigger without a secret accepts unsigned requests from this machine, but not from a web page', async () => {
  await open({ app_secret: '', insecure_allow_unverified: true });
  const messages = messagesOf(business, [[ada, textMessage(ada, 'hello')]]);
  expect(await sender().send(messages, { origin: 'https://example.com' })).toBe(401);
  expect(await sender().send(messages)).toBe(200);
});
