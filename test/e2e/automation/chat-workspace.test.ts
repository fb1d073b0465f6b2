// A gateway and a workspace chat whose events come by HTTP: what only this platform has. What every chat keeps is in every-chat.test.ts.

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
import { atRest } from '../../fixtures/automation/killed.ts';
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
/** Quick, so that tests are. */
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
  const given = { ...config, api_root: platform.apiRoot };
  const workspace = {
    type: 'ChatWorkspace',
    config: given,
    commands: { '/deploy': { agent: 'desk' } },
    default_agent: 'desk',
    welcome: 'Here I am.',
    retry,
  };
  const byName = {
    ...workspace,
    config: { ...given, channels: ['#by-name'] },
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
const answers = (channel: Channel) => platform.saidBy(app, channel);
const sees = (channel: Channel, ...texts: readonly string[]) =>
  eventually(() => expect(answers(channel).map(({ text }) => text)).toEqual(texts));
const asked = (input: string) => program.requests.filter(({ body }) => body.input === input);

describe.concurrent('in a channel', () => {
  test('a mention is answered in the thread that it begins, and what is said there goes on with it', async () => {
    const channel = platform.addChannel('threads', [app]);
    const { ts } = await mention(channel, 'what a day');
    await sees(channel, 'heard: what a day');
    expect(answers(channel)[0]).toMatchObject({ thread_ts: ts });
    await platform.say(channel, ANN, 'and what a night', { thread_ts: ts });
    await sees(channel, 'heard: what a day', 'heard: and what a night');
    const [first] = asked('what a day');
    const [second] = asked('and what a night');
    expect(asked('what a day')).toHaveLength(1);
    expect(first?.body).toMatchObject({ conversation: `chatworkspace/A0DESK/${channel.id}/${ts}` });
    expect(second?.body.conversation).toBe(first?.body.conversation);
    expect(second?.body.history.map(({ text }) => text)).toEqual(['what a day', 'heard: what a day']);
  });

  test('a slash command is acknowledged with nothing, and a button of its answer goes on in its conversation', async () => {
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
    await sees(channel, 'Sure?', 'heard: approve');
    expect(answers(channel)[1]).toMatchObject({ thread_ts: shown.ts });
    const [pressed] = asked('approve');
    expect(pressed?.body.conversation).toBe(`chatworkspace/A0DESK/${channel.id}`);
    expect(pressed?.body.history.map(({ text }) => text)).toEqual(['prod', 'Sure?']);
    expect(pressed?.body.event.payload).toMatchObject({ type: 'block_actions' });
  });

  test('a press of a button of an approval is acknowledged with nothing, and is no talk where nothing was asked', async () => {
    const channel = platform.addChannel('decisions', [app]);
    const { ts } = await mention(channel, 'hello');
    await sees(channel, 'heard: hello');
    const [shown] = answers(channel);
    const id = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'deny');
    await platform.press(app, channel, ANN, shown!, { type: 'button', action_id: id, block_id: 'b' });
    const told = 'What this asked for is not known any more.';
    await sees(channel, 'heard: hello', told);
    await platform.react(channel, ANN, shown!, 'x');
    await mention(channel, id);
    await sees(channel, 'heard: hello', told, `heard: ${id}`);
    expect(asked(id)).toHaveLength(1);
    const conversation = `conversation/chatworkspace/A0DESK/${channel.id}/${ts}/commands`;
    await eventually(async () => {
      const response = await fetch(`${gateway.url}/deliveries?source=chatworkspace&state=ignored`);
      const { deliveries } = (await response.json()) as { deliveries: { conversation: string }[] };
      const ofChannel = deliveries.filter((each) => each.conversation.includes(channel.id));
      expect(ofChannel).toMatchObject([{ conversation }]);
    });
  });

  test('who brings the bot in is greeted there, and nobody is asked', async () => {
    const channel = platform.addChannel('arrival', [app]);
    const joined = { type: 'member_joined_channel', user: app.user, inviter: ANN };
    await sender.deliver('events_api', callbackPayload(app, channel, joined));
    await sees(channel, 'Here I am.');
    expect(answers(channel)[0]).not.toHaveProperty('thread_ts');
  });

  test('that a trigger knows by name is its own, also when the name cannot be had at once', async () => {
    const channel = platform.addChannel('by-name', [app]);
    const other = platform.addChannel('another', [app]);
    void platform.fail('conversations.info', { kind: 'page', status: 503 }, { channel: channel.id });
    await mention(channel, 'one');
    await sees(channel, 'named: one');
    await mention(channel, 'two');
    await mention(other, 'three');
    await sees(channel, 'named: one', 'named: two');
    await sees(other, 'heard: three');
    expect(platform.called('conversations.info').filter((each) => each.channel === channel.id)).toHaveLength(
      2,
    );
  });

  test('a long answer of which a part was too much arrives whole, once and in order', async () => {
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

test('kill -9 after the platform has taken an answer, and before we knew: it stands there once', async () => {
  const channel = platform.addChannel('killed', [app]);
  await mention(channel, 'before');
  await sees(channel, 'heard: before');
  await atRest(gateway);
  const taken = platform.fail('chat.postMessage', { kind: 'hang', isTaken: true }, { channel: channel.id });
  const said = await mention(channel, 'while it ends');
  await taken;
  await gateway.stop('SIGKILL');
  output += gateway.text();
  await begin();
  await platform.tell(channel, said);
  await mention(channel, 'after');
  await sees(channel, 'heard: before', 'heard: while it ends', 'heard: after');
  await atRest(gateway);
  expect(answers(channel)).toHaveLength(3);
});

test('no credential was in the log, in a record or in a request to the agent', async () => {
  const get = async (path: string) => (await fetch(gateway.url + path)).json();
  const { deliveries } = (await get('/deliveries?limit=1000')) as { deliveries: readonly { id: string }[] };
  const records = await Promise.all(deliveries.map(({ id }) => get(`/deliveries/${encodeURIComponent(id)}`)));
  const shown = output + gateway.text() + JSON.stringify([records, await get('/triggers'), program.requests]);
  const tokens = [app.botToken, app.signingSecret, 'the-verification-token'];
  for (const secret of [...tokens, RESPONSE_SECRET, ACTION_TOKEN]) expect(shown).not.toContain(secret);
  expect(deliveries.length).toBeGreaterThan(10);
});
