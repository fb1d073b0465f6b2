// The team chat with the whole program: features of this platform only. Common features: every-chat.test.ts.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decisionActionId } from '../../../actors/events/decision-action.ts';
import { eventually } from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import { seeded } from '../../fixtures/seeded.ts';
import { newActivityId, personalChat, personOf, thread } from '../../fixtures/team-platform/activities.ts';
import { startTeamChat, type TeamChat } from '../../fixtures/team-platform/team-chat.ts';
import { TeamIdentity } from '../../fixtures/team-platform/team-identity.ts';
import { APP_ID, APP_PASSWORD } from '../../fixtures/team-platform/team-platform.ts';

const ada = personOf('Ada');
let team: TeamChat;
let output = '';

beforeAll(async () => {
  team = await startTeamChat(
    async ({ body: { input } }) => {
      if (input === 'slow') await pause(1_500);
      if (input === 'nothing') return {};
      return { text: `heard: ${input}` };
    },
    { approve: { agent: 'desk', description: 'Let it pass' } },
    { services: ['http://127.0.0.1:9'] },
  );
  team.platform.everyMs = 1_000;
});
afterAll(() => team.platform.stop());

const say = (place: Parameters<TeamChat['platform']['activities']['message']>[0], text: string) =>
  team.sender.send(team.platform.activities.message(place, ada, text));
const texts = (place: { readonly id: string }) => team.platform.textsTo(place.id);
const requestsFor = (input: string) => team.agent.requests.filter(({ body }) => body.input === input);

test.concurrent('an invoke activity is acknowledged immediately, and the answer of a quick or slow agent follows as a message', async () => {
  for (const verb of ['approve', 'slow']) {
    const place = personalChat(`invoke ${verb}`);
    const action = { type: 'Action.Execute', verb, data: { request: 'r-77' } };
    const { status, body, tookMs } = await team.sender.send(
      team.platform.activities.invoke(place, ada, action),
    );
    expect([status, body]).toEqual([
      200,
      { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: 'Received.' },
    ]);
    expect(tookMs).toBeLessThan(10_000);
    await eventually(() => expect(texts(place)).toEqual([`heard: ${verb}`]));
    expect(requestsFor(verb)[0]?.body).toMatchObject({ parameters: { request: 'r-77', verb } });
  }
  expect(requestsFor('approve')[0]?.body.command).toMatch(/^\/?approve$/);
  const unknown = team.platform.activities.invoke(personalChat('x'), ada, {}, 'task/fetch');
  expect(await team.sender.send(unknown)).toMatchObject({
    status: 501,
    body: { message: expect.stringContaining('adaptiveCard/action') },
  });
});

test.concurrent('a press of an approval button is acknowledged, and ignored without an open approval', async () => {
  const place = personalChat('decisions');
  const actionId = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'approve');
  const { activities } = team.platform;
  expect(await team.sender.send(activities.submit(place, ada, { actionId }))).toMatchObject({ status: 202 });
  const notice = 'This approval request no longer exists.';
  await eventually(() => expect(texts(place)).toEqual([notice]));
  await say(place, actionId);
  await eventually(() => expect(texts(place)).toEqual([notice, `heard: ${actionId}`]));
  await eventually(async () => {
    const ignored = await team.deliveries('state=ignored&source=teamchat');
    expect(JSON.stringify(ignored)).toContain('unknown approval');
  });
});

test.concurrent('an invoke activity that the agent does not answer is followed by a notice in the conversation', async () => {
  const place = personalChat('silence');
  const action = { type: 'Action.Execute', verb: 'nothing' };
  await team.sender.send(team.platform.activities.invoke(place, ada, action));
  await eventually(() => expect(texts(place)).toHaveLength(1));
});

test.concurrent('a command works in a direct message and in a mention, with or without a slash; reactions of two people are two events', async () => {
  const place = thread('commands');
  const { activities } = team.platform;
  await team.sender.send(activities.message(personalChat('one to one'), ada, '/approve 1'));
  await team.sender.send(activities.mention(place, ada, '/approve 2'));
  await team.sender.send(activities.mention(place, ada, 'approve 3'));
  await eventually(() => {
    const inputs = ['1', '2', '3'].map(
      (n) =>
        team.agent.requests.filter(({ body }) => body.input.endsWith(n) && body.command !== undefined).length,
    );
    expect(inputs).toEqual([1, 1, 1]);
  });
  const about = { id: newActivityId(), reactionsAdded: [{ type: 'like' }] };
  for (const person of [ada, personOf('Eve')])
    expect(await team.sender.send(activities.of('messageReaction', place, person, about))).toMatchObject({
      status: 202,
    });
  const note = expect.stringContaining('no filter');
  await eventually(async () =>
    expect(
      (await team.deliveries('state=ignored&source=teamchat')).filter(({ id }) =>
        id.includes('messageReaction'),
      ),
    ).toMatchObject([{ note }, { note }]),
  );
  const conversations = team.agent.requests.map(({ body }) => body.conversation);
  expect(conversations.filter((each) => each.endsWith(place.id))).toHaveLength(2);
});

