// Outbound messages of a workspace bot, with the fake platform over real HTTP: receipts, edits, refusals, and
// the search for an earlier message before a retry.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../../../../actors/events/outbox/outbound.ts';
import { WorkspaceAccounts } from '../../../../../actors/platforms/chatworkspace/account.ts';
import { workspaceOutbound } from '../../../../../actors/platforms/chatworkspace/outbound.ts';
import { workspacePacing } from '../../../../../actors/platforms/chatworkspace/pacing.ts';
import { ResponseAddresses } from '../../../../../actors/platforms/chatworkspace/response-addresses.ts';
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
let responses: ResponseAddresses;
/** Clock of the pacing, in milliseconds. */
let now = 0;

beforeEach(async () => {
  platform = await new WorkspacePlatform().start();
  app = platform.addApp('A1');
  channel = platform.addChannel('ops', [app]);
  const { botToken: bot_token, signingSecret: signing_secret } = app;
  trigger = chatWorkspaceTrigger('t', { bot_token, signing_secret, api_root: platform.apiRoot });
  const services = adapterServices();
  const accounts = new WorkspaceAccounts(services);
  responses = new ResponseAddresses(services.store);
  outbound = workspaceOutbound({
    pacing: workspacePacing(() => now),
    apiOf: (each) => accounts.botOf(each).api,
    accountOf: (each) => accounts.of(each).name,
    credentialNameOf: accounts.digestOf,
    responses,
  });
});
afterEach(() => platform.stop());

const context = (more: Partial<SendContext> = {}): SendContext => ({
  signal: AbortSignal.timeout(10_000),
  rowId: 'row',
  createdAt: Date.now(),
  wasTried: false,
  receiptOf: async () => undefined,
  ...more,
});

function send(text: string, more: Partial<OutboundMessage> = {}, overrides: Partial<SendContext> = {}) {
  now += 10_000;
  const message: OutboundMessage = {
    target: { place: channel.id, thread: '1.2' },
    action: { do: 'post' },
    text,
    ...more,
  };
  const [rendered] = outbound.render(trigger, message);
  // The store returns rows as JSON.
  return outbound.send(trigger, JSON.parse(JSON.stringify(rendered)) as object, context(overrides));
}

const refusalOf = (sending: Promise<unknown>): Promise<DeliveryError> =>
  sending.then(
    () => Promise.reject(new Error('the request succeeded')),
    (error: DeliveryError) => error,
  );
const texts = () => platform.messagesBy(app, channel).map(({ text }) => text);

test('a message is posted in its thread without link previews, and returns the platform’s id', async () => {
  const receipt = await send('hello');
  const [message] = platform.messagesBy(app, channel);
  expect(message).toMatchObject({ ts: receipt.id, thread_ts: '1.2', text: 'hello' });
  const [{ values } = { values: {} }] = platform.callsOf('chat.postMessage');
  expect(values).toMatchObject({ unfurl_links: 'false', unfurl_media: 'false' });
});

describe('an edit', () => {
  const edit = { action: { do: 'edit', of: 'draft' } } as const;
  const withReceipt = (receipt: SendReceipt | undefined) => ({ receiptOf: async () => receipt });

  test('changes the text and the blocks of the message', async () => {
    const receipt = await send('draft', { card: { title: 'T' } });
    await send('the answer', edit, withReceipt(receipt));
    expect(platform.messagesBy(app, channel)).toMatchObject([
      { ts: receipt.id, text: 'the answer', blocks: [], edited: {} },
    ]);
  });

  test('is posted as a new message if there is no earlier message', async () => {
    await send('the answer', edit, withReceipt(undefined));
    expect(texts()).toEqual(['the answer']);
  });

  test('reports a missing message', async () => {
    expect(await refusalOf(send('the answer', edit, withReceipt({ id: '9.9' })))).toMatchObject({
      isTargetMissing: true,
      platformCode: 'message_not_found',
    });
  });
});

