// The web API of the fake workspace with the client of the platform vendor. Gateway tests rely on this fake.

import { ErrorCode, LogLevel, WebClient } from '@slack/web-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../fixtures/workspace-platform/app.ts';
import type { Channel } from '../fixtures/workspace-platform/channel.ts';
import { tooMany } from '../fixtures/workspace-platform/web-error.ts';
import { WorkspacePlatform } from '../fixtures/workspace-platform/workspace-platform.ts';

let platform: WorkspacePlatform;
let app: App;
let channel: Channel;

beforeEach(async () => {
  platform = await new WorkspacePlatform().start();
  app = platform.addApp();
  channel = platform.addChannel('ops', [app]);
});
afterEach(() => platform.stop());

const ignore = () => {};
const silent = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  setLevel: ignore,
  getLevel: () => LogLevel.ERROR,
  setName: ignore,
};

const clientOf = (token: string, more: object = {}) =>
  new WebClient(token, { slackApiUrl: `${platform.apiRoot}/`, logger: silent, ...more });

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: { readonly data?: unknown }) => error.data,
  );

test('a client of the test workspace gets its identity, and writes, edits and reads messages', async () => {
  const client = clientOf(app.botToken);
  expect(await client.auth.test()).toMatchObject({ user_id: app.user, bot_id: app.bot, team_id: app.team });
  const blocks = [
    { type: 'section', text: { type: 'mrkdwn', text: '*hello*' } },
    {
      type: 'actions',
      elements: [{ type: 'button', action_id: 'a', text: { type: 'plain_text', text: 'A' } }],
    },
  ];
  const metadata = { event_type: 'mine', event_payload: { row: '1' } };
  const { ts = '' } = await client.chat.postMessage({ channel: channel.id, text: 'hello', blocks, metadata });
  await client.chat.postMessage({ channel: channel.id, text: 'below', thread_ts: ts });
  await client.chat.update({ channel: channel.id, ts, text: 'changed', blocks: [] });
  const messages = await client.conversations.replies({
    channel: channel.id,
    ts,
    include_all_metadata: true,
  });
  expect(messages.messages?.map(({ text }) => text)).toEqual(['below', 'changed']);
  expect(messages.messages?.[1]).toMatchObject({ metadata, blocks: [] });
  const history = await client.conversations.history({ channel: channel.id });
  expect(history.messages?.map(({ text }) => text)).toEqual(['changed']);
});

test('the test workspace lists channels in pages, and returns each channel', async () => {
  const names = Array.from({ length: 25 }, (_, n) => `channel-${n}`);
  for (const name of names) platform.addChannel(name, []);
  platform.addChannel('hidden', [], { isPrivate: true });
  const texts: (string | undefined)[] = [];
  for await (const page of clientOf(app.botToken).paginate('conversations.list', { limit: 10 }))
    texts.push(...((page as { channels?: { name?: string }[] }).channels ?? []).map(({ name }) => name));
  expect(texts).toEqual(['ops', ...names]);
  const { channel: said } = await clientOf(app.botToken).conversations.info({ channel: channel.id });
  expect(said).toMatchObject({ id: channel.id, name: 'ops' });
});

test('a client of the test workspace gets the error codes of the real platform', async () => {
  const post = (more: object = {}, token = app.botToken) =>
    errorOf(
      clientOf(token, { retryConfig: { retries: 0 } }).chat.postMessage({
        channel: channel.id,
        text: 'x',
        ...more,
      }),
    );
  expect(await post({}, 'xoxb-none')).toMatchObject({ error: 'invalid_auth' });
  expect(await post({}, app.appToken)).toMatchObject({ error: 'not_allowed_token_type' });
  expect(await post({ channel: 'C0NONE' })).toMatchObject({ error: 'channel_not_found' });
  expect(await post({ text: '' })).toMatchObject({ error: 'no_text' });
  expect(await post({ text: 'x'.repeat(40_001) })).toMatchObject({ error: 'msg_too_long' });
  const header = { type: 'header', text: { type: 'plain_text', text: 'x'.repeat(151) } };
  expect(await post({ blocks: [header] })).toMatchObject({
    error: 'invalid_blocks',
    response_metadata: { messages: ['[ERROR] text must be less than 151 characters [/blocks/0]'] },
  });
  channel.isArchived = true;
  expect(await post()).toMatchObject({ error: 'is_archived' });
  channel.members.clear();
  expect(await post()).toMatchObject({ error: 'not_in_channel' });
});

test('a rate-limited client retries after the requested time and sends once', async () => {
  void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(1) });
  const startedAt = performance.now();
  await clientOf(app.botToken).chat.postMessage({ channel: channel.id, text: 'x' });
  expect(performance.now() - startedAt).toBeGreaterThan(900);
  expect(platform.messagesBy(app, channel)).toHaveLength(1);
  void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(5) });
  const impatient = clientOf(app.botToken, { rejectRateLimitedCalls: true });
  await expect(impatient.chat.postMessage({ channel: channel.id, text: 'x' })).rejects.toMatchObject({
    code: ErrorCode.RateLimitedError,
    retryAfter: 5,
  });
});
