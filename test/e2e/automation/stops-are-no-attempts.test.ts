// A stop does not count as an attempt, neither during a send nor during a pause for a rate limit. Triggers
// allow a single attempt, so a counted stop would make the message dead.

import { afterAll, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postRepoEvent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { repoExample } from '../../fixtures/automation/repo-payloads.ts';
import { tooManyRequests } from '../../fixtures/bot-platform/bot-error.ts';
import {
  APP_SECRET,
  business,
  credentials,
  startPlatform,
} from '../../fixtures/business-platform/messenger.ts';
import { messagesOf, textMessage } from '../../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../../fixtures/business-platform/webhook-sender.ts';
import { RepoRestHost } from '../../fixtures/repositories/repo-rest-host.ts';

const POST = /^POST .*\/comments$/;
const ada = { name: 'Ada', number: '15550002222' };

const repoHost = new RepoRestHost();
afterAll(() => repoHost.stop());

interface Row {
  readonly state: string;
  readonly attempts: number;
  readonly crashes: number;
  readonly deferrals: number;
}

test('a gateway stop during a send or a rate limit pause does not count as a delivery attempt, on any platform', async () => {
  const [bots, businesses] = [await newPlatform(), await startPlatform(), await repoHost.start()];
  const bot = bots.addBot('stopped_bot');
  const ann = bots.person('Ann');
  const chat = bots.privateChat(ann, bot);
  const program = await startAgent(() => ({ text: 'the answer' }));
  const common = {
    retry: { attempts: 1, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 },
    default_agent: 'echo',
  };
  const botConfig = { bot_token: bot.token, api_root: bots.url };
  const repoConfig = { webhook_secret: SECRET, token: 'ghp_of_the_tests', api_url: repoHost.url };
  const resources = [
    trigger('bot', { type: 'BotMessenger', config: botConfig, ...common }),
    trigger('desk', {
      type: 'BusinessMessenger',
      config: { ...credentials, graph_url: businesses.url },
      ...common,
    }),
    trigger('reviews', { type: 'RepoHost', config: repoConfig, ...common }),
    httpAgent('echo', program.url),
  ];
  const settings = { shutdown_seconds: 1 };
  let gateway = await startAutomation({ resources, settings });
  const restart = async () => {
    expect(await gateway.stop('SIGTERM')).toBe(0);
    gateway = await startAutomation({ folder: gateway.folder, settings });
  };
  const rows = async () => {
    const answer = await fetch(`${gateway.url}/deliveries?source=outbox`);
    return ((await answer.json()) as { deliveries: Row[] }).deliveries;
  };
  const all = (row: Partial<Row>) => Array.from({ length: 3 }, () => expect.objectContaining(row));

  bots.faults.plan('sendMessage', { kind: 'hang' });
  businesses.fail({ kind: 'hang' });
  repoHost.refuse(POST, { status: 0, isSilent: true });
  bots.say(chat, ann, 'hello');
  const url = `${gateway.url}/webhook/businessmessenger`;
  const sender = new WebhookSender({ url, appSecret: APP_SECRET, verifyToken: '' });
  await sender.deliver(messagesOf(business, [[ada, textMessage(ada, 'hello')]]));
  await postRepoEvent(gateway.url, 'issue_comment', repoExample('issue_comment', 'created'), { id: 'd1' });
  const sendings = () => [
    bots.callsOf('sendMessage').length,
    businesses.sendings.length,
    repoHost.requestsFor('POST', /\/comments$/).length,
  ];
  await eventually(() => expect(sendings()).toEqual([1, 1, 1]));
  bots.faults.plan('sendMessage', { kind: 'error', error: tooManyRequests(3) });
  businesses.fail({ kind: 'html', status: 429, retryAfter: '3' });
  repoHost.refuse(POST, { status: 429, headers: { 'retry-after': '3' } });
  await restart();
  await eventually(async () => expect(await rows()).toEqual(all({ deferrals: 1 })));
  await restart();
  await eventually(async () => expect(await rows()).toEqual(all({ state: 'done' })));
  expect(await rows()).toEqual(all({ attempts: 1, crashes: 0, deferrals: 1 }));
  expect(sendings()).toEqual([3, 3, 3]);
  expect(texts(bots, bot, chat)).toEqual(['the answer']);
  expect(businesses.textsTo(ada.number)).toEqual(['✅ the answer']);
  expect([...repoHost.comments.values()].map(({ length }) => length)).toEqual([1]);
});