describe('an answer to a command from a channel that lacks the bot', () => {
  let server: Server;
  const requests: { readonly url: string; readonly body: object }[] = [];
  let status = 200;

  beforeEach(async () => {
    requests.length = 0;
    status = 200;
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      requests.push({ url: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString()) });
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(status === 200 ? 'ok' : '{"ok":false,"error":"expired_url"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const response_url = `http://127.0.0.1:${port}/commands/T1/secret-part`;
    await responses.save('A1', 'command/1', { response_url });
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const target = () => ({ place: channel.id, repliesTo: 'command/1' });
  const refusePosts = (code = 'not_in_channel') =>
    void platform.fail('chat.postMessage', { kind: 'refuse', error: new WebError(code) }, { times: 100 });

  test.each(['not_in_channel', 'channel_not_found'])(
    'is sent to the response address after %s',
    async (code) => {
      refusePosts(code);
      expect(await send('done', { target: target() })).toMatchObject({
        id: '',
        note: expect.stringContaining('privately'),
      });
      expect(requests).toMatchObject([
        { url: '/commands/T1/secret-part', body: { text: 'done', response_type: 'ephemeral' } },
      ]);
      expect(requests[0]?.body).not.toHaveProperty('channel');
    },
  );

  test('is not sent there if the platform accepts messages, or refuses them for other reasons', async () => {
    await send('done', { target: target() });
    refusePosts('is_archived');
    await refusalOf(send('again', { target: target() }));
    expect([texts(), requests]).toEqual([['done'], []]);
  });

  test('has no preview, and the answer is sent once', async () => {
    refusePosts();
    const preview = await send('so far', { target: target(), isPreview: true });
    const edit = { target: target(), action: { do: 'edit', of: 'draft' } } as const;
    const withPreview = { receiptOf: async () => preview };
    await send('further', { ...edit, isPreview: true }, withPreview);
    expect(requests).toEqual([]);
    await send('all', edit, withPreview);
    expect(requests).toMatchObject([{ body: { text: 'all' } }]);
  });

  test('is refused with a reason for unknown and expired addresses, and shows no address', async () => {
    refusePosts();
    const unknown = { place: channel.id, repliesTo: 'command/2' };
    expect((await refusalOf(send('done', { target: unknown }))).message).toContain('not_in_channel');
    status = 404;
    const { message, isFinal } = await refusalOf(send('done', { target: target() }));
    expect([message, isFinal]).toEqual([expect.stringContaining('expired_url'), true]);
    expect(message).not.toContain('secret-part');
  });
});

describe('a refused message', () => {
  test.each([
    'channel_not_found',
    'not_in_channel',
    'is_archived',
    'invalid_auth',
    'token_revoked',
    'msg_too_long',
    'a_word_of_tomorrow',
  ])('with code %s is a permanent failure, and the code is in the note', async (code) => {
    void platform.fail('chat.postMessage', { kind: 'refuse', error: new WebError(code) });
    const error = await refusalOf(send('x'));
    expect(error).toMatchObject({ isFinal: true, platformCode: code });
    expect(error.message).toContain(code);
  });

  test('reports the missing scope', async () => {
    const error = new WebError('missing_scope', { needed: 'chat:write.public', provided: 'chat:write' });
    void platform.fail('chat.postMessage', { kind: 'refuse', error });
    expect((await refusalOf(send('x'))).message).toContain('needs chat:write.public');
  });

  test('reports the pause of a rate limit', async () => {
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(7) });
    expect(await refusalOf(send('x'))).toMatchObject({
      isRateLimited: true,
      retryAfterMs: 7_000,
      isFinal: false,
    });
  });

  test.each([
    [{ kind: 'page', status: 502 } as const, { isPlatformDown: true, isOutcomeUnknown: true }],
    [{ kind: 'refuse', error: new WebError('internal_error') } as const, { isFinal: false }],
    [{ kind: 'cut' } as const, { isPlatformDown: true, isOutcomeUnknown: true }],
  ])('with a temporary failure is retried: %j', async (fault, error) => {
    void platform.fail('chat.postMessage', fault);
    expect(await refusalOf(send('x'))).toMatchObject({ isFinal: false, ...error });
  });
});