test.concurrent('five answers in a conversation limited to one per second arrive in order, and delay no other conversation', async () => {
  const place = personalChat('many');
  for (const n of [1, 2, 3, 4, 5]) await say(place, `m${n}`);
  const other = personalChat('other');
  await say(other, 'quick');
  await eventually(() => expect(texts(other)).toEqual(['heard: quick']));
  expect(texts(place).length).toBeLessThan(5);
  await eventually(() => expect(texts(place)).toEqual([1, 2, 3, 4, 5].map((n) => `heard: m${n}`)));
  const refusals = team.platform.calls.filter(
    ({ status, conversation }) => status === 429 && conversation === place.id,
  );
  expect(refusals.length).toBeLessThanOrEqual(1);
});

test.concurrent('a person who adds the bot is greeted with the commands, once per installation, without calling the agent', async () => {
  const place = thread('new');
  const arrival = team.platform.activities.botAdded(place, ada);
  for (let time = 0; time < 2; time += 1) expect((await team.sender.send(arrival)).status).toBeLessThan(300);
  await eventually(() => expect(texts(place)).toEqual([expect.stringContaining('/approve: Let it pass')]));
  // The later message shows that the greeting was sent once.
  await team.sender.send(team.platform.activities.mention(place, ada, 'thanks'));
  await eventually(() => expect(texts(place)).toEqual([expect.anything(), 'heard: thanks']));
  const requests = team.agent.requests.filter(({ body }) => body.conversation.endsWith(place.id));
  expect(requests).toHaveLength(1);
});

test('a token rejected by the service is renewed once for all messages, and nothing is lost', async () => {
  const { length } = team.platform.tokenRequests;
  team.platform.revokeTokens();
  const places = Array.from({ length: 5 }, (_, n) => personalChat(`token ${n}`));
  await Promise.all(places.map((place) => say(place, 'hi')));
  for (const place of places) await eventually(() => expect(texts(place)).toEqual(['heard: hi']));
  expect(team.platform.tokenRequests.length).toBe(length + 1);
});

test('if the service permanently refuses a token, the note of the unsent message shows the reason without the password', async () => {
  team.platform.revokeTokens();
  const body = { error: 'invalid_client', error_description: `AADSTS7000215: not ${APP_PASSWORD}` };
  team.platform.tokenFaults.push({ status: 401, body });
  const place = personalChat('no token');
  await say(place, 'nothing comes');
  await eventually(async () =>
    expect(await team.deliveries('state=dead')).toMatchObject([
      {
        attempts: 1,
        note: expect.stringMatching(/^no token: 401 .*invalid_client: AADSTS7000215: not (?!the-app)/),
      },
    ]),
  );
});

test('accepted messages are answered once and in order, across refusals, new tokens and keys, and provider outages', async () => {
  const random = seeded(20_261_123);
  const { platform } = team;
  const { identity } = platform;
  const places = Array.from({ length: 12 }, (_, n) => personalChat(`random ${n}`));
  const acceptedByChat = new Map(places.map((place) => [place, [] as string[]]));
  const upTo = (count: number) => Math.floor(random() * count);
  const steps: readonly ((place: (typeof places)[number]) => unknown)[] = [
    ({ id }) => platform.refuse(429, 'TooManyRequests', {}, id),
    ({ id }) => platform.refuse(429, 'TooManyRequests', { retryAfter: '1' }, id),
    ({ id }) => platform.refuse(502, 'BadGateway', {}, id),
    ({ id }) => platform.refuse(412, 'PreconditionFailed', {}, id),
    ({ id }) => {
      platform.fail({ kind: 'cut' }, id);
    },
    () => platform.revokeTokens(),
    () => platform.tokenFaults.push({ status: 503, body: {} }),
    async () => {
      identity.keys = [await TeamIdentity.newKey(`random-${identity.keys.length}`), ...identity.keys];
    },
    () => {
      identity.status = identity.status === undefined ? 500 : undefined;
    },
  ];
  for (let n = 0; n < 50; n += 1) {
    const place = places[upTo(places.length)] as (typeof places)[number];
    if (random() < 0.3) await steps[upTo(steps.length)]?.(place);
    const key = random() < 0.2 ? identity.keys[0] : identity.key;
    const message = platform.activities.message(place, ada, `r${n}`);
    const { status } = await team.sender.send(message, {}, key && { key });
    // A new key is fetched immediately; if the provider is unavailable, the message is rejected.
    expect([202, 503]).toContain(status);
    if (status === 202) acceptedByChat.get(place)?.push(`heard: r${n}`);
  }
  identity.status = undefined;
  const newest = identity.keys[0];
  await eventually(async () => {
    const reaction = platform.activities.of('messageReaction', personalChat('newest key'), ada);
    const { status } = await team.sender.send(reaction, {}, newest && { key: newest });
    expect(status).toBe(202);
  });
  for (const [place, answers] of acceptedByChat)
    await eventually(() => expect(texts(place)).toEqual(answers));
  expect([...acceptedByChat.values()].flat().length).toBeGreaterThan(20);
  await waitUntilIdle(team.gateway);
  for (const [place, answers] of acceptedByChat) expect(texts(place)).toEqual(answers);
});

