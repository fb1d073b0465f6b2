// A platform that hangs delays no other platform: a gateway serves three platforms, and one stops responding.

import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  eventually,
  postRepoEvent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { repoExample } from '../../fixtures/automation/repo-payloads.ts';
import {
  APP_SECRET,
  business,
  credentials,
  startPlatform,
  VERIFY_TOKEN,
} from '../../fixtures/business-platform/messenger.ts';
import { messagesOf, textMessage } from '../../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../../fixtures/business-platform/webhook-sender.ts';
import { RepoRestHost } from '../../fixtures/repositories/repo-rest-host.ts';

/** Exceeds the number of slots per platform. */
const MANY = 80;
/** Shorter than the request timeout. */
const SOON_MS = 15_000;

/** A platform as the test uses it: a person writes in chat `n`, where the bot answers. */
interface Platform {
  hang(): void;
  say(n: number): Promise<unknown>;
  /** Number of requests that tried to send an answer. */
  countRequests(): number;
  isAnswered(n: number): boolean;
}

let repoHost: RepoRestHost;

beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
});
afterEach(() => repoHost.stop());

async function startThree(): Promise<Readonly<Record<string, Platform>>> {
  const bots = await newPlatform();
  const bot = bots.addBot('a_bot');
  const chats = Array.from({ length: MANY + 1 }, (_, n) => {
    const person = bots.person(`P${n}`);
    return { person, chat: bots.privateChat(person, bot) };
  });
  const messenger = await startPlatform();
  const program = await startAgent(() => ({ text: 'the answer' }));
  const gateway = await startAutomation({
    resources: [
      botTrigger('bot', bots, bot),
      trigger('business', {
        type: 'BusinessMessenger',
        config: { ...credentials, graph_url: messenger.url },
        default_agent: 'echo',
      }),
      trigger('reviews', {
        type: 'RepoHost',
        config: { webhook_secret: SECRET, token: 'ghp_of_the_tests', api_url: repoHost.url },
        default_agent: 'echo',
      }),
      echo(program),
    ],
  });
  const url = `${gateway.url}/webhook/businessmessenger`;
  const sender = new WebhookSender({ url, appSecret: APP_SECRET, verifyToken: VERIFY_TOKEN });
  const comment = repoExample('issue_comment', 'created') as { readonly issue: object };
  const numberOf = (n: number) => String(15551000000 + n);
  return {
    BotMessenger: {
      hang: () => bots.faults.plan('sendMessage', { kind: 'hang' }, { times: 1_000 }),
      say: async (n) => {
        const { chat, person } = chats[n]!;
        bots.say(chat, person, 'hello');
      },
      countRequests: () => bots.callsOf('sendMessage', bot).length,
      isAnswered: (n) => texts(bots, bot, chats[n]!.chat).includes('the answer'),
    },
    BusinessMessenger: {
      hang: () => {
        for (let i = 0; i < 1_000; i += 1) messenger.fail({ kind: 'hang' });
      },
      say: (n) => {
        const person = { name: 'P', number: numberOf(n) };
        return sender.deliver(messagesOf(business, [[person, textMessage(person, 'hello')]]));
      },
      countRequests: () => messenger.sendings.length,
      isAnswered: (n) => messenger.textsTo(numberOf(n)).includes('✅ the answer'),
    },
    RepoHost: {
      hang: () => {
        for (let i = 0; i < 1_000; i += 1) repoHost.refuse(/./, { status: 0, isSilent: true });
      },
      say: (n) =>
        postRepoEvent(gateway.url, 'issue_comment', {
          ...comment,
          issue: { ...comment.issue, number: n + 1 },
        }),
      countRequests: () => repoHost.requests.length,
      isAnswered: (n) => repoHost.comments.has(`Codertocat/Hello-World#${n + 1}`),
    },
  };
}

test.each(['BotMessenger', 'BusinessMessenger', 'RepoHost'])(
  'requests that hang at the platform of %s delay no other platform',
  async (name) => {
    const { [name]: hung, ...others } = await startThree();
    if (hung === undefined) throw new Error(`there is no ${name}`);
    hung.hang();
    for (let n = 0; n < MANY; n += 1) await hung.say(n);
    await eventually(() => expect(hung.countRequests()).toBeGreaterThan(0));
    for (const [other, platform] of Object.entries(others)) {
      await platform.say(MANY);
      await eventually(() => expect([other, platform.isAnswered(MANY)]).toEqual([other, true]), SOON_MS);
    }
    for (let n = 0; n < MANY; n += 1) expect(hung.isAnswered(n)).toBe(false);
  },
);
