// Workspace chat that receives events by HTTP: features of this platform only. Common features:
// every-chat.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../actors/events/decision-action.ts';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import type { Channel, Message } from '../../fixtures/workspace-platform/channel.ts';
import { EventSender } from '../../fixtures/workspace-platform/event-sender.ts';
import {
  ACTION_TOKEN,
  callbackPayload,
  RESPONSE_SECRET,
} from '../../fixtures/workspace-platform/payloads.ts';
import { tooMany } from '../../fixtures/workspace-platform/web-error.ts';
import { WorkspacePlatform } from '../../fixtures/workspace-platform/workspace-platform.ts';

const platform = new WorkspacePlatform();
const app = platform.addApp('A0DESK', 'desk');
const ANN = 'U0ANN';
let gateway: GatewayProcess;
let program: AgentProgram;
let sender: EventSender;
let output = '';

const config = {
  app_id: app.id,
  bot_token: app.botToken,
  signing_secret: app.signingSecret,
};
/** Short, to keep the tests fast. */
const retry = { attempts: 5, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 1 };
const long = Array.from({ length: 400 }, (_, n) => `row ${n} of what has to be read in order`).join('\n');

beforeAll(async () => {
  await platform.start();
  program = await startAgent(({ body: { input, command } }) => {
    if (input === 'long') return { text: long };
    const actions = [{ id: 'approve', title: 'Approve' }];
    if (command === '/deploy' || command === 'deploy') return { text: 'Sure?', data: { actions } };
    return { text: `heard: ${input}` };
  });
  const named = await startAgent(({ body: { input } }) => ({ text: `named: ${input}` }));
  const workspaceConfig = { ...config, api_root: platform.apiRoot };
  const workspace = {
    type: 'ChatWorkspace',
    config: workspaceConfig,
    commands: { '/deploy': { agent: 'desk' } },
    default_agent: 'desk',
    welcome: 'Here I am.',
    retry,
  };
  const byName = {
    ...workspace,
    config: { ...workspaceConfig, channels: ['#by-name'] },
    commands: {},
    default_agent: 'named',
  };
  await begin([
    trigger('workspace', workspace),
    trigger('by-name', byName),
    httpAgent('desk', program.url),
    httpAgent('named', named.url),
  ]);
});
afterAll(() => platform.stop());

async function begin(resources?: Parameters<typeof startAutomation>[0]['resources']): Promise<void> {
  gateway = await startAutomation(resources === undefined ? { folder: gateway.folder } : { resources });
  sender = new EventSender({ url: `${gateway.url}/webhook/chatworkspace`, signingSecret: app.signingSecret });
  app.deliver = sender.deliver;
  await sender.subscribe();
}

const mention = (channel: Channel, text: string): Promise<Message> =>
  platform.say(channel, ANN, `<@${app.user}> ${text}`);
const answers = (channel: Channel) => platform.messagesBy(app, channel);
const expectTexts = (channel: Channel, ...texts: readonly string[]) =>
  eventually(() => expect(answers(channel).map(({ text }) => text)).toEqual(texts));
const requestsFor = (input: string) => program.requests.filter(({ body }) => body.input === input);

