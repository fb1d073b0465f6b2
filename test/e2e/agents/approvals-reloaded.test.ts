// Reloads while approvals are pending: a question keeps its approvers, and a run keeps its agent. If the
// agent is removed, the run is ended and the approvers are notified.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  MODEL,
  requestMessages,
  requestToolResults,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import {
  type AgentProgram,
  agent,
  eventually,
  httpAgent,
  startAgent,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { Chat, Message, Person } from '../../fixtures/bot-platform/chat.ts';
import { buttonsOf } from '../../fixtures/bot-platform/methods-message.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

let model: ModelServer;
let reportedCalls: ReportedCalls;
let program: AgentProgram;
let platform: BotPlatform;
let bot: Bot;
let ann: Person;
let ben: Person;
let ops: Chat;
/** Includes the platform, so that questions of runs that no trigger started are sent there as well. */
let channel: string;
let gateway: GatewayProcess;

beforeAll(async () => {
  reportedCalls = await ReportedCalls.start();
  program = await startAgent(() => ({ text: 'somebody else was asked' }));
  model = (await ModelServer.start()).answerWith((request) => {
    if (answersSoFar(request) > 0) return { text: `told: ${requestToolResults(request).join()}` };
    const words = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    return { calls: [{ name: 'pay', input: { for: words } }] };
  });
  platform = await newPlatform();
  bot = platform.addBot('clerk_bot');
  [ann, ben] = [platform.person('Ann', 'ann'), platform.person('Ben', 'ben')];
  ops = platform.group('Ops', bot);
  channel = `botmessenger/${bot.id}@${new URL(platform.url).host}/${ops.id}`;
  gateway = await startModelGateway(model, { resources: resources('clerk', ['clerk', 'keeper'], '@ann') });
});

afterAll(async () => {
  await gateway.stop();
  reportedCalls[Symbol.dispose]();
});

/** Agents of these names, whose calls `approver` decides. The bot trigger calls `botAgent`. */
function resources(botAgent: string, agents: readonly string[], approver: string) {
  const policy = { ask: ['pay'], approvers: [approver], approval_channel: channel };
  return [
    botTrigger('bot', platform, bot, {
      agent: botAgent,
      commands: { keep: { agent: agents.includes('keeper') ? 'keeper' : 'other' } },
    }),
    httpAgent('other', program.url),
    ...agents.map((name) =>
      agent(name, { model: MODEL, mcp_servers: [reportedCalls.entry('desk')], policy }),
    ),
  ];
}

async function reload(...setup: Parameters<typeof resources>): Promise<void> {
  writeResources(gateway.folder, resources(...setup));
  expect((await ask(`${gateway.url}/admin/reload`, { method: 'POST' })).status).toBe(200);
}

async function send(person: Person, text: string) {
  const chat = platform.privateChat(person, bot);
  platform.say(chat, person, text);
  const question = await eventually(() => {
    const found = platform.messagesBy(bot, ops).find((each) => each.text?.includes(text));
    return found ?? expect.unreachable('nobody was asked');
  });
  const { json } = await ask(`${gateway.url}/approvals?state=pending`);
  const [{ id, run }] = json.approvals;
  return { chat, question, id: id as string, run: run as string };
}

const press = (person: Person, question: Message, title: string) =>
  platform.press(
    bot,
    person,
    question,
    buttonsOf(question).find(({ text }) => text === title)?.callback_data ?? '',
  );
/** Returns the text that the bot shows to the person who pressed. */
const pressAnswer = (query: string) =>
  eventually(() => bot.queries.get(query)?.answer ?? expect.unreachable('nothing'));
const currentText = ({ message_id }: Message) => ops.messages.get(message_id)?.text;
const callsFor = (text: string) => reportedCalls.calls.filter(({ args }) => args.for === text);

test('after a reload, a pending approval is decided by its original approver, and its run continues with its original agent', async () => {
  const { chat, question, run } = await send(platform.person('Mia'), 'one');
  // After the reload another agent answers there, and another approver decides new questions.
  await reload('other', ['clerk', 'keeper'], '@ben');
  expect(await pressAnswer(press(ben, question, 'Approve'))).toBe('Sorry, only named approvers may decide.');
  expect(await pressAnswer(press(ann, question, 'Approve'))).toBe('Request approved.');
  await expectRunState(gateway, run, 'done');
  await eventually(() => expect(texts(platform, bot, chat)).toEqual(['told: pay done']));
  expect(callsFor('one')).toHaveLength(1);
  expect(program.requests).toEqual([]);
});

test('an approved run of a removed agent fails, no other agent continues the run, and the chat shows that nothing was done', async () => {
  await reload('clerk', ['clerk', 'keeper'], '@ann');
  const { question, run, id } = await send(platform.person('Kai'), 'two');
  await reload('other', ['keeper'], '@ann');
  expect(await pressAnswer(press(ann, question, 'Approve'))).toBe('Request approved.');
  expect((await expectRunState(gateway, run, 'failed')).note).toContain('there is no agent clerk');
  await eventually(() =>
    expect(currentText(question)).toMatch(
      /Approved by ann at [^\n]*\n\nIt was not done: there is no agent clerk\./,
    ),
  );
  expect(buttonsOf(ops.messages.get(question.message_id) as Message)).toEqual([]);
  expect((await ask(`${gateway.url}/approvals/${id}`)).json).toMatchObject({ state: 'approved' });
  expect([callsFor('two'), program.requests]).toEqual([[], []]);
  // When the agent is back, the run continues with no new question.
  await reload('clerk', ['clerk', 'keeper'], '@ann');
  expect((await ask(`${gateway.url}/runs/${encodeURIComponent(run)}/retry`, { method: 'POST' })).status).toBe(
    200,
  );
  expect((await expectRunState(gateway, run, 'done')).answer).toBe('told: pay done');
  expect(callsFor('two')).toHaveLength(1);
});

test('a run that no trigger started is ended when the agent is removed, even if it was approved', async () => {
  const { json: waiting } = await ask(`${gateway.url}/agents/keeper/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'three', wait_seconds: 20 }),
  });
  expect(waiting).toMatchObject({ state: 'waiting' });
  const question = await eventually(() => {
    const found = platform.messagesBy(bot, ops).find((each) => each.text?.includes('three'));
    return found ?? expect.unreachable('nobody was asked');
  });
  await reload('clerk', ['clerk'], '@ann');
  const [{ id }] = (await ask(`${gateway.url}/approvals?state=pending`)).json.approvals;
  expect((await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' })).status).toBe(200);
  const run = await eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(waiting.id)}`);
    expect(['failed', 'cancelled']).toContain(json.state);
    return json;
  });
  expect(run.note).toMatch(/removed or disabled|there is no agent keeper/);
  await eventually(() =>
    expect(currentText(question)).toMatch(/Approved by an operator at [^\n]*\n\nIt was not done: /),
  );
  expect(callsFor('three')).toEqual([]);
  await waitUntilIdle(gateway);
  const errors = gateway.logs().filter(({ level }) => level === 'error');
  expect(errors.map(({ reason }) => reason)).toEqual(['there is no agent clerk']);
});
