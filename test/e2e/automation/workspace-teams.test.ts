// One app that is installed in two workspaces: a bot token of each, one app-level token, and one socket over which the events of both
// come. Each is answered by its own trigger, under its own token, also after a kill.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import type { App } from '../../fixtures/workspace-platform/app.ts';
import type { Channel } from '../../fixtures/workspace-platform/channel.ts';
import { WorkspacePlatform } from '../../fixtures/workspace-platform/workspace-platform.ts';

const platform = new WorkspacePlatform({ redeliverMs: 1_000 });
const here = platform.addApp('A0SHARED', 'desk', 'T0HERE');
const there = platform.addApp('A0SHARED', 'desk', 'T0THERE');
const sockets = platform.socketsOf(here);
let gateway: GatewayProcess;
let program: AgentProgram;

const triggerOf = (name: string, { appToken, botToken }: App) =>
  trigger(name, {
    type: 'ChatWorkspace',
    config: { app_token: appToken, bot_token: botToken, api_root: platform.apiRoot },
    commands: { '/status': { agent: 'echo' } },
    default_agent: 'echo',
  });

beforeAll(async () => {
  await platform.start();
  for (const app of platform.apps) app.deliver = sockets.bring;
  program = await startAgent(({ body: { input, trigger: name } }) => ({ text: `${name} heard: ${input}` }));
  gateway = await startAutomation({
    resources: [triggerOf('here', here), triggerOf('there', there), httpAgent('echo', program.url)],
  });
  await eventually(() => expect(sockets.open).toHaveLength(1));
});
afterAll(() => platform.stop());

const mention = (app: App, channel: Channel, text: string) =>
  platform.say(channel, 'U0ANN', `<@${app.user}> ${text}`);
const sees = (app: App, channel: Channel, ...expected: readonly string[]) =>
  eventually(() => expect(platform.saidBy(app, channel).map(({ text }) => text)).toEqual(expected));

test('what is said and commanded in each workspace is answered by its trigger and its bot, over one socket', async () => {
  const channels = [here, there].map((app) => platform.addChannel('ops', [app])) as [Channel, Channel];
  const [one, two] = channels;
  await Promise.all([mention(here, one, 'hello'), mention(there, two, 'hello')]);
  await sees(here, one, 'here heard: hello');
  await sees(there, two, 'there heard: hello');
  await platform.command(there, two, 'U0ANN', '/status', 'now');
  await eventually(() => expect(platform.saidBy(there, two)).toHaveLength(2));
  expect(program.requests.map(({ body }) => body.trigger).toSorted()).toEqual(['here', 'there', 'there']);
  expect(sockets).toMatchObject({ opened: 1, mostOpen: 1 });
});

test('a kill loses nothing of either, and each bot is known again before the platform says who it is', async () => {
  const [one, two] = [platform.addChannel('late', [here]), platform.addChannel('late', [there])];
  await gateway.stop('SIGKILL');
  const taken = Promise.all([mention(here, one, 'while away'), mention(there, two, 'while away')]);
  void platform.fail('auth.test', { kind: 'page', status: 503 }, { times: 4 });
  gateway = await startAutomation({ folder: gateway.folder });
  await taken;
  await sees(here, one, 'here heard: while away');
  await sees(there, two, 'there heard: while away');
});
