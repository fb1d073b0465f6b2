// The example of a deployment, bound to a command of a chat: people press, and whoever gave the command hears how it went.

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
let shipped = '';
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
    shipped += text;
  });
  const [, url = ''] = await eventually(() => {
    const found = /at (http:\S+)\/\n/.exec(shipped);
    expect(found).not.toBeNull();
    return found as RegExpExecArray;
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
  const ended = once(deployer, 'close');
  deployer.kill();
  await ended;
});

const said = () => texts(platform, bot, ops);
const saysAtLast = (text: string | RegExp) => eventually(() => expect(said().at(-1)).toMatch(text));

async function asked(version: string): Promise<Message> {
  platform.say(ops, mia as Person, `/deploy ${version}`);
  return eventually(() => {
    const found = platform.saidBy(bot, ops).find(({ text = '' }) => text.includes(`Ship ${version}?`));
    expect(found && buttonsOf(found).map(({ text }) => text)).toEqual(['Approve', 'Deny']);
    return found as Message;
  });
}

function press(question: Message, by: Person | undefined, title: string): void {
  const data = buttonsOf(question).find(({ text }) => text === title)?.callback_data ?? '';
  platform.press(bot, by as Person, question, data);
}

test('approved, it is shipped once, and looked at after a while', async () => {
  const question = await asked('2.4.1');
  expect(question.text).toContain('The check says: finished.');
  expect(shipped).not.toContain('ships');
  press(question, mia, 'Approve');
  press(question, ada, 'Approve');
  await saysAtLast(/^Shipped 2\.4\.1, approved by .*ada: up and well\.$/);
  expect(shipped.match(/ships 2\.4\.1, approved by .*ada,/g)).toHaveLength(1);
  expect(ops.messages.get(question.message_id)?.text).toMatch(/^Approved by ada at /m);
});

test('denied, it is not, and whoever asked hears who said so', async () => {
  press(await asked('2.5.0'), ben, 'Deny');
  await saysAtLast(/^Not shipped: denied by .*ben\./);
  expect(shipped).not.toContain('2.5.0');
});

test('a version that the check refuses is put before nobody, and without one the command says what it takes', async () => {
  platform.say(ops, mia as Person, '/deploy 3.0.0-rc1');
  await saysAtLast('Not shipped: 3.0.0-rc1 is not finished.');
  platform.say(ops, mia as Person, '/deploy');
  await saysAtLast(/version/);
  expect(said().at(-1)).toContain('Three numbers, as 2.4.1');
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
