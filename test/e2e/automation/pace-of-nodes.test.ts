// Three gateways on one database that answer in the same chats: order and pace are those of one, also when the one that sends is killed.

import { expect, test } from 'vitest';
import { eventually, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const CHATS = 3;
/** More than the ten that a chat takes within five seconds: each gateway by itself would send five of them at once. */
const EACH = 11;

/** How many messages each of them has sent. */
async function sentBy(gateway: GatewayProcess): Promise<number> {
  const { outbox } = (await (await fetch(`${gateway.url}/stats`)).json()) as { outbox: { handled: number } };
  return outbox.handled;
}

test('a platform sees the pace and the order of one gateway, and another one goes on when that is killed (SOL1)', async () => {
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
  /** Of a gateway that the busy machine kept from the database what was on its way may be there twice. */
  const wasCutOff = () => started.some((each) => each.text().includes('the database was away for too long'));
  const saidIn = (chat: (typeof chats)[number]) => {
    const said = texts(platform, bot, chat);
    return wasCutOff() ? said.filter((text, at) => text !== said[at - 1]) : said;
  };
  const answered = () => eventually(() => expect(chats.map(saidIn)).toEqual(all), 60_000);
  say(1);
  await answered();
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
  await answered();
  await Promise.all(gateways.map((gateway) => gateway.stop()));
});
