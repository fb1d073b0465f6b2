// The fake of the sockets of a workspace chat, driven by the vendor's own client: what that client takes for the platform, the
// gateway's connection is then tested against.

import { LogLevel, SocketModeClient } from '@slack/socket-mode';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../fixtures/automation/automation.ts';
import type { App } from '../fixtures/workspace-platform/app.ts';
import type { AppSockets } from '../fixtures/workspace-platform/app-sockets.ts';
import { WorkspacePlatform } from '../fixtures/workspace-platform/workspace-platform.ts';

let platform: WorkspacePlatform;
let installed: App;
let app: AppSockets;
const ends: (() => Promise<unknown>)[] = [];

// A client that is told to disconnect while it connects again rejects a promise that nobody can catch, with undefined
// (slackapi/node-slack-sdk#2656). Any other rejection is told as ever.
const told = process.listeners('unhandledRejection');
const pass: NodeJS.UnhandledRejectionListener = (reason, promise) => {
  if (reason !== undefined) for (const tell of told) tell(reason, promise);
};
beforeAll(() => {
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', pass);
});
afterAll(() => {
  process.removeListener('unhandledRejection', pass);
  for (const tell of told) process.on('unhandledRejection', tell);
});

beforeEach(async () => {
  platform = await new WorkspacePlatform({ redeliverMs: 200, pingMs: 20 }).start();
  installed = platform.addApp();
  app = platform.socketsOf(installed);
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await platform.stop();
});

const silent = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  setName() {},
  getLevel: () => LogLevel.ERROR,
};

interface Given {
  ack(response?: object): Promise<void>;
  readonly body: unknown;
  readonly retry_num?: number;
}

function clientOf(more: { appToken?: string; autoReconnectEnabled?: boolean } = {}): SocketModeClient {
  const client = new SocketModeClient({
    appToken: installed.appToken,
    clientPingTimeout: 200,
    clientOptions: { slackApiUrl: `${platform.apiRoot}/`, retryConfig: { retries: 0 } },
    logger: silent,
    ...more,
  });
  ends.push(() => client.disconnect());
  return client;
}

test('a client connects once per address, and acknowledges events, commands and presses', async () => {
  const client = clientOf();
  const given: Given[] = [];
  client.on('slack_event', async (event: Given) => {
    given.push(event);
    await event.ack({ text: 'on it' });
  });
  await client.start();
  const payload = { event: { type: 'app_mention', text: 'hello' } };
  const all = [
    app.deliver('events_api', payload),
    app.deliver('slash_commands', { command: '/deploy', text: 'now' }),
    app.deliver('interactive', { type: 'block_actions' }),
  ];
  await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
  expect(given.map(({ body }) => body)).toEqual(all.map((each) => each.payload));
  expect(all[1]?.response).toEqual({ text: 'on it' });
  expect(app).toMatchObject({ opened: 1, strange: [] });
  await eventually(() => expect([app.open[0]?.pings, app.open[0]?.pongs]).not.toContain(0));
});

test('what a client does not acknowledge comes again, under another id and with its number', async () => {
  const client = clientOf();
  const numbers: unknown[] = [];
  client.on('app_mention', async ({ ack, retry_num }: Given) => {
    numbers.push(retry_num);
    if (numbers.length === 3) await ack();
  });
  await client.start();
  const one = app.deliver('events_api', { event: { type: 'app_mention' } });
  await eventually(() => expect(one.ackedAt).toBeDefined());
  expect(numbers).toEqual([0, 1, 2]);
  expect(new Set(one.ids).size).toBe(3);
});

test('what a client had when it went without a word comes again to the next one, however late that is there', async () => {
  const gone = clientOf({ autoReconnectEnabled: false });
  const had = new Promise<void>((resolve) => gone.on('slack_event', () => resolve()));
  await gone.start();
  const event = app.deliver('events_api', { event: { type: 'message' } });
  await had;
  app.isAway = true;
  app.isAway = false;
  // Longer than the platform waits for an acknowledgement.
  await new Promise((done) => setTimeout(done, 300));
  expect(event.ackedAt).toBeUndefined();
  const client = clientOf();
  client.on('slack_event', ({ ack }: Given) => ack());
  await client.start();
  await event.acked;
  expect(event.ids).toHaveLength(2);
});

test('a client that is told of the end of its socket closes it and opens another; what came meanwhile is there then', async () => {
  const client = clientOf();
  client.on('slack_event', ({ ack }: Given) => ack());
  await client.start();
  app.announceEnd('refresh_requested');
  await eventually(() => expect(app.open).toHaveLength(0));
  const one = app.deliver('events_api', { event: { type: 'message' } });
  await eventually(() => expect(one.ackedAt).toBeDefined());
  // What it waits for before it asks for another address, in which time it has none.
  expect(app.aloneMs).toBeGreaterThan(150);
  expect(platform.called('apps.connections.open')).toHaveLength(2);
});

test('a client gives up a platform that has fallen silent', async () => {
  const client = clientOf();
  await client.start();
  await eventually(() => expect(app.open[0]?.pings).toBeGreaterThan(1));
  app.open[0]?.fallSilent();
  await eventually(() => expect(app.opened).toBe(2));
});

test('a token that is none, or of another kind, is refused in words that a client knows', async () => {
  await expect(clientOf({ appToken: 'xapp-nobody' }).start()).rejects.toThrow('invalid_auth');
  const client = clientOf({ appToken: installed.botToken, autoReconnectEnabled: false });
  await expect(client.start()).rejects.toThrow('not_allowed_token_type');
});
