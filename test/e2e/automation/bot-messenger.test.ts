// Messenger bots on a fake platform, with the whole program: messages are answered once, in the same chat,
// despite failures.

import { expect, test } from 'vitest';
import { decisionActionId } from '../../../actors/events/decision-action.ts';
import {
  eventually,
  startAgent,
  startAutomation,
  type trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, expectBotTexts, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { expectOneKeyPerInput, expectSentOnce, waitUntilIdle } from '../../fixtures/automation/killed.ts';
import { BotError } from '../../fixtures/bot-platform/bot-error.ts';
import { buttonsOf } from '../../fixtures/bot-platform/methods-message.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

async function triggerRecord(gateway: GatewayProcess, name: string): Promise<Record<string, unknown>> {
  const { triggers } = (await (await fetch(`${gateway.url}/triggers`)).json()) as {
    triggers: Record<string, unknown>[];
  };
  const listedTrigger = triggers.find((each) => each.name === name);
  if (listedTrigger === undefined) throw new Error(`there is no trigger ${name}`);
  return listedTrigger;
}

test('messages, commands, groups, topics and buttons are answered in the chat of origin', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('Ops_bot');
  const ann = platform.person('Ann', 'ann');
  const chat = platform.privateChat(ann, bot);
  const group = platform.supergroup('Team', bot);
  const forum = platform.forum('Forum', bot);
  const topic = forum.addTopic();
  const program = await startAgent(async ({ body }) => {
    if (body.input === 'hello')
      await eventually(() => expect(platform.callsOf('sendChatAction', bot)).not.toEqual([]));
    return {
      text: `${body.command ?? 'none'} ${JSON.stringify(body.parameters)} ${body.input}`,
      ...(body.input === 'ask' && { data: { actions: [{ id: 'deploy prod', title: 'Deploy' }] } }),
    };
  });
  const commands = {
    deploy: { agent: 'echo', description: 'Ship it', parameters: [{ name: 'env', required: true }] },
  };
  const gateway = await startAutomation({
    resources: [botTrigger('bot', platform, bot, { commands }), echo(program)],
  });
  await eventually(() => expect(bot.menu).toEqual([{ command: 'deploy', description: 'Ship it' }]));

  platform.say(chat, ann, 'hello');
  platform.say(chat, ann, '/deploy staging');
  platform.say(chat, ann, 'deploy prod');
  await expectBotTexts(
    platform,
    bot,
    chat,
    'none {} hello',
    'deploy {"env":"staging"} /deploy staging',
    'deploy {"env":"prod"} deploy prod',
  );
  expect(platform.messagesBy(bot, chat)[0]?.reply_to_message).toBeUndefined();

  platform.say(group, ann, '/deploy@another_bot prod');
  const command = platform.say(group, ann, '/deploy@ops_bot', { thread: 4 });
  await eventually(() => expect(texts(platform, bot, group)[0]).toContain('A parameter is missing:'));
  expect(platform.messagesBy(bot, group)[0]?.reply_to_message?.message_id).toBe(command.message_id);

  platform.say(forum, ann, 'ask', { thread: topic });
  await expectBotTexts(platform, bot, forum, 'none {} ask');
  const [answer] = platform.messagesBy(bot, forum);
  expect(answer).toMatchObject({ message_thread_id: topic });
  expect(buttonsOf(answer!)).toEqual([{ text: 'Deploy', callback_data: 'deploy prod' }]);
  const query = platform.press(bot, ann, answer!, 'deploy prod');
  await eventually(() => expect(bot.queries.get(query)?.answeredAt).toBeDefined());
  await expectBotTexts(platform, bot, forum, 'none {} ask', 'deploy {"env":"prod"} deploy prod');

  // No approval is open: a press on an approval button is no message, but a text that looks like one is.
  const approve = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'approve');
  const pressed = platform.press(bot, ann, answer!, approve);
  await eventually(() => expect(bot.queries.get(pressed)?.answer).toContain('no longer exists.'));
  platform.say(group, ann, approve);
  await eventually(() => expect(texts(platform, bot, group)[1]).toBe(`none {} ${approve}`));
  expect(texts(platform, bot, forum).length).toBe(2);

  const account = `${bot.id}@${new URL(platform.url).host}`;
  const conversations = program.requests.map(({ body }) => body.conversation);
  expect(new Set(conversations)).toEqual(
    new Set(
      [`${chat.id}`, `${group.id}`, `${forum.id}/${topic}`].map(
        (place) => `botmessenger/${account}/${place}`,
      ),
    ),
  );
  const { deliveries } = (await (await fetch(`${gateway.url}/deliveries?source=botmessenger`)).json()) as {
    deliveries: { id: string; conversation: string; state: string }[];
  };
  expect(deliveries.filter(({ id }) => id.startsWith('botmessenger:')).length).toBe(8);
  const decision = `conversation/botmessenger/${account}/${forum.id}/${topic}/commands`;
  expect(deliveries.filter(({ conversation }) => conversation === decision)).toMatchObject([
    { state: 'ignored' },
  ]);
  expect(gateway.text()).not.toContain(bot.token.split(':')[1]);
});

