// How answers of a workspace's bot leave, against the fake of its platform over real HTTP: receipts, edits, refusals in the platform's
// words, and messages that are looked for before they are written again (WSP1, WSP2).

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../../../../actors/events/outbox/outbound.ts';
import type { OutboundMessage } from '../../../../../actors/events/outbox/outbound-message.ts';
import { WorkspaceAccounts } from '../../../../../actors/platforms/chatworkspace/account.ts';
import { workspaceOutbound } from '../../../../../actors/platforms/chatworkspace/outbound.ts';
import { workspacePacing } from '../../../../../actors/platforms/chatworkspace/pacing.ts';
import type { ChatWorkspaceTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { chatWorkspaceTrigger } from '../../../../fixtures/automation/triggers.ts';
import type { App } from '../../../../fixtures/workspace-platform/app.ts';
import type { Channel } from '../../../../fixtures/workspace-platform/channel.ts';
import { tooMany, WebError } from '../../../../fixtures/workspace-platform/web-error.ts';
import { WorkspacePlatform } from '../../../../fixtures/workspace-platform/workspace-platform.ts';

let platform: WorkspacePlatform;
let app: App;
let channel: Channel;
let trigger: ChatWorkspaceTrigger;
let outbound: Outbound<ChatWorkspaceTrigger>;
/** Of the pacing. */
let now = 0;

beforeEach(async () => {
  platform = await new WorkspacePlatform().start();
  app = platform.addApp('A1');
  channel = platform.addChannel('ops', [app]);
  const { botToken: bot_token, signingSecret: signing_secret } = app;
  trigger = chatWorkspaceTrigger('t', { bot_token, signing_secret, api_root: platform.apiRoot });
  const accounts = new WorkspaceAccounts(adapterServices());
  outbound = workspaceOutbound({
    pacing: workspacePacing(() => now),
    apiOf: (each) => accounts.botOf(each).api,
    accountOf: (each) => accounts.of(each).name,
    senderOf: accounts.digestOf,
  });
});
afterEach(() => platform.stop());

const context = (more: Partial<SendContext> = {}): SendContext => ({
  signal: AbortSignal.timeout(10_000),
  rowId: 'row',
  madeAt: Date.now(),
  wasTried: false,
  receiptOf: async () => undefined,
  ...more,
});

function send(text: string, more: Partial<OutboundMessage> = {}, come: Partial<SendContext> = {}) {
  now += 10_000;
  const message: OutboundMessage = {
    target: { place: channel.id, thread: '1.2' },
    action: { do: 'post' },
    text,
    ...more,
  };
  const [rendered] = outbound.render(trigger, message);
  // As the store gives it back.
  return outbound.send(trigger, JSON.parse(JSON.stringify(rendered)) as object, context(come));
}

const refused = (sending: Promise<unknown>): Promise<DeliveryError> =>
  sending.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: DeliveryError) => error,
  );
const texts = () => platform.saidBy(app, channel).map(({ text }) => text);

test('a message stands in its thread, shows no page that it names, and has the platform’s id', async () => {
  const receipt = await send('hello');
  const [message] = platform.saidBy(app, channel);
  expect(message).toMatchObject({ ts: receipt.id, thread_ts: '1.2', text: 'hello' });
  const [{ values } = { values: {} }] = platform.called('chat.postMessage');
  expect(values).toMatchObject({ unfurl_links: 'false', unfurl_media: 'false' });
});

describe('what is to stand in the place of a message', () => {
  const edit = { action: { do: 'edit', of: 'draft' } } as const;
  const drafted = (receipt: Receipt | undefined) => ({ receiptOf: async () => receipt });

  test('is an edit of it, blocks included', async () => {
    const receipt = await send('draft', { card: { title: 'T' } });
    await send('the answer', edit, drafted(receipt));
    expect(platform.saidBy(app, channel)).toMatchObject([
      { ts: receipt.id, text: 'the answer', blocks: [], edited: {} },
    ]);
  });

  test('is a message of its own where there is none', async () => {
    await send('the answer', edit, drafted(undefined));
    expect(texts()).toEqual(['the answer']);
  });

  test('is told to be gone where it is', async () => {
    expect(await refused(send('the answer', edit, drafted({ id: '9.9' })))).toMatchObject({
      isTargetGone: true,
      platformCode: 'message_not_found',
    });
  });
});

describe('a refusal', () => {
  test.each([
    'channel_not_found',
    'not_in_channel',
    'is_archived',
    'invalid_auth',
    'token_revoked',
    'msg_too_long',
    'a_word_of_tomorrow',
  ])('of %s is final, with the word in the note', async (word) => {
    void platform.fail('chat.postMessage', { kind: 'refuse', error: new WebError(word) });
    const error = await refused(send('x'));
    expect(error).toMatchObject({ isFinal: true, platformCode: word });
    expect(error.message).toContain(word);
  });

  test('for want of a scope says which one', async () => {
    const error = new WebError('missing_scope', { needed: 'chat:write.public', provided: 'chat:write' });
    void platform.fail('chat.postMessage', { kind: 'refuse', error });
    expect((await refused(send('x'))).message).toContain('it needs chat:write.public');
  });

  test('for now says when to come again', async () => {
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(7) });
    expect(await refused(send('x'))).toMatchObject({ isTooSoon: true, retryAfterMs: 7_000, isFinal: false });
  });

  test.each([
    [{ kind: 'page', status: 502 } as const, { isPlatformDown: true, isOutcomeUnknown: true }],
    [{ kind: 'refuse', error: new WebError('internal_error') } as const, { isFinal: false }],
    [{ kind: 'cut' } as const, { isPlatformDown: true, isOutcomeUnknown: true }],
  ])('that passes is tried again: %j', async (fault, error) => {
    void platform.fail('chat.postMessage', fault);
    expect(await refused(send('x'))).toMatchObject({ isFinal: false, ...error });
  });
});

