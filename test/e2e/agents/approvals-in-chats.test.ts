// Commands that need approval, with the built program and whole platforms: the question is sent to another
// channel, is decided by buttons or reactions, and shows the outcome; the requester is answered in the
// original chat.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { Chat, Message, Person } from '../../fixtures/bot-platform/chat.ts';
import { buttonsOf } from '../../fixtures/bot-platform/methods-message.ts';
import { LocalChatWorkspace } from '../../fixtures/chats/local-chatworkspace.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import type { Channel, Message as WorkspaceMessage } from '../../fixtures/workspace-platform/channel.ts';

let program: AgentProgram;
let gateway: GatewayProcess;
let platform: BotPlatform;
let bot: Bot;
let other: Bot;
let selfBot: Bot;
let ops: Chat;
let ann: Person;
let ben: Person;
const workspace = new LocalChatWorkspace();
let room: Channel;
let direct: Channel;
const ANN = 'U0ANN';
const MIA = 'U0MIA';

beforeAll(async () => {
  program = await startAgent(({ body }) => ({ text: `shipped ${wordIn(body.input)}` }));
  platform = await newPlatform();
  [bot, other] = [platform.addBot('gate_bot'), platform.addBot('other_bot')];
  selfBot = platform.addBot('self_bot');
  [ann, ben] = [platform.person('Ann', 'ann'), platform.person('Ben', 'ben')];
  ops = platform.supergroup('Ops', bot, other);
  await workspace.start();
  room = workspace.platform.addChannel('ops', [workspace.app]);
  direct = workspace.platform.addDirect(workspace.app);
  const gate = (approver: string, approval_channel: string) => ({
    deploy: { agent: 'deployer', requires_approval: true, approvers: [approver], approval_channel },
  });
  const { type, config } = workspace.trigger();
  gateway = await startAutomation({
    resources: [
      botTrigger('gate', platform, bot, { agent: 'deployer', commands: gate('@ann', String(ops.id)) }),
      botTrigger('other', platform, other, { agent: 'deployer' }),
      botTrigger('self', platform, selfBot, {
        commands: { deploy: { agent: 'deployer', requires_approval: true, approvers: ['@ann', '@ben'] } },
        agent: 'deployer',
      }),
      trigger('workspace', { type, config, default_agent: 'deployer', commands: gate(ANN, room.id) }),
      httpAgent('deployer', program.url),
    ],
  });
  await workspace.attach(gateway.url);
});

afterAll(async () => {
  await gateway.stop();
  await workspace.stop();
});

/** The command's last word. Every platform includes it in the text. */
const wordIn = (input: string) => input.split(' ').at(-1) ?? '';
const countRuns = (word: string) => program.requests.filter(({ body }) => wordIn(body.input) === word).length;
const approvals = async () => (await ask(`${gateway.url}/approvals`)).json.approvals;

/** Sends the command to the bot in a private chat. Returns the question in the approval channel. */
async function askBot(
  person: Person,
  word: string,
): Promise<{ readonly chat: Chat; readonly question: Message }> {
  const chat = platform.privateChat(person, bot);
  platform.say(chat, person, `/deploy ${word}`);
  const question = await eventually(() => {
    const found = platform.messagesBy(bot, ops).find(({ text = '' }) => text.includes(`/deploy ${word}`));
    expect(found && buttonsOf(found).map(({ text }) => text)).toEqual(['Approve', 'Deny']);
    return found as Message;
  });
  await eventually(() => expect(texts(platform, bot, chat).at(-1)).toContain('Waiting for approval by ann.'));
  expect(question.text).toMatch(new RegExp(`^Command: /deploy ${word}$`, 'm'));
  expect(countRuns(word)).toBe(0);
  return { chat, question };
}

/** Notices shown only to the person who pressed a button. */
const expectNotice = (by: Bot, press: string | undefined, text: string) =>
  eventually(() => expect(by.queries.get(press ?? '')).toMatchObject({ answer: text }));
const isRefusal = (text = '') => text.startsWith('Sorry') || text.startsWith('It is');

const buttonOf = (message: Message, title: string) =>
  buttonsOf(message).find(({ text }) => text === title)?.callback_data ?? '';
const currentMessage = ({ message_id }: Message) => ops.messages.get(message_id) as Message;

/** Checks that the question shows the outcome without buttons, and that the requester was answered once. */
async function expectOutcomeFromBot(
  { chat, question }: { readonly chat: Chat; readonly question: Message },
  outcome: RegExp,
  answer: RegExp,
) {
  await eventually(() => {
    expect(currentMessage(question).text).toMatch(outcome);
    expect(buttonsOf(currentMessage(question))).toEqual([]);
  });
  await eventually(() => expect(texts(platform, bot, chat).at(-1)).toMatch(answer));
  expect(texts(platform, bot, chat).filter((text = '') => answer.test(text))).toHaveLength(1);
}