test('a reload keeps the bot polling and updates its command menu, even if another trigger of the bot is added', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('one_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const group = platform.group('Team', bot);
  const program = await startAgent(({ body }) => ({ text: `${body.command}` }));
  const commandFor = (command: string) =>
    botTrigger('one', platform, bot, {
      commands: { [command]: { agent: 'echo' } },
      config: { chat_ids: [chat.id] },
    });
  const two = botTrigger('two', platform, bot, {
    commands: { two: { agent: 'echo' } },
    config: { chat_ids: [group.id] },
  });
  const gateway = await startAutomation({ resources: [commandFor('a'), echo(program)] });
  await eventually(() => expect(bot.menu.map(({ command }) => command)).toEqual(['a']));
  const reload = async (...triggers: ReturnType<typeof trigger>[]) => {
    writeResources(gateway.folder, [...triggers, echo(program)]);
    expect((await fetch(`${gateway.url}/admin/reload`, { method: 'POST' })).status).toBe(200);
  };
  for (const command of ['b', 'c', 'd']) await reload(commandFor(command), two);
  await eventually(() => expect(bot.menu.map(({ command }) => command)).toEqual(['d', 'two']));
  platform.say(chat, ann, '/d');
  platform.say(group, ann, '/two');
  await expectBotTexts(platform, bot, chat, 'd');
  await expectBotTexts(platform, bot, group, 'two');
  await reload(two);
  await eventually(() => expect(bot.menu.map(({ command }) => command)).toEqual(['two']));
  platform.say(group, ann, '/two');
  await expectBotTexts(platform, bot, group, 'two', 'two');
  expect(bot.updates.conflicts).toBe(0);
});

test('a rejected token and a bot polled by another program are reported and recover by themselves', async () => {
  const platform = await newPlatform();
  const [revoked, taken] = [platform.addBot('revoked_bot'), platform.addBot('taken_bot')];
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, revoked);
  revoked.isRevoked = true;
  const conflict = new BotError(409, 'Conflict: terminated by other getUpdates request');
  platform.faults.plan('getUpdates', { kind: 'error', error: conflict }, { times: 2, botId: taken.id });
  const program = await startAgent();
  const gateway = await startAutomation({
    resources: [
      botTrigger('revoked', platform, revoked),
      botTrigger('taken', platform, taken),
      echo(program),
    ],
  });
  await eventually(async () => {
    expect(await triggerRecord(gateway, 'revoked')).toMatchObject({
      state: 'failed',
      last_error: expect.stringContaining('Unauthorized'),
    });
    expect(await triggerRecord(gateway, 'taken')).toMatchObject({
      state: 'failed',
      last_error: expect.stringContaining('terminated by other getUpdates'),
    });
  });
  revoked.isRevoked = false;
  platform.say(chat, ann, 'hello');
  await expectBotTexts(platform, revoked, chat, 'heard: hello');
  await eventually(async () => {
    for (const name of ['revoked', 'taken'])
      expect(await triggerRecord(gateway, name)).toMatchObject({ state: 'open', last_error: null });
  });
  expect(gateway.text()).not.toContain(revoked.token.split(':')[1]);
});

