// An app in two workspaces: a bot token per workspace, an app-level token and a socket for both. Each
// workspace is answered by the trigger and the token that belong to it, even if the gateway is killed.

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
const firstTeam = platform.addApp('A0SHARED', 'desk', 'T0HERE');
const secondTeam = platform.addApp('A0SHARED', 'desk', 'T0THERE');
const sockets = platform.socketsOf(firstTeam);
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
    resources: [triggerOf('here', firstTeam), triggerOf('there', secondTeam), httpAgent('echo', program.url)],
  });
  await eventually(() => expect(sockets.open).toHaveLength(1));
});
afterAll(() => platform.stop());

const mention = (app: App, channel: Channel, text: string) =>
  platform.say(channel, 'U0ANN', `<@${app.user}> ${text}`);
const expectTexts = (app: App, channel: Channel, ...expected: readonly string[]) =>
  eventually(() => expect(platform.messagesBy(app, channel).map(({ text }) => text)).toEqual(expected));

test('messages and commands of each workspace are answered by the right trigger and bot, over a shared socket', async () => {
  const channels = [firstTeam, secondTeam].map((app) => platform.addChannel('ops', [app])) as [
    Channel,
    Channel,
  ];
  const [one, two] = channels;
  await Promise.all([mention(firstTeam, one, 'hello'), mention(secondTeam, two, 'hello')]);
  await expectTexts(firstTeam, one, 'here heard: hello');
  await expectTexts(secondTeam, two, 'there heard: hello');
  await platform.command(secondTeam, two, 'U0ANN', '/status', 'now');
  await eventually(() => expect(platform.messagesBy(secondTeam, two)).toHaveLength(2));
  expect(program.requests.map(({ body }) => body.trigger).toSorted()).toEqual(['here', 'there', 'there']);
  expect(sockets).toMatchObject({ opened: 1, mostOpen: 1 });
});

test('no event of two workspaces is lost by kill -9, although the platform is down at the restart', async () => {
  const [one, two] = [platform.addChannel('late', [firstTeam]), platform.addChannel('late', [secondTeam])];
  await gateway.stop('SIGKILL');
  const acceptance = Promise.all([
    mention(firstTeam, one, 'while away'),
    mention(secondTeam, two, 'while away'),
  ]);
  void platform.fail('auth.test', { kind: 'page', status: 503 }, { times: 4 });
  gateway = await startAutomation({ folder: gateway.folder });
  await acceptance;
  await expectTexts(firstTeam, one, 'here heard: while away');
  await expectTexts(secondTeam, two, 'there heard: while away');
});