test('a messenger: only the button press of an approver decides, and only under the message of the bot that asked', async () => {
  const question = await askBot(platform.person('Mia', 'mia'), 'one');
  const approve = buttonOf(question.question, 'Approve');
  const inVain = platform.press(bot, ben, question.question, approve);
  await expectNotice(bot, inVain, 'Sorry, only named approvers may decide.');
  // Same button data, under a message of a bot that asked no question.
  const otherGroup = platform.group('Elsewhere', other);
  const copy = otherGroup.add({ from: other.person, text: 'Approve?' });
  await expectNotice(
    other,
    platform.press(other, ann, copy, approve),
    'Sorry, the decision must be made where the approval was requested.',
  );
  expect(await approvals()).toMatchObject([{ state: 'pending', approval_channel: String(ops.id) }]);
  expect(countRuns('one')).toBe(0);
  const [first, second] = ['Approve', 'Deny'].map((title) =>
    platform.press(bot, ann, question.question, buttonOf(question.question, title)),
  );
  await expectNotice(bot, first, 'Request approved.');
  await expectNotice(bot, second, 'Request approved.');
  const late = platform.press(bot, ben, question.question, approve);
  await expectNotice(bot, late, 'Sorry, only named approvers may decide.');
  await expectOutcomeFromBot(question, /^Approved by ann at /m, /^shipped one$/);
  // Only the person who pressed the button sees the notice.
  for (const chat of [ops, otherGroup])
    expect(texts(platform, chat === ops ? bot : other, chat).filter(isRefusal)).toEqual([]);
  expect(countRuns('one')).toBe(1);
  expect(await approvals()).toMatchObject([{ state: 'approved', decided_name: 'ann', via: 'chat' }]);
});

test('a messenger: a requester who presses an approval button is told at once that requesters may not decide', async () => {
  const busy = platform.supergroup('Busy', selfBot);
  platform.say(busy, ann, '/deploy@self_bot four');
  const question = await eventually(() => {
    const [found] = platform.messagesBy(selfBot, busy).filter((each) => buttonsOf(each).length > 0);
    return found ?? expect.unreachable('nobody was asked');
  });
  expect(question.text).toMatch(/^Command: \/deploy four$/m);
  for (let n = 0; n < 30; n += 1) {
    const press = platform.press(selfBot, ann, question, buttonOf(question, 'Approve'));
    await expectNotice(selfBot, press, 'Sorry, the requester may not decide.');
  }
  expect(texts(platform, selfBot, busy).filter(isRefusal)).toEqual([]);
  expect(countRuns('four')).toBe(0);
  platform.press(selfBot, ben, question, buttonOf(question, 'Deny'));
  await eventually(() => expect(busy.messages.get(question.message_id)?.text).toMatch(/^Denied by ben at /m));
});

test('a messenger: a 👍 or 👎 of an approver on an approval request decides like its buttons', async () => {
  const yes = await askBot(platform.person('Zoe', 'zoe'), 'two');
  const no = await askBot(platform.person('Kai', 'kai'), 'three');
  platform.react(ops, ben, yes.question, '👍');
  platform.react(ops, ann, yes.question, '🤔');
  platform.react(ops, ann, no.question, '👎');
  await expectOutcomeFromBot(no, /^Denied by ann at /m, /^Denied by ann/);
  expect(currentMessage(yes.question).text).not.toMatch(/^Approved by/m);
  platform.react(ops, ann, yes.question, '👍');
  await expectOutcomeFromBot(yes, /^Approved by ann at /m, /^shipped two$/);
  expect([countRuns('two'), countRuns('three')]).toEqual([1, 0]);
});

interface Element {
  readonly type: string;
  readonly action_id: string;
  readonly text: { readonly text: string };
}
interface Block {
  readonly block_id?: string;
  readonly elements?: readonly Element[];
}

const buttonsIn = ({ blocks = [] }: WorkspaceMessage) =>
  (blocks as unknown as readonly Block[]).flatMap(({ block_id, elements = [] }) =>
    elements.filter(({ type }) => type === 'button').map((element) => ({ ...element, block_id })),
  );
const messagesInRoom = () => workspace.platform.messagesBy(workspace.app, room);
const textOf = (message: WorkspaceMessage | undefined) => JSON.stringify([message?.text, message?.blocks]);

async function askInWorkspace(word: string): Promise<WorkspaceMessage> {
  await workspace.platform.command(workspace.app, direct, MIA, '/deploy', word);
  return eventually(() => {
    const question = messagesInRoom().find((message) => textOf(message).includes(`/deploy ${word}`));
    expect(question && buttonsIn(question).map(({ text }) => text.text)).toEqual(['Approve', 'Deny']);
    return question as WorkspaceMessage;
  });
}

async function expectOutcomeInWorkspace(
  { ts }: WorkspaceMessage,
  outcome: RegExp,
  answer: string,
): Promise<void> {
  await eventually(() => {
    const now = messagesInRoom().find((each) => each.ts === ts);
    expect(textOf(now)).toMatch(outcome);
    expect(now && buttonsIn(now)).toEqual([]);
  });
  await eventually(() => {
    const answers = workspace.platform
      .messagesBy(workspace.app, direct)
      .filter((each) => textOf(each).includes(answer));
    expect(answers).toHaveLength(1);
  });
}

test('a team chat: only button presses and reactions of approvers decide an approval request', async () => {
  const question = await askInWorkspace('five');
  const [approve] = buttonsIn(question);
  await workspace.platform.press(workspace.app, room, MIA, question, { ...approve });
  await eventually(() => expect(textOf(messagesInRoom().at(-1))).toContain('Sorry, only named approvers'));
  await workspace.platform.react(room, MIA, question, '+1');
  expect(countRuns('five')).toBe(0);
  await workspace.platform.press(workspace.app, room, ANN, question, { ...approve });
  await expectOutcomeInWorkspace(question, /Approved by /, 'shipped five');
  const two = await askInWorkspace('six');
  await workspace.platform.react(room, ANN, two, '-1');
  await expectOutcomeInWorkspace(two, /Denied by /, 'Denied by ');
  expect(['five', 'six'].map(countRuns)).toEqual([1, 0]);
  await waitUntilIdle(gateway);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