describe('after an attempt with unknown outcome', () => {
  const retryContext = { wasTried: true };

  test.each([
    ['in a thread', { place: '', thread: '1.2' }],
    ['in a channel', { place: '' }],
  ])('a message that was posted is not posted again, %s', async (_, where) => {
    const target = { ...where, place: channel.id };
    void platform.fail('chat.postMessage', { kind: 'cut', isTaken: true });
    await refusalOf(send('once', { target }));
    const receipt = await send('once', { target }, retryContext);
    expect(platform.messagesBy(app, channel)).toMatchObject([{ ts: receipt.id, text: 'once' }]);
  });

  test('a message that was not posted is posted', async () => {
    for (let n = 0; n < 450; n += 1) channel.add({ user: 'U1', text: `${n}`, thread_ts: '1.2' });
    await send('another', {}, { rowId: 'other row' });
    void platform.fail('chat.postMessage', { kind: 'cut' });
    await refusalOf(send('once'));
    await send('once', {}, retryContext);
    expect(texts()).toEqual(['another', 'once']);
    expect(platform.callsOf('conversations.replies')).toHaveLength(3);
  });

  test('the message is not posted while the search fails, but is posted if the app may not read the channel', async () => {
    void platform.fail('chat.postMessage', { kind: 'cut' });
    await refusalOf(send('once'));
    void platform.fail('conversations.replies', { kind: 'refuse', error: tooMany(3) });
    expect(await refusalOf(send('once', {}, retryContext))).toMatchObject({
      isRateLimited: true,
      retryAfterMs: 3_000,
    });
    expect(texts()).toEqual([]);
    app.lacks.add('channels:history');
    const { note } = await send('once', {}, retryContext);
    expect(note).toMatch(/^possible duplicate: .*missing_scope/);
    expect(texts()).toEqual(['once']);
  });

  test('a search continues after a rate limit and finds the message', async () => {
    void platform.fail('chat.postMessage', { kind: 'cut', isTaken: true });
    await refusalOf(send('once'));
    for (let n = 0; n < 450; n += 1) channel.add({ user: 'U1', text: `${n}`, thread_ts: '1.2' });
    for (let n = 0; n < 2; n += 1) {
      void platform.fail('conversations.replies', { kind: 'refuse', error: tooMany(1) }, { skip: 1 });
      expect(await refusalOf(send('once', {}, retryContext))).toMatchObject({ isRateLimited: true });
    }
    const receipt = await send('once', {}, retryContext);
    expect(platform.messagesBy(app, channel)).toMatchObject([{ ts: receipt.id, text: 'once' }]);
    expect(receipt.note).toBeUndefined();
  });

  test('a search that stays rate limited ends, and the record mentions the possible duplicate', async () => {
    void platform.fail('chat.postMessage', { kind: 'cut' });
    await refusalOf(send('once'));
    void platform.fail('conversations.replies', { kind: 'refuse', error: tooMany(60) }, { times: 100 });
    for (let n = 0; n < 5; n += 1) {
      now += 60_000;
      expect(await refusalOf(send('once', {}, retryContext))).toMatchObject({ isRateLimited: true });
    }
    now += 60_000;
    // After a rate limit the outcome of the earlier attempt is still unknown.
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(1) });
    expect(await refusalOf(send('once', {}, retryContext))).toMatchObject({ isRateLimited: true });
    expect(await send('once', {}, retryContext)).toMatchObject({
      note: expect.stringContaining('possible duplicate'),
    });
    expect(texts()).toEqual(['once']);
    expect(platform.callsOf('conversations.replies')).toHaveLength(6);
  });

  test('no search is made if the first attempt was certainly refused', async () => {
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(1) });
    await refusalOf(send('once'));
    await send('once', {}, retryContext);
    expect(texts()).toEqual(['once']);
    expect(platform.callsOf('conversations.replies')).toEqual([]);
  });
});

test('the destination of a proactive message must be a conversation of the app', async () => {
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
