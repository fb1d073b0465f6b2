// A bot of a messenger whose platform sends its updates, with the whole program.

import { expect, test } from 'vitest';
import {
  eventually,
  startAgent,
  startAutomation,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, newPlatform, says } from '../../fixtures/automation/bots.ts';

test('by webhook only what has the secret is taken, each update once, and the platform is told where to send', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('hook_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent();
  const secret_token = 'the_secret-1';
  const config = { mode: 'webhook', secret_token };
  const gateway = await startAutomation({
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
  await says(platform, bot, chat, 'heard: one');

  // With the address the platform is told, and sends itself.
  const told = { ...config, webhook_url: url };
  writeResources(gateway.folder, [botTrigger('bot', platform, bot, { config: told }), echo(program)]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(() => expect(bot.webhook).toMatchObject({ url, secretToken: secret_token }));
  for (const { values } of platform.called('setWebhook', bot))
    expect(values).not.toHaveProperty('drop_pending_updates');
  platform.say(chat, ann, 'two');
  await says(platform, bot, chat, 'heard: one', 'heard: two');
  expect(platform.called('getUpdates', bot)).toEqual([]);

  // By polls again: the webhook is taken away, and what waits for it is not lost.
  platform.say(chat, ann, 'three');
  writeResources(gateway.folder, [botTrigger('bot', platform, bot), echo(program)]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  platform.say(chat, ann, 'four');
  await says(platform, bot, chat, 'heard: one', 'heard: two', 'heard: three', 'heard: four');
  expect(bot.webhook).toBeUndefined();
});