test('a platform that hangs delays no other platform, and the bot continues afterwards', async () => {
  const [hung, good] = [await newPlatform(), await newPlatform()];
  const [a, b] = [hung.addBot('a_bot'), good.addBot('b_bot')];
  const ann = good.person('Ann');
  const hungChat = hung.privateChat(ann, a);
  const goodChat = good.privateChat(ann, b);
  const program = await startAgent();
  await startAutomation({
    resources: [botTrigger('hung', hung, a), botTrigger('good', good, b), echo(program)],
  });
  await eventually(() => expect(a.updates.isPolled && b.updates.isPolled).toBe(true));
  hung.faults.plan('sendMessage', { kind: 'hang' }, { times: 1 });
  hung.say(hungChat, ann, 'one');
  await eventually(() => expect(hung.callsOf('sendMessage', a)).toHaveLength(1));
  for (let i = 0; i < 4; i += 1) good.say(goodChat, ann, `${i}`);
  await expectBotTexts(good, b, goodChat, 'heard: 0', 'heard: 1', 'heard: 2', 'heard: 3');
  expect(texts(hung, a, hungChat)).toEqual([]);
  hung.cutHung();
  await expectBotTexts(hung, a, hungChat, 'heard: one');
});

test('a group that becomes a supergroup keeps the conversation, and still matches the chat id in the file', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('growing_bot');
  const ann = platform.person('Ann');
  const group = platform.group('Team', bot);
  const program = await startAgent(({ body }) => ({ text: `${body.history.length} before ${body.input}` }));
  const resources = [botTrigger('bot', platform, bot, { config: { chat_ids: [group.id] } }), echo(program)];
  let gateway = await startAutomation({ resources });
  platform.say(group, ann, 'one');
  await expectBotTexts(platform, bot, group, '0 before one');
  const large = platform.migrate(group, 'Large team');
  platform.say(large, ann, 'two');
  await expectBotTexts(platform, bot, large, '2 before two');
  expect(gateway.logs().find(({ msg }) => msg.includes('replace it with the new one'))).toMatchObject({
    from: String(group.id),
    to: String(large.id),
    triggers: ['bot'],
  });
  await gateway.stop();
  gateway = await startAutomation({ folder: gateway.folder });
  platform.say(large, ann, 'three');
  await expectBotTexts(platform, bot, large, '2 before two', '4 before three');
});

test('kill -9 before, during or after a poll loses no update, and each request and answer keeps its idempotency key', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('killed_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent();
  const resources = [botTrigger('bot', platform, bot), echo(program)];
  let gateway = await startAutomation({ resources });
  const killAfter = async (text: string, step: () => Promise<unknown>) => {
    await waitUntilIdle(gateway);
    await eventually(() => expect(bot.updates.isPolled).toBe(true));
    const stepped = step();
    platform.say(chat, ann, text);
    await stepped;
    await gateway.stop('SIGKILL');
    gateway = await startAutomation({ folder: gateway.folder });
  };
  const expectAnswer = (text: string) =>
    eventually(() => expect(texts(platform, bot, chat)).toContain(`heard: ${text}`));

  await killAfter('as it came', () => platform.waitForResponse('getUpdates'));
  await expectAnswer('as it came');
  await killAfter('when its answer had left', () => platform.waitForResponse('sendMessage'));
  await expectAnswer('when its answer had left');
  await killAfter('unconfirmed', () => {
    // The poll that would confirm the update does not arrive.
    platform.faults.plan('getUpdates', { kind: 'hang' });
    return expectAnswer('unconfirmed');
  });
  platform.say(chat, ann, 'last');
  await expectAnswer('last');
  await eventually(() => expect(bot.updates.pending).toEqual([]));

  const answers = [...expectOneKeyPerInput(program).keys()].map((text) => `heard: ${text}`);
  expect(answers).toHaveLength(4);
  // It is unknown whether these were delivered.
  const uncertain = ['heard: when its answer had left', 'heard: unconfirmed'];
  expectSentOnce(texts(platform, bot, chat), answers, uncertain);
});
