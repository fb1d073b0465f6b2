// Three gateways on the same database answer in the same chats: order and rate are the same as with a single
// gateway, also after the sending gateway is killed.

import { expect, test } from 'vitest';
import { eventually, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const CHATS = 3;
/**
 * A chat accepts only ten messages within five seconds. Without coordination each gateway would send a burst
 * of five.
 */
const EACH = 11;

async function sentBy(gateway: GatewayProcess): Promise<number> {
  const { outbox } = (await (await fetch(`${gateway.url}/stats`)).json()) as { outbox: { handled: number } };
  return outbox.handled;
}

test('clustered gateways together keep the rate limit and message order of a platform, also after one is killed', async () => {
  const platform = await newPlatform();
  platform.meter.limits = { chatEveryMs: 490, chatBurst: 10, allPerSecond: 30 };
  const bot = platform.addBot('paced_bot');
  const people = Array.from({ length: CHATS }, (_, n) => platform.person(`P${n}`));
  const chats = people.map((person) => platform.privateChat(person, bot));
  const program = await startAgent();
  const url = await newDatabase();
  const resources = [botTrigger('bot', platform, bot), echo(program)];
  const start = (name: string) =>
    startAutomation({ resources, settings: { store: { postgres: { url } }, node: { name } } });
  const started = await Promise.all(['a', 'b', 'c'].map(start));
  let gateways: readonly GatewayProcess[] = started;
  await eventually(() => expect(bot.updates.isPolled).toBe(true));
  const all: string[][] = chats.map(() => []);
  const say = (round: number) => {
    for (let n = 0; n < EACH; n += 1)
      for (const [at, chat] of chats.entries()) {
        const person = people[at];
        if (person === undefined) continue;
        platform.say(chat, person, `${round}.${n}`);
        all[at]?.push(`heard: ${round}.${n}`);
      }
  };
  /** If a busy machine separated a gateway from the database, a message in transit may appear twice. */
  const wasCutOff = () => started.some((each) => each.text().includes('database was unavailable too long'));
  const messagesIn = (chat: (typeof chats)[number]) => {
    const messages = texts(platform, bot, chat);
    return wasCutOff() ? messages.filter((text, at) => text !== messages[at - 1]) : messages;
  };
  const expectAllMessages = () => eventually(() => expect(chats.map(messagesIn)).toEqual(all), 60_000);
  say(1);
  await expectAllMessages();
  if (!wasCutOff()) expect(platform.meter.refused).toBe(0);
  const counts = await Promise.all(gateways.map(sentBy));
  if (!wasCutOff()) expect(counts.filter((count) => count > 0)).toHaveLength(1);
  const rest = async () => {
    const path = '/deliveries?state=queued,running,retrying';
    for (const { url: at } of gateways)
      expect(await (await fetch(`${at}${path}`)).json()).toMatchObject({ deliveries: [] });
  };
  await eventually(rest);

  const sender = gateways[counts.findIndex((count) => count > 0)];
  gateways = gateways.filter((gateway) => gateway !== sender);
  await sender?.stop('SIGKILL');
  say(2);
  await expectAllMessages();
  await Promise.all(gateways.map((gateway) => gateway.stop()));
});
