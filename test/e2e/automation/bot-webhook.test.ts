// Messenger bot that receives updates by webhook, with the whole program.

import { expect, test } from 'vitest';
import {
  eventually,
  startAgent,
  startAutomation,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, expectBotTexts, newPlatform } from '../../fixtures/automation/bots.ts';

test('the gateway registers its webhook at the bot platform, and handles an update once, only with the right secret', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('hook_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent();
  const secret_token = 'the_secret-1';
  const config = { mode: 'webhook', secret_token };
  let gateway = await startAutomation({
    resources: [botTrigger('bot', platform, bot, { config }), echo(program)],
  });
  const url = `${gateway.url}/webhook/botmessenger`;
  const post = (body: string, secret?: string) =>
    fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        ...(secret && { 'x-telegram-bot-api-secret-token': secret }),
      },
    });
  const update = { update_id: 5, message: platform.say(chat, ann, 'one') };
  bot.updates.dropAll();
  expect((await post(JSON.stringify(update))).status).toBe(401);
  expect((await post(JSON.stringify(update), 'the_secret-2')).status).toBe(401);
  expect((await post('{', secret_token)).status).toBe(400);
  for (const other of [{}, { update_id: 6 }, { update_id: 7, poll: { id: '1' } }])
    expect((await post(JSON.stringify(other), secret_token)).status).toBe(200);
  expect((await post(JSON.stringify(update), secret_token)).status).toBe(202);
  expect((await post(JSON.stringify(update), secret_token)).status).toBe(200);
  await expectBotTexts(platform, bot, chat, 'heard: one');

  // The gateway registers the webhook address at the platform, which then sends updates.
  const webhookConfig = { ...config, webhook_url: url };
  writeResources(gateway.folder, [
    botTrigger('bot', platform, bot, { config: webhookConfig }),
    echo(program),
  ]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(() => expect(bot.webhook).toMatchObject({ url, secretToken: secret_token }));
  for (const { values } of platform.callsOf('setWebhook', bot))
    expect(values).not.toHaveProperty('drop_pending_updates');
  platform.say(chat, ann, 'two');
  await expectBotTexts(platform, bot, chat, 'heard: one', 'heard: two');
  expect(platform.callsOf('getUpdates', bot)).toEqual([]);

  // The platform reports undelivered updates and redelivers them.
  const oldHost = new URL(url).host;
  await gateway.stop();
  platform.say(chat, ann, 'away');
  await eventually(() => expect(bot.webhookError).toBeDefined());
  gateway = await startAutomation({ folder: gateway.folder });
  const moved = { ...config, webhook_url: `${gateway.url}/webhook/botmessenger` };
  writeResources(gateway.folder, [botTrigger('bot', platform, bot, { config: moved }), echo(program)]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await expectBotTexts(platform, bot, chat, 'heard: one', 'heard: two', 'heard: away');
  const diagnosticsOf = async () => {
    const { remarks } = (await (await fetch(`${gateway.url}/triggers/bot`)).json()) as {
      remarks: { text: string }[];
    };
    return remarks.map(({ text }) => text);
  };
  expect(await diagnosticsOf()).toEqual(
    expect.arrayContaining([
      'the platform could not deliver to the webhook: Connection failed',
      '1 updates were pending at the platform when the bot connected',
      `replaced the webhook, which led to ${oldHost}`,
    ]),
  );
  expect(gateway.logs().find(({ msg }) => msg === 'receiving pending updates')).toMatchObject({ pending: 1 });

  // Back to polling: the webhook is removed, and pending updates are not lost.
  platform.say(chat, ann, 'three');
  writeResources(gateway.folder, [botTrigger('bot', platform, bot), echo(program)]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  platform.say(chat, ann, 'four');
  const all = ['one', 'two', 'away', 'three', 'four'].map((text) => `heard: ${text}`);
  await expectBotTexts(platform, bot, chat, ...all);
  expect(bot.webhook).toBeUndefined();
  await gateway.stop();
  platform.say(chat, ann, 'five');
  platform.say(chat, ann, 'six');
  gateway = await startAutomation({ folder: gateway.folder });
  await expectBotTexts(platform, bot, chat, ...all, 'heard: five', 'heard: six');
  expect(await diagnosticsOf()).toEqual(['2 updates were pending at the platform when the bot connected']);
});
