// The deployment example, bound to a chat command: people decide by buttons, and the requester sees the
// outcome.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, startAutomation, writeResources } from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { Chat, Message, Person } from '../../fixtures/bot-platform/chat.ts';
import { buttonsOf } from '../../fixtures/bot-platform/methods-message.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const examples = resolve(import.meta.dirname, '../../../examples');

let deployer: ChildProcess;
/** Output of the deployer: its address, then a line per deployment. */
let deployerOutput = '';
let gateway: GatewayProcess;
let platform: BotPlatform;
let bot: Bot;
let ops: Chat;
let [mia, ada, ben]: Person[] = [];

beforeAll(async () => {
  deployer = spawn(process.execPath, [join(examples, 'deployer.mjs'), '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  deployer.stdout?.setEncoding('utf8').on('data', (text: string) => {
    deployerOutput += text;
  });
  const [, url = ''] = await eventually(() => {
    const address = /at (http:\S+)\/\n/.exec(deployerOutput);
    expect(address).not.toBeNull();
    return address as RegExpExecArray;
  });
  platform = await newPlatform();
  bot = platform.addBot('deploy_bot');
  [mia, ada, ben] = ['mia', 'ada', 'ben'].map((name) => platform.person(name, name));
  ops = platform.supergroup('Ops', bot);
  const folder = temporaryFolder();
  writeResources(folder, [
    botTrigger('chat', platform, bot, { agent: 'checker', commands: { '/deploy': { flow: 'deploy' } } }),
    { kind: 'Agent', name: 'checker', spec: { model: 'scripted:scripts/checker.yaml' } },
  ]);
  cpSync(join(examples, 'deployments/deploy.yaml'), join(folder, 'flows/deploy.yaml'));
  for (const kind of ['flows', 'agents'])
    cpSync(join(examples, 'deployments/scripts'), join(folder, kind, 'scripts'), { recursive: true });
  gateway = await startAutomation({ folder, env: { DEPLOYER_URL: url } });
});

afterAll(async () => {
  await gateway.stop();
  const exit = once(deployer, 'close');
  deployer.kill();
  await exit;
});

const chatTexts = () => texts(platform, bot, ops);
const expectLastText = (text: string | RegExp) => eventually(() => expect(chatTexts().at(-1)).toMatch(text));

async function requestAndWait(version: string): Promise<Message> {
  platform.say(ops, mia as Person, `/deploy ${version}`);
  return eventually(() => {
    const question = platform.messagesBy(bot, ops).find(({ text = '' }) => text.includes(`Ship ${version}?`));
    expect(question && buttonsOf(question).map(({ text }) => text)).toEqual(['Approve', 'Deny']);
    return question as Message;
  });
}

function press(question: Message, by: Person | undefined, title: string): void {
  const data = buttonsOf(question).find(({ text }) => text === title)?.callback_data ?? '';
  platform.press(bot, by as Person, question, data);
}

test('an approved deployment runs once and is checked afterwards', async () => {
  const question = await requestAndWait('2.4.1');
  expect(question.text).toContain('The check says: finished.');
  expect(deployerOutput).not.toContain('ships');
  // The requester is no approver.
  press(question, mia, 'Approve');
  press(question, ada, 'Approve');
  await expectLastText(/^Shipped 2\.4\.1, approved by .*ada: up and well\.$/);
  expect(deployerOutput.match(/ships 2\.4\.1, approved by .*ada,/g)).toHaveLength(1);
  expect(ops.messages.get(question.message_id)?.text).toMatch(/^Approved by ada at /m);
});

test('a denied deployment does not run, and the requester sees who denied it', async () => {
  press(await requestAndWait('2.5.0'), ben, 'Deny');
  await expectLastText(/^Not shipped: denied by .*ben\./);
  expect(deployerOutput).not.toContain('2.5.0');
});

test('a deployment command with a rejected version asks for no approval; without a version it is answered with help', async () => {
  platform.say(ops, mia as Person, '/deploy 3.0.0-rc1');
  await expectLastText('Not shipped: 3.0.0-rc1 is not finished.');
  platform.say(ops, mia as Person, '/deploy');
  await expectLastText(/version/);
  expect(chatTexts().at(-1)).toContain('Three numbers, such as 2.4.1');
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
