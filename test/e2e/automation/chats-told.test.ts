// What people in chats are told beside answers (`on_failure`), with the whole program against the fakes of both platforms: that
// an event was given up, or has to wait, each once, whenever the gateway is killed; and nothing where that is switched off.

import { afterAll, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { BusinessPlatform } from '../../fixtures/business-platform/business-platform.ts';
import { APP_SECRET, business, credentials, TOKEN } from '../../fixtures/business-platform/messenger.ts';
import { messagesOf, textMessage } from '../../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../../fixtures/business-platform/webhook-sender.ts';

const retry = { attempts: 3, min_backoff_seconds: 0.2, max_backoff_seconds: 0.4, factor: 2 };
const GIVEN_UP = 'Sorry, that did not work, and it will not be tried again.';
const WAITS = 'This takes longer than usual. The answer will come here.';

/** Somebody who writes to an account of the operator's. */
interface Person {
  say(gatewayUrl: string, text: string): Promise<void>;
  /** What they have read, in order. */
  heard(): readonly string[];
}

/** A platform with two people, one of whom writes to a trigger that says `on_failure: silent`. */
interface Chats {
  readonly triggers: readonly ReturnType<typeof trigger>[];
  readonly told: Person;
  readonly untold: Person;
  /** The next message is never taken, nor answered. */
  hang(): void;
  readonly sendings: number;
  /** Before what it says of a failure. */
  readonly mark: string;
  readonly success: string;
}

async function bots(): Promise<Chats> {
  const platform = await newPlatform();
  const personOf = (name: string): [Person, ReturnType<typeof trigger>] => {
    const bot = platform.addBot(`${name}_bot`);
    const ann = platform.person('Ann');
    const chat = platform.privateChat(ann, bot);
    const person = {
      say: async (_: string, text: string) => void platform.say(chat, ann, text),
      heard: () => texts(platform, bot, chat).map(String),
    };
    const config = { bot_token: bot.token, api_root: platform.url };
    const more = name === 'silent' ? { on_failure: 'silent' } : {};
    return [person, trigger(name, { type: 'BotMessenger', config, retry, default_agent: 'echo', ...more })];
  };
  const [[told, loud], [untold, silent]] = [personOf('loud'), personOf('silent')];
  return {
    ...{ triggers: [loud, silent], told, untold, mark: '', success: '' },
    hang: () => platform.faults.plan('sendMessage', { kind: 'hang' }),
    get sendings() {
      return platform.called('sendMessage').length;
    },
  };
}

const businesses: BusinessPlatform[] = [];
afterAll(() => Promise.all(businesses.map((platform) => platform.stop())));

async function businessMessenger(): Promise<Chats> {
  const accounts = { business: business.phone_number_id, quiet: '100000000000002' };
  const platform = new BusinessPlatform({ token: TOKEN, phoneNumberIds: Object.values(accounts) });
  businesses.push(await platform.start());
  const personOf = (account: keyof typeof accounts, number: string): Person => ({
    async say(gatewayUrl, text) {
      const url = `${gatewayUrl}/webhook/businessmessenger`;
      const sender = new WebhookSender({ url, appSecret: APP_SECRET, verifyToken: '' });
      const person = { name: 'Ada', number };
      const to = { ...business, phone_number_id: accounts[account] };
      await sender.deliver(messagesOf(to, [[person, textMessage(person, text)]]));
    },
    heard: () => platform.textsTo(number),
  });
  const triggerOf = (name: keyof typeof accounts, more: object) => {
    const config = { ...credentials, phone_number_id: accounts[name], graph_url: platform.url };
    return trigger(name, { type: 'BusinessMessenger', config, retry, default_agent: 'echo', ...more });
  };
  return {
    triggers: [triggerOf('business', {}), triggerOf('quiet', { on_failure: 'silent' })],
    told: personOf('business', '15550002222'),
    untold: personOf('quiet', '15550003333'),
    ...{ mark: '⚠️ ', success: '✅ ' },
    hang: () => platform.fail({ kind: 'hang' }),
    get sendings() {
      return platform.sendings.length;
    },
  };
}

test('people in both chats hear once that an event was given up, and once that it waits, over kill -9 at each step', async () => {
  const chats = [await bots(), await businessMessenger()];
  const asked = new Map<string, number>();
  let isAway = true;
  const program = await startAgent(async ({ headers, body }) => {
    const id = String(headers['idempotency-key']);
    const count = (asked.get(id) ?? 0) + 1;
    asked.set(id, count);
    if (isAway) await new Promise(() => {});
    if (body.input === 'refuse it') return { status: 400, text: 'no' };
    return body.input === 'slow' && count < 3
      ? { status: count === 1 ? 429 : 503, headers: { 'retry-after': '3' } }
      : { text: `heard: ${body.input}` };
  });
  const resources = [...chats.flatMap(({ triggers }) => triggers), httpAgent('echo', program.url)];
  let gateway = await startAutomation({ resources });
  const kill = async () => {
    await gateway.stop('SIGKILL');
    gateway = await startAutomation({ folder: gateway.folder });
  };
  const everybodyHeard = (expected: (chat: Chats) => readonly string[]) =>
    eventually(() => {
      for (const chat of chats) expect(chat.told.heard()).toEqual(expected(chat));
    });

  const nothingLeft = (more = '') =>
    eventually(async () => {
      const left = await fetch(`${gateway.url}/deliveries?state=queued,running,retrying,waiting${more}`);
      expect(await left.json()).toMatchObject({ deliveries: [] });
    });

  // Killed while the agent thinks, and again while the notice is on its way.
  for (const { told, untold } of chats)
    for (const person of [told, untold]) await person.say(gateway.url, 'refuse it');
  await eventually(() => expect(asked.size).toBe(4));
  isAway = false;
  for (const chat of chats) chat.hang();
  await kill();
  await eventually(() => expect(chats.map(({ sendings }) => sendings)).toEqual([1, 1]));
  await kill();
  await everybodyHeard(({ mark }) => [mark + GIVEN_UP]);

  // Killed between the attempts of an event that waits.
  for (const { told } of chats) await told.say(gateway.url, 'slow');
  await everybodyHeard(({ mark }) => [mark + GIVEN_UP, mark + WAITS]);
  // Killed before it hears that the platform has taken them, it could not know that.
  await nothingLeft('&source=outbox');
  await kill();
  await everybodyHeard(({ mark, success }) => [mark + GIVEN_UP, mark + WAITS, `${success}heard: slow`]);

  // Where nothing was to be told nothing was, until there was an answer.
  for (const { untold } of chats) await untold.say(gateway.url, 'fine');
  await eventually(() => {
    for (const { untold, success } of chats) expect(untold.heard()).toEqual([`${success}heard: fine`]);
  });
  await nothingLeft();
  const dead = await fetch(`${gateway.url}/deliveries?state=dead`);
  const { deliveries } = (await dead.json()) as { deliveries: { trigger: string; attempts: number }[] };
  expect(deliveries.map(({ trigger: name }) => name).sort()).toEqual(['business', 'loud', 'quiet', 'silent']);
  await everybodyHeard(({ mark, success }) => [mark + GIVEN_UP, mark + WAITS, `${success}heard: slow`]);
}, 90_000);
