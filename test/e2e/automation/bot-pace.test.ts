// Platform rate limits, with the whole program: a rate-limited message is sent later, in order, and no
// attempt is counted.

import { expect, test } from 'vitest';
import { eventually, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, expectBotTexts, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { tooManyRequests } from '../../fixtures/bot-platform/bot-error.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

interface Row {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly deferrals: number;
}

/** Outbox rows in sending order. */
async function rows(gateway: GatewayProcess): Promise<readonly Row[]> {
  const { deliveries } = (await (await fetch(`${gateway.url}/deliveries?limit=100`)).json()) as {
    deliveries: Row[];
  };
  return deliveries.filter(({ id }) => id.startsWith('outbox:')).reverse();
}

test.concurrent('a message survives more 429s than its attempt limit: unlike errors they count no attempt, and the order is kept', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('slow_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent();
  const gateway = await startAutomation({ resources: [botTrigger('bot', platform, bot), echo(program)] });
  platform.faults.plan('getUpdates', { kind: 'error', error: tooManyRequests(1) });
  platform.faults.plan('getUpdates', { kind: 'page', status: 502 });
  platform.faults.plan('getUpdates', { kind: 'cut' });
  platform.faults.plan('sendMessage', { kind: 'error', error: tooManyRequests(1) }, { times: 5 });
  platform.faults.plan('sendMessage', { kind: 'page', status: 502 });
  platform.faults.plan('sendMessage', { kind: 'cut' });
  for (const text of ['one', 'two', 'three']) platform.say(chat, ann, text);
  await expectBotTexts(platform, bot, chat, 'heard: one', 'heard: two', 'heard: three');
  await eventually(async () => {
    const [one, ...others] = await rows(gateway);
    // The trigger has four attempts.
    expect(one).toMatchObject({ state: 'done', attempts: 3 });
    expect(one?.deferrals).toBeGreaterThanOrEqual(5);
    expect(others.map(({ state, attempts }) => [state, attempts])).toEqual([
      ['done', 1],
      ['done', 1],
    ]);
  });
});

test.concurrent('a platform outage uses few attempts, is reported, and all messages are sent afterwards', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('down_bot');
  const people = Array.from({ length: 12 }, (_, i) => platform.person(`P${i}`));
  const chats = people.map((person) => platform.privateChat(person, bot));
  const program = await startAgent();
  const gateway = await startAutomation({ resources: [botTrigger('bot', platform, bot), echo(program)] });
  platform.faults.plan('sendMessage', { kind: 'page', status: 502 }, { times: 1_000 });
  for (const [i, chat] of chats.entries()) platform.say(chat, people[i]!, 'hello');
  await eventually(() => expect(platform.callsOf('sendMessage').length).toBeGreaterThan(6));
  const circuit = async () => {
    const { triggers } = (await (await fetch(`${gateway.url}/triggers`)).json()) as {
      triggers: { state: string; circuit: unknown }[];
    };
    return triggers[0];
  };
  expect(await circuit()).toMatchObject({
    state: 'open',
    circuit: {
      state: expect.stringMatching(/^(open|halfOpen)$/),
      last_error: expect.stringContaining('502'),
    },
  });
  // Otherwise every message would have used four attempts within two seconds.
  expect(platform.callsOf('sendMessage').length).toBeLessThan(24);
  platform.faults.clear();
  for (const chat of chats) await expectBotTexts(platform, bot, chat, 'heard: hello');
  await eventually(async () => expect(await circuit()).toMatchObject({ circuit: null }));
  const times = await eventually(async () => {
    const all = await rows(gateway);
    expect(all.map(({ state }) => state)).toEqual(chats.map(() => 'done'));
    return all;
  });
  expect(times.filter(({ deferrals }) => deferrals > 0).length).toBeGreaterThan(6);
  for (const message of [
    'a platform does not respond; sending to it is suspended',
    'a platform responds again',
  ])
    expect(gateway.logs().filter(({ msg }) => msg === message)).toHaveLength(1);
});

test.concurrent('a long answer gets at most one 429, repeats only the refused part, and delays no other chat', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('long_bot');
  const [ann, ben] = [platform.person('Ann'), platform.person('Ben')];
  const group = platform.group('Team', bot);
  const other = platform.privateChat(ben, bot);
  const words = (n: number) => `${n} `.repeat(2_000);
  const program = await startAgent(({ body }) => ({
    text: body.input === 'long' ? [1, 2, 3, 4, 5].map(words).join('\n\n') : 'short',
  }));
  const gateway = await startAutomation({ resources: [botTrigger('bot', platform, bot), echo(program)] });
  platform.meter.limits = { chatEveryMs: 1_000, groupPerMinute: 20, allPerSecond: 30 };
  platform.say(group, ann, 'long');
  await eventually(() => expect(texts(platform, bot, group)).toHaveLength(1));
  platform.say(other, ben, 'quick');
  await expectBotTexts(platform, bot, other, 'short');
  expect(texts(platform, bot, group).length).toBeLessThan(5);
  const parts = [1, 2, 3, 4, 5].map((n) => words(n).trim());
  await expectBotTexts(platform, bot, group, ...parts);
  expect(platform.meter.refused).toBeLessThanOrEqual(1);
  expect(platform.callsOf('sendMessage', bot)).toHaveLength(6 + platform.meter.refused);
  await eventually(async () =>
    expect((await rows(gateway)).map(({ state, attempts }) => [state, attempts])).toEqual(
      Array.from({ length: 6 }, () => ['done', 1]),
    ),
  );
});