describe.concurrent('a workspace chat', () => {
  test('answers a mention in a new thread, which continues the conversation', async () => {
    const channel = platform.addChannel('threads', [app]);
    const { ts } = await mention(channel, 'what a day');
    await expectTexts(channel, 'heard: what a day');
    expect(answers(channel)[0]).toMatchObject({ thread_ts: ts });
    await platform.say(channel, ANN, 'and what a night', { thread_ts: ts });
    await expectTexts(channel, 'heard: what a day', 'heard: and what a night');
    const [first] = requestsFor('what a day');
    const [second] = requestsFor('and what a night');
    expect(requestsFor('what a day')).toHaveLength(1);
    expect(first?.body).toMatchObject({ conversation: `chatworkspace/A0DESK/${channel.id}/${ts}` });
    expect(second?.body.conversation).toBe(first?.body.conversation);
    expect(second?.body.history.map(({ text }) => text)).toEqual(['what a day', 'heard: what a day']);
  });

  test('acknowledges a slash command without content, and a button of the answer continues the conversation', async () => {
    const channel = platform.addChannel('commands', [app]);
    await platform.command(app, channel, ANN, '/deploy', 'prod');
    const [shown] = await eventually(() => {
      expect(answers(channel)).toHaveLength(1);
      return answers(channel);
    });
    if (shown === undefined) expect.unreachable('there is no answer');
    expect(shown).not.toHaveProperty('thread_ts');
    expect(sender.sent.filter(({ kind }) => kind === 'slash_commands')).toEqual(
      expect.arrayContaining([expect.objectContaining({ status: 200, text: '' })]),
    );
    const actions = (shown.blocks ?? []).find(({ type }) => type === 'actions') as
      | { readonly block_id: string; readonly elements: readonly object[] }
      | undefined;
    const button = { ...actions?.elements[0], block_id: actions?.block_id };
    await platform.press(app, channel, ANN, shown, button);
    await expectTexts(channel, 'Sure?', 'heard: approve');
    expect(answers(channel)[1]).toMatchObject({ thread_ts: shown.ts });
    const [pressed] = requestsFor('approve');
    expect(pressed?.body.conversation).toBe(`chatworkspace/A0DESK/${channel.id}`);
    expect(pressed?.body.history.map(({ text }) => text)).toEqual(['prod', 'Sure?']);
    expect(pressed?.body.event.payload).toMatchObject({ type: 'block_actions' });
  });

  test('acknowledges a press of an approval button without content, and ignores it without an open approval', async () => {
    const channel = platform.addChannel('decisions', [app]);
    const { ts } = await mention(channel, 'hello');
    await expectTexts(channel, 'heard: hello');
    const [shown] = answers(channel);
    const id = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'deny');
    await platform.press(app, channel, ANN, shown!, { type: 'button', action_id: id, block_id: 'b' });
    const notice = 'This approval request no longer exists.';
    await expectTexts(channel, 'heard: hello', notice);
    await platform.react(channel, ANN, shown!, 'x');
    await mention(channel, id);
    await expectTexts(channel, 'heard: hello', notice, `heard: ${id}`);
    expect(requestsFor(id)).toHaveLength(1);
    const conversation = `conversation/chatworkspace/A0DESK/${channel.id}/${ts}/commands`;
    await eventually(async () => {
      const response = await fetch(`${gateway.url}/deliveries?source=chatworkspace&state=ignored`);
      const { deliveries } = (await response.json()) as { deliveries: { conversation: string }[] };
      const ofChannel = deliveries.filter((each) => each.conversation.includes(channel.id));
      expect(ofChannel).toMatchObject([{ conversation }]);
    });
  });

  test('sends a welcome when the bot is added, without calling the agent', async () => {
    const channel = platform.addChannel('arrival', [app]);
    const joined = { type: 'member_joined_channel', user: app.user, inviter: ANN };
    await sender.deliver('events_api', callbackPayload(app, channel, joined));
    await expectTexts(channel, 'Here I am.');
    expect(answers(channel)[0]).not.toHaveProperty('thread_ts');
  });

  test('matches a channel by name, also if the platform temporarily fails to return the name', async () => {
    const channel = platform.addChannel('by-name', [app]);
    const other = platform.addChannel('another', [app]);
    void platform.fail('conversations.info', { kind: 'page', status: 503 }, { channel: channel.id });
    await mention(channel, 'one');
    await expectTexts(channel, 'named: one');
    await mention(channel, 'two');
    await mention(other, 'three');
    await expectTexts(channel, 'named: one', 'named: two');
    await expectTexts(other, 'heard: three');
    expect(platform.callsOf('conversations.info').filter((each) => each.channel === channel.id)).toHaveLength(
      2,
    );
  });

  test('sends a long answer whole, once and in order after a rate limit', async () => {
    const channel = platform.addChannel('long', [app]);
    const fitting = { skip: 1, times: 2, channel: channel.id };
    void platform.fail('chat.postMessage', { kind: 'refuse', error: tooMany(1) }, fitting);
    const { ts } = await mention(channel, 'long');
    await eventually(() => {
      const rows = answers(channel).flatMap(({ text }) =>
        [...text.matchAll(/^row (\d+) /gm)].map(([, n]) => Number(n)),
      );
      expect(rows).toEqual(Array.from({ length: 400 }, (_, n) => n));
    });
    for (const { thread_ts, text } of answers(channel)) {
      expect(thread_ts).toBe(ts);
      expect(text.length).toBeLessThanOrEqual(4000);
    }
  });
});

test('shows an answer once if the gateway is killed before it has stored the acknowledgement', async () => {
  const channel = platform.addChannel('killed', [app]);
  await mention(channel, 'before');
  await expectTexts(channel, 'heard: before');
  await waitUntilIdle(gateway);
  const hangingCall = platform.fail(
    'chat.postMessage',
    { kind: 'hang', isTaken: true },
    { channel: channel.id },
  );
  const message = await mention(channel, 'while it ends');
  await hangingCall;
  await gateway.stop('SIGKILL');
  output += gateway.text();
  await begin();
  await platform.sendToApps(channel, message);
  await mention(channel, 'after');
  await expectTexts(channel, 'heard: before', 'heard: while it ends', 'heard: after');
  await waitUntilIdle(gateway);
  expect(answers(channel)).toHaveLength(3);
});

test('leaks no credential into logs, records or agent requests', async () => {
  const get = async (path: string) => (await fetch(gateway.url + path)).json();
  const { deliveries } = (await get('/deliveries?limit=1000')) as { deliveries: readonly { id: string }[] };
  const records = await Promise.all(deliveries.map(({ id }) => get(`/deliveries/${encodeURIComponent(id)}`)));
  const texts = output + gateway.text() + JSON.stringify([records, await get('/triggers'), program.requests]);
  const tokens = [app.botToken, app.signingSecret, 'the-verification-token'];
  for (const secret of [...tokens, RESPONSE_SECRET, ACTION_TOKEN]) expect(texts).not.toContain(secret);
  expect(deliveries.length).toBeGreaterThan(10);
});
