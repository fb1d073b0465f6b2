// Checks the fake community chat with independent clients: one for the API, one for the signatures.

import { DiscordAPIError, HTTPError, RateLimitError, REST } from '@discordjs/rest';
import type {
  RESTPostAPIChannelMessageJSONBody,
  RESTPostAPIChatInputApplicationCommandsJSONBody,
} from 'discord-api-types/v10';
import { Routes } from 'discord-api-types/v10';
import { verifyKey } from 'discord-interactions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommunityPlatform } from '../fixtures/community-platform/community-platform.ts';
import { command } from '../fixtures/community-platform/interactions.ts';

let platform: CommunityPlatform;
let client: REST;

beforeEach(async () => {
  platform = await new CommunityPlatform().start();
  const api = platform.apiRoot.replace(/\/v10$/, '');
  client = new REST({ version: '10', api, retries: 0, timeout: 5_000 }).setToken(platform.world.botToken);
});
afterEach(() => platform.stop());

const refused = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error('expected a refusal')),
    (error: unknown) => error,
  );

test("a client of the fake chat can post, edit and register commands; errors have the vendor's code and error tree", async () => {
  const body: RESTPostAPIChannelMessageJSONBody = {
    content: 'hello',
    embeds: [{ title: 'A title', fields: [{ name: 'n', value: 'v' }] }],
    components: [{ type: 1, components: [{ type: 2, style: 1, label: 'Yes', custom_id: 'yes' }] }],
  };
  const posted = (await client.post(Routes.channelMessages(platform.ops.id), { body })) as { id: string };
  await client.patch(Routes.channelMessage(platform.ops.id, posted.id), { body: { content: 'changed' } });
  expect(platform.visibleMessages()).toMatchObject([
    { id: posted.id, isEdited: true, body: { ...body, content: 'changed' } },
  ]);
  const deploy: RESTPostAPIChatInputApplicationCommandsJSONBody = {
    name: 'deploy',
    description: 'Deploys',
    options: [{ type: 3, name: 'env', description: 'where', required: true }],
  };
  const { applicationId, guild } = platform.world;
  await client.put(Routes.applicationCommands(applicationId), { body: [deploy] });
  await client.put(Routes.applicationGuildCommands(applicationId, guild), { body: [] });
  expect([...platform.world.commands]).toEqual([
    ['', [deploy]],
    [guild, []],
  ]);

  const long = { ...body, embeds: [{ title: 'x'.repeat(257) }] };
  const error = await refused(client.post(Routes.channelMessages(platform.ops.id), { body: long }));
  expect(error).toBeInstanceOf(DiscordAPIError);
  expect(error).toMatchObject({ code: 50035, status: 400 });
  expect((error as Error).message).toContain('embeds[0].title[BASE_TYPE_MAX_LENGTH]: Must be 256 or fewer');
  for (const [call, code] of [
    [client.post(Routes.channelMessages('1'), { body }), 10003],
    [client.patch(Routes.channelMessage(platform.ops.id, '1'), { body }), 10008],
    [client.post(Routes.channelMessages(platform.ops.id), { body: { content: ' ' } }), 50006],
    [client.put(Routes.applicationGuildCommands(applicationId, '1'), { body: [] }), 50001],
    [
      client.put(Routes.applicationCommands(applicationId), { body: [{ ...deploy, name: 'De ploy' }] }),
      50035,
    ],
  ] as const)
    expect(await refused(call)).toMatchObject({ code });
  const stranger = new REST({ version: '10', api: platform.apiRoot.replace(/\/v10$/, '') }).setToken('no');
  expect(await refused(stranger.put(Routes.applicationCommands(applicationId), { body: [] }))).toMatchObject({
    status: 401,
  });
});

test('the fake chat accepts an answer by interaction token only after the acknowledgement, for 15 minutes', async () => {
  const { applicationId } = platform.world;
  const token = 'a-token';
  platform.world.begin(token, platform.ops.id);
  const original = Routes.webhookMessage(applicationId, token);
  const say = (content: string) => ({ body: { content }, auth: false });
  expect(await refused(client.patch(original, say('too soon')))).toMatchObject({ code: 10015 });
  await client.post(Routes.interactionCallback('1', token), { body: { type: 5 }, auth: false });
  expect(
    await refused(client.post(Routes.interactionCallback('1', token), { body: { type: 5 } })),
  ).toMatchObject({
    code: 40060,
  });
  expect([platform.thinkingIn(), platform.textsIn()]).toEqual([1, []]);
  await client.patch(original, say('one'));
  await client.patch(original, say('uno'));
  await client.post(Routes.webhook(applicationId, token), say('two'));
  expect([platform.thinkingIn(), platform.textsIn()]).toEqual([0, ['uno', 'two']]);
  platform.world.advance(15 * 60_000 + 1);
  expect(await refused(client.patch(original, say('late')))).toMatchObject({ code: 50027 });
});

test('rate limit headers of the fake chat throttle a client, and a response 429 delays the client', async () => {
  platform.limits.limits.set('POST /channels/messages', { maxRequests: 2, ms: 300 });
  const post = (content: string) =>
    client.post(Routes.channelMessages(platform.ops.id), { body: { content } });
  for (const text of ['1', '2', '3', '4', '5']) await post(text);
  expect(platform.textsIn()).toEqual(['1', '2', '3', '4', '5']);
  // The client learns the limit from the first response.
  expect(platform.calls.filter(({ status }) => status === 429)).toEqual([]);
  platform.fail({ kind: 'too many', seconds: 0.2, scope: 'shared' });
  await post('6');
  expect(platform.calls.filter(({ status }) => status === 429)).toHaveLength(1);
  const strict = new REST({
    version: '10',
    api: platform.apiRoot.replace(/\/v10$/, ''),
    rejectOnRateLimit: () => true,
  }).setToken(platform.world.botToken);
  platform.fail({ kind: 'too many', seconds: 0.2, scope: 'global' });
  const error = await refused(
    strict.post(Routes.channelMessages(platform.ops.id), { body: { content: '7' } }),
  );
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error).toMatchObject({ global: true, scope: 'global' });
  platform.fail({ kind: 'html', status: 502 });
  expect(await refused(post('8'))).toBeInstanceOf(HTTPError);
});

test("the vendor's library accepts signatures of the fake chat, and refuses changed data", async () => {
  const body = JSON.stringify(command('deploy', { env: 'prod' }));
  const headers = platform.signed(body);
  const { 'x-signature-ed25519': signature = '', 'x-signature-timestamp': time = '' } = headers;
  expect(await verifyKey(body, signature, time, platform.publicKey)).toBe(true);
  expect(await verifyKey(`${body} `, signature, time, platform.publicKey)).toBe(false);
  expect(await verifyKey(body, signature, `${time}1`, platform.publicKey)).toBe(false);
});
