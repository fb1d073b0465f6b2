// Files that change while people are asked: who may decide stays as it was asked, a run stays that of its agent, and where that is
// gone nothing hangs, and those who have decided are told.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  runIs,
  startModelGateway,
  toldMessages,
  toldResults,
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
import { atRest } from '../../fixtures/automation/killed.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { Chat, Message, Person } from '../../fixtures/bot-platform/chat.ts';
import { buttonsOf } from '../../fixtures/bot-platform/methods-message.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

let model: ModelServer;
let desk: ReportedCalls;
let program: AgentProgram;
let platform: BotPlatform;
let bot: Bot;
let ann: Person;
let ben: Person;
let ops: Chat;
/** With its platform, so that runs without a trigger are asked about there as well. */
let channel: string;
let gateway: GatewayProcess;

beforeAll(async () => {
  desk = await ReportedCalls.start();
  program = await startAgent(() => ({ text: 'somebody else was asked' }));
  model = (await ModelServer.start()).answerWith((request) => {
    if (answersSoFar(request) > 0) return { text: `told: ${toldResults(request).join()}` };
    const words = toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
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
  desk[Symbol.dispose]();
});

/** Agents of those names, whose calls `approver` decides about; the bot talks as `talks`. */
function resources(talks: string, agents: readonly string[], approver: string) {
  const policy = { ask: ['pay'], approvers: [approver], approval_channel: channel };
  return [
    botTrigger('bot', platform, bot, {
      agent: talks,
      commands: { keep: { agent: agents.includes('keeper') ? 'keeper' : 'other' } },
    }),
    httpAgent('other', program.url),
    ...agents.map((name) => agent(name, { model: MODEL, mcp_servers: [desk.entry('desk')], policy })),
  ];
}

async function reload(...files: Parameters<typeof resources>): Promise<void> {
  writeResources(gateway.folder, resources(...files));
  expect((await ask(`${gateway.url}/admin/reload`, { method: 'POST' })).status).toBe(200);
}

async function said(person: Person, text: string) {
  const chat = platform.privateChat(person, bot);
  platform.say(chat, person, text);
  const question = await eventually(() => {
    const found = platform.saidBy(bot, ops).find((each) => each.text?.includes(text));
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
const shown = (query: string) =>
  eventually(() => bot.queries.get(query)?.answer ?? expect.unreachable('nothing'));
const textNow = ({ message_id }: Message) => ops.messages.get(message_id)?.text;
const callsFor = (text: string) => desk.calls.filter(({ args }) => args.for === text);

test('who was named when it was asked decides, of a run that goes on with its agent', async () => {
  const { chat, question, run } = await said(platform.person('Mia'), 'one');
  // Others talk there now, and others may decide about what is asked from now on.
  await reload('other', ['clerk', 'keeper'], '@ben');
  expect(await shown(press(ben, question, 'Approve'))).toBe(
    'Sorry, only those who are named as approvers may decide.',
  );
  expect(await shown(press(ann, question, 'Approve'))).toBe('It is approved.');
  await runIs(gateway, run, 'done');
  await eventually(() => expect(texts(platform, bot, chat)).toEqual(['told: pay done']));
  expect(callsFor('one')).toHaveLength(1);
  expect(program.requests).toEqual([]);
});

test('a run whose agent is gone is nobody else’s: it ends, and the question says that nothing was done (ADM2)', async () => {
  await reload('clerk', ['clerk', 'keeper'], '@ann');
  const { question, run, id } = await said(platform.person('Kai'), 'two');
  await reload('other', ['keeper'], '@ann');
  expect(await shown(press(ann, question, 'Approve'))).toBe('It is approved.');
  expect((await runIs(gateway, run, 'failed')).note).toContain('there is no agent clerk');
  await eventually(() =>
    expect(textNow(question)).toMatch(
      /Approved by ann at [^\n]*\n\nIt was not done then: there is no agent clerk\./,
    ),
  );
  expect(buttonsOf(ops.messages.get(question.message_id) as Message)).toEqual([]);
  expect((await ask(`${gateway.url}/approvals/${id}`)).json).toMatchObject({ state: 'approved' });
  expect([callsFor('two'), program.requests]).toEqual([[], []]);
  // With its agent back it goes on where it was, and nobody is asked again.
  await reload('clerk', ['clerk', 'keeper'], '@ann');
  expect((await ask(`${gateway.url}/runs/${encodeURIComponent(run)}/retry`, { method: 'POST' })).status).toBe(
    200,
  );
  expect((await runIs(gateway, run, 'done')).answer).toBe('told: pay done');
  expect(callsFor('two')).toHaveLength(1);
});

test('a run that was asked for without a trigger ends with its agent, whoever approves it', async () => {
  const { json: waiting } = await ask(`${gateway.url}/agents/keeper/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'three', wait_seconds: 20 }),
  });
  expect(waiting).toMatchObject({ state: 'waiting' });
  const question = await eventually(() => {
    const found = platform.saidBy(bot, ops).find((each) => each.text?.includes('three'));
    return found ?? expect.unreachable('nobody was asked');
  });
  await reload('clerk', ['clerk'], '@ann');
  const [{ id }] = (await ask(`${gateway.url}/approvals?state=pending`)).json.approvals;
  expect((await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' })).status).toBe(200);
  const ended = await eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(waiting.id)}`);
    expect(['failed', 'cancelled']).toContain(json.state);
    return json;
  });
  expect(ended.note).toMatch(/gone|there is no agent keeper/);
  await eventually(() =>
    expect(textNow(question)).toMatch(/Approved by an operator at [^\n]*\n\nIt was not done then: /),
  );
  expect(callsFor('three')).toEqual([]);
  await atRest(gateway);
  const errors = gateway.logs().filter(({ level }) => level === 'error');
  expect(errors.map(({ reason }) => reason)).toEqual(['there is no agent clerk']);
});