test('a flood of forged activities is refused in bounded time, causes few provider requests, and delays no message', async () => {
  const stranger = await TeamIdentity.newKey('stranger');
  const { identity, activities } = team.platform;
  const place = personalChat('flooded');
  const forged = activities.message(place, ada, 'forged');
  const form = (n: number) => ({ key: n % 2 === 0 ? stranger : { ...stranger, kid: identity.key.kid } });
  const tokens = await Promise.all(
    Array.from({ length: 50 }, (_, n) => identity.token(team.platform.serviceUrl, { n }, form(n))),
  );
  const { keys } = identity.requestCounts;
  const startedAt = performance.now();
  const flood = Promise.all(
    Array.from({ length: 500 }, async (_, n) => (await team.sender.sendWith(forged, tokens[n % 50])).status),
  );
  await say(place, 'real');
  await eventually(() => expect(texts(place)).toEqual(['heard: real']));
  expect(new Set(await flood)).toEqual(new Set([401]));
  // About 3 ms per request on a loaded machine.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect(identity.requestCounts.keys - keys).toBeLessThanOrEqual(2);
  expect(requestsFor('forged')).toEqual([]);
});

test('after kill -9 a proactive message reaches the conversation, with a token that the new process fetched', async () => {
  const place = thread('later');
  await team.sender.send(team.platform.activities.mention(place, ada, 'where am I?'));
  await eventually(() => expect(texts(place)).toEqual(['heard: where am I?']));
  const { conversation } = requestsFor('where am I?')[0]?.body ?? {};
  expect(conversation).toBe(`teamchat/${APP_ID}/${place.id}`);
  await waitUntilIdle(team.gateway);
  await team.gateway.stop('SIGKILL');
  output += team.gateway.text();
  team = await team.restart();
  const { length } = team.platform.tokens;
  expect((await team.post('/triggers/team/send', { conversation, text: 'news' })).status).toBe(202);
  await eventually(() => expect(texts(place)).toEqual(['heard: where am I?', 'news']));
  expect(team.platform.sentTo(place.id).map(({ repliesTo }) => repliesTo)).toEqual([
    expect.any(String),
    undefined,
  ]);
  expect(team.platform.tokens.length).toBe(length + 1);
  const unknown = `teamchat/${APP_ID}/19:nobody@thread.tacv2`;
  expect((await team.post('/triggers/team/send', { conversation: unknown, text: 'x' })).status).toBe(404);
});

test('a web page of another site cannot send a message through the gateway, by a form or a cross-origin request', async () => {
  const place = personalChat('page');
  await say(place, 'hi');
  await eventually(() => expect(texts(place)).toEqual(['heard: hi']));
  const [known] = requestsFor('hi').filter(({ body }) => body.conversation.includes(place.id.slice(0, 12)));
  const body = JSON.stringify({ conversation: known?.body.conversation, text: 'forged' });
  const post = async (headers: Readonly<Record<string, string>>) =>
    (await fetch(`${team.gateway.url}/triggers/team/send`, { method: 'POST', headers, body })).status;
  // Content types that browsers send without preflight requests.
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    expect(await post({ 'content-type': type })).toBe(400);
  const json = { 'content-type': 'application/json' };
  for (const origin of ['https://evil.example', 'null']) expect(await post({ ...json, origin })).toBe(403);
  expect(await post(json)).toBe(202);
  await eventually(() => expect(texts(place)).toEqual(['heard: hi', 'forged']));
});

test('no secret and no token of either side was in the log or in a record', async () => {
  const ids = (await team.deliveries('')).map(({ id }) => id);
  const records = await Promise.all(ids.map((id) => team.get(`/deliveries/${encodeURIComponent(id)}`)));
  const allTexts =
    output +
    team.gateway.text() +
    JSON.stringify([records, await team.get('/triggers'), team.agent.requests]);
  for (const secret of [APP_PASSWORD, 'the-bot-token-of-the-tests', 'eyJhbGciOi'])
    expect(allTexts).not.toContain(secret);
  expect(records.length).toBeGreaterThan(20);
});

test('an unavailable service does not stop other conversations of the bot', async () => {
  const dead = 'http://127.0.0.1:9/amer/';
  for (let n = 0; n < 8; n += 1) {
    const message = team.platform.activities.message(personalChat(`dead ${n}`), ada, 'lost', {
      serviceUrl: dead,
    });
    expect((await team.sender.send(message)).status).toBe(202);
  }
  const circuit = async () =>
    (await team.get<{ readonly triggers: readonly { readonly circuit: unknown }[] }>('/triggers')).triggers[0]
      ?.circuit;
  await eventually(async () =>
    expect(await circuit()).toMatchObject({ last_error: expect.stringContaining('could not be reached') }),
  );
  for (const name of ['alive 1', 'alive 2']) {
    const place = personalChat(name);
    await say(place, 'hi');
    await eventually(() => expect(texts(place)).toEqual(['heard: hi']));
  }
  // The circuit is still open.
  expect(await circuit()).not.toBeNull();
});
