// The fake workspace chat sockets with the client of the platform vendor. Gateway tests rely on this fake.

import { LogLevel, SocketModeClient } from '@slack/socket-mode';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../fixtures/automation/automation.ts';
import type { App } from '../fixtures/workspace-platform/app.ts';
import type { AppSockets } from '../fixtures/workspace-platform/app-sockets.ts';
import { WorkspacePlatform } from '../fixtures/workspace-platform/workspace-platform.ts';

let platform: WorkspacePlatform;
let app: App;
let sockets: AppSockets;
const cleanups: (() => Promise<unknown>)[] = [];

// A client that is disconnected during a reconnect rejects a promise that has no handler, with undefined
// (slackapi/node-slack-sdk#2656). Other rejections are reported as usual.
const listeners = process.listeners('unhandledRejection');
const pass: NodeJS.UnhandledRejectionListener = (reason, promise) => {
  if (reason !== undefined) for (const tell of listeners) tell(reason, promise);
};
beforeAll(() => {
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', pass);
});
afterAll(() => {
  process.removeListener('unhandledRejection', pass);
  for (const tell of listeners) process.on('unhandledRejection', tell);
});

beforeEach(async () => {
  platform = await new WorkspacePlatform({ redeliverMs: 200, pingMs: 20 }).start();
  app = platform.addApp();
  sockets = platform.socketsOf(app);
});

afterEach(async () => {
  for (const end of cleanups.splice(0)) await end();
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

interface ReceivedEvent {
  ack(response?: object): Promise<void>;
  readonly body: unknown;
  readonly retry_num?: number;
}

function clientOf(more: { appToken?: string; autoReconnectEnabled?: boolean } = {}): SocketModeClient {
  const client = new SocketModeClient({
    appToken: app.appToken,
    clientPingTimeout: 200,
    clientOptions: { slackApiUrl: `${platform.apiRoot}/`, retryConfig: { retries: 0 } },
    logger: silent,
    ...more,
  });
  cleanups.push(() => client.disconnect());
  return client;
}

test('a client of the test workspace opens one socket, and acknowledges events, commands and presses', async () => {
  const client = clientOf();
  const handovers: ReceivedEvent[] = [];
  client.on('slack_event', async (event: ReceivedEvent) => {
    handovers.push(event);
    await event.ack({ text: 'on it' });
  });
  await client.start();
  const payload = { event: { type: 'app_mention', text: 'hello' } };
  const all = [
    sockets.deliver('events_api', payload),
    sockets.deliver('slash_commands', { command: '/deploy', text: 'now' }),
    sockets.deliver('interactive', { type: 'block_actions' }),
  ];
  await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
  expect(handovers.map(({ body }) => body)).toEqual(all.map((each) => each.payload));
  expect(all[1]?.response).toEqual({ text: 'on it' });
  expect(sockets).toMatchObject({ opened: 1, unexpectedMessages: [] });
  await eventually(() => expect([sockets.open[0]?.pings, sockets.open[0]?.pongs]).not.toContain(0));
});

test('an unacknowledged event is sent again, with a new envelope id and the retry number', async () => {
  const client = clientOf();
  const numbers: unknown[] = [];
  client.on('app_mention', async ({ ack, retry_num }: ReceivedEvent) => {
    numbers.push(retry_num);
    if (numbers.length === 3) await ack();
  });
  await client.start();
  const envelope = sockets.deliver('events_api', { event: { type: 'app_mention' } });
  await eventually(() => expect(envelope.ackedAt).toBeDefined());
  expect(numbers).toEqual([0, 1, 2]);
  expect(new Set(envelope.ids).size).toBe(3);
});

test('unacknowledged events of a disconnected client are sent to the next client, however late', async () => {
  const lostClient = clientOf({ autoReconnectEnabled: false });
  const hasReceived = new Promise<void>((resolve) => lostClient.on('slack_event', () => resolve()));
  await lostClient.start();
  const event = sockets.deliver('events_api', { event: { type: 'message' } });
  await hasReceived;
  // Cuts the open sockets. New sockets are accepted.
  sockets.isUnavailable = true;
  sockets.isUnavailable = false;
  // Exceeds the acknowledgement timeout of the platform.
  await new Promise((done) => setTimeout(done, 300));
  expect(event.ackedAt).toBeUndefined();
  const client = clientOf();
  client.on('slack_event', ({ ack }: ReceivedEvent) => ack());
  await client.start();
  await event.acked;
  expect(event.ids).toHaveLength(2);
});

test('a client replaces a socket that is about to close; later events arrive on the new socket', async () => {
  const client = clientOf();
  client.on('slack_event', ({ ack }: ReceivedEvent) => ack());
  await client.start();
  sockets.announceEnd('refresh_requested');
  await eventually(() => expect(sockets.open).toHaveLength(0));
  const envelope = sockets.deliver('events_api', { event: { type: 'message' } });
  await eventually(() => expect(envelope.ackedAt).toBeDefined());
  // Delay of the client before it requests a new address. It has no socket meanwhile.
  expect(sockets.withoutSocketMs).toBeGreaterThan(150);
  expect(platform.callsOf('apps.connections.open')).toHaveLength(2);
});

test('a client closes a silent socket', async () => {
  const client = clientOf();
  await client.start();
  await eventually(() => expect(sockets.open[0]?.pings).toBeGreaterThan(1));
  sockets.open[0]?.fallSilent();
  await eventually(() => expect(sockets.opened).toBe(2));
});

test('an invalid token is rejected with a known error code', async () => {
  await expect(clientOf({ appToken: 'xapp-nobody' }).start()).rejects.toThrow('invalid_auth');
  const client = clientOf({ appToken: app.botToken, autoReconnectEnabled: false });
  await expect(client.start()).rejects.toThrow('not_allowed_token_type');
});
