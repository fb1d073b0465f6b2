// Bot connections to the platform, with the whole program: shared, kept, replaced, interrupted and closed.

import { expect, test } from 'vitest';
import {
  eventually,
  startAgent,
  startAutomation,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, expectBotTexts, newPlatform } from '../../fixtures/automation/bots.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

async function connectionOf(gateway: GatewayProcess, name: string) {
  const at = async (path: string) => (await fetch(`${gateway.url}${path}`)).json();
  const { triggers } = (await at('/triggers')) as { triggers: Record<string, unknown>[] };
  const stats = (await at('/stats')) as { triggers: Record<string, { connection: string }> };
  return { ...triggers.find((each) => each.name === name), inStats: stats.triggers[name]?.connection };
}

test('triggers with the same token share one poll, which continues with a replaced token', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('shared_bot');
  const ann = platform.person('Ann');
  const [chat, group] = [platform.privateChat(ann, bot), platform.group('Team', bot)];
  const program = await startAgent();
  const both = () => [
    botTrigger('one', platform, bot, { config: { chat_ids: [chat.id] } }),
    botTrigger('two', platform, bot, { config: { chat_ids: [group.id] } }),
    echo(program),
  ];
  const gateway = await startAutomation({ resources: both() });
  platform.say(chat, ann, 'a');
  platform.say(group, ann, 'b');
  await expectBotTexts(platform, bot, chat, 'heard: a');
  await expectBotTexts(platform, bot, group, 'heard: b');
  expect(platform.callsOf('getMe', bot)).toHaveLength(1);

  // The owner has created a new token, so the old token is invalid.
  const old = bot.token;
  bot.token = old.replace(/.$/, 'Z');
  bot.updates.repeat();
  const failure = { state: 'failed', last_error: expect.stringContaining('Unauthorized'), inStats: 'failed' };
  await eventually(async () => {
    for (const name of ['one', 'two']) expect(await connectionOf(gateway, name)).toMatchObject(failure);
  });
  platform.say(chat, ann, 'c');
  writeResources(gateway.folder, both());
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await expectBotTexts(platform, bot, chat, 'heard: a', 'heard: c');
  await eventually(async () => {
    for (const name of ['one', 'two'])
      expect(await connectionOf(gateway, name)).toMatchObject({
        state: 'open',
        last_error: null,
        inStats: 'connected',
        connection: { state: 'connected', last_error: null, next_retry_at: null },
      });
  });
  expect(bot.updates.conflicts).toBe(0);
  const { deliveries } = (await (await fetch(`${gateway.url}/deliveries`)).json()) as {
    deliveries: unknown[];
  };
  const texts = [gateway.text(), JSON.stringify(deliveries), JSON.stringify(program.requests)];
  for (const text of texts)
    for (const token of [old, bot.token]) expect(text).not.toContain(token.split(':')[1]);
});

test('an unavailable platform is polled at growing intervals, does not fail the trigger, and then delivers the stored updates', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('away_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent();
  const gateway = await startAutomation({ resources: [botTrigger('bot', platform, bot), echo(program)] });
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
  platform.faults.plan('getUpdates', { kind: 'page', status: 502 }, { times: 1_000 });
  platform.say(chat, ann, 'before');
  await expectBotTexts(platform, bot, chat, 'heard: before');
  const from = performance.now();
  await new Promise((done) => setTimeout(done, 4_000));
  const times = platform.callsOf('getUpdates', bot).flatMap(({ at }) => (at > from - 1_000 ? [at] : []));
  expect(times.length).toBeLessThanOrEqual(14);
  const pauses = times.slice(2).map((at, i) => at - (times[i + 1] ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(100);
  expect(pauses.length).toBeGreaterThan(1);
  expect(pauses.at(-1)).toBeGreaterThan(2 * (pauses[0] ?? 0));
  expect(await connectionOf(gateway, 'bot')).toMatchObject({
    state: 'open',
    last_error: null,
    connection: { last_error: expect.stringContaining('502') },
  });
  platform.say(chat, ann, 'meanwhile');
  platform.faults.clear();
  await expectBotTexts(platform, bot, chat, 'heard: before', 'heard: meanwhile');
});

test('a stop aborts the poll immediately, and the next process polls from the last offset', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('stopped_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent();
  const resources = [botTrigger('bot', platform, bot), echo(program)];
  let gateway = await startAutomation({ resources });
  platform.say(chat, ann, 'one');
  await expectBotTexts(platform, bot, chat, 'heard: one');
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
  const from = performance.now();
  await gateway.stop();
  // A poll would last thirty seconds.
  expect(performance.now() - from).toBeLessThan(10_000);
  await eventually(() => expect(bot.updates.isPolled).toBe(false));
  platform.say(chat, ann, 'two');
  const polls = platform.callsOf('getUpdates', bot).length;
  gateway = await startAutomation({ folder: gateway.folder });
  await expectBotTexts(platform, bot, chat, 'heard: one', 'heard: two');
  expect(platform.callsOf('getUpdates', bot)[polls]?.values.offset).toBeDefined();
  expect(program.requests).toHaveLength(2);
  expect(bot.updates.conflicts).toBe(0);
});