describe('after an attempt whose outcome nobody knows', () => {
  const again = { wasTried: true };

  test.each([
    ['in a thread', { place: '', thread: '1.2' }],
    ['in a channel', { place: '' }],
  ])('a message that stands there is not written again, %s', async (_, where) => {
    const target = { ...where, place: channel.id };
    void platform.fail('chat.postMessage', { kind: 'cut', isTaken: true });
    await refused(send('once', { target }));
    const receipt = await send('once', { target }, again);
    expect(platform.saidBy(app, channel)).toMatchObject([{ ts: receipt.id, text: 'once' }]);
  });

  test('a message that does not stand there is written', async () => {
    for (let n = 0; n < 450; n += 1) channel.add({ user: 'U1', text: `${n}`, thread_ts: '1.2' });
    await send('another', {}, { rowId: 'other row' });
    void platform.fail('chat.postMessage', { kind: 'cut' });
    await refused(send('once'));
    await send('once', {}, again);
    expect(texts()).toEqual(['another', 'once']);
    expect(platform.called('conversations.replies')).toHaveLength(3);
  });

  test('it is not written while the platform cannot be asked, and is where the app may not read', async () => {
    void platform.fail('chat.postMessage', { kind: 'cut' });
    await refused(send('once'));
    void platform.fail('conversations.replies', { kind: 'refuse', error: tooMany(3) });
    expect(await refused(send('once', {}, again))).toMatchObject({ isTooSoon: true, retryAfterMs: 3_000 });
    expect(texts()).toEqual([]);
    app.lacks.add('channels:history');
    const { note } = await send('once', {}, again);
    expect(note).toMatch(/^it may stand there twice: .*missing_scope/);
    expect(texts()).toEqual(['once']);
  });

  test('a search goes on where the platform took no more, and finds it', async () => {
    void platform.fail('chat.postMessage', { kind: 'cut', isTaken: true });
    await refused(send('once'));
    for (let n = 0; n < 450; n += 1) channel.add({ user: 'U1', text: `${n}`, thread_ts: '1.2' });
    for (let n = 0; n < 2; n += 1) {
      void platform.fail('conversations.replies', { kind: 'refuse', error: tooMany(1) }, { skip: 1 });
      expect(await refused(send('once', {}, again))).toMatchObject({ isTooSoon: true });
    }
    const receipt = await send('once', {}, again);
    expect(platform.saidBy(app, channel)).toMatchObject([{ ts: receipt.id, text: 'once' }]);
    expect(receipt.note).toBeUndefined();
  });

  test('a search that is refused again and again ends, and the record says the doubt (WSP2)', async () => {
    void platform.fail('chat.postMessage', { kind: 'cut' });
    await refused(send('once'));
    void platform.fail('conversations.replies', { kind: 'refuse', error: tooMany(60) }, { times: 100 });
    for (let n = 0; n < 5; n += 1) {
      now += 60_000;
      expect(await refused(send('once', {}, again))).toMatchObject({ isTooSoon: true });
    }
    now += 60_000;
    // That it is too soon to write, too, is no reason to forget the doubt.
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(1) });
    expect(await refused(send('once', {}, again))).toMatchObject({ isTooSoon: true });
    expect(await send('once', {}, again)).toMatchObject({
      note: expect.stringContaining('may stand there twice'),
    });
    expect(texts()).toEqual(['once']);
    expect(platform.called('conversations.replies')).toHaveLength(6);
  });

  test('nobody is asked where it is known that nothing was written', async () => {
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(1) });
    await refused(send('once'));
    await send('once', {}, again);
    expect(texts()).toEqual(['once']);
    expect(platform.called('conversations.replies')).toEqual([]);
  });
});

test('a conversation of the app can be written to, and no other', async () => {
  const destination = (name: string) => outbound.destination?.(trigger, name);
  expect(await destination('chatworkspace/A1/C123/1771287144.743569')).toEqual({
    place: 'C123',
    thread: '1771287144.743569',
  });
  expect(await destination('chatworkspace/A1/D123')).toEqual({ place: 'D123', thread: undefined });
  for (const name of [
    'chatworkspace/A2/C123',
    'botmessenger/A1/C123',
    'chatworkspace/A1/general',
    'chatworkspace/A1/C1/x',
    'chatworkspace/A1/C1/1.2/3',
  ])
    expect(await destination(name)).toBeUndefined();
});
