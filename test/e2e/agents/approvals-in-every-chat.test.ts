// Approvals on every chat platform: a signed event leads to a question with buttons; a press or a reaction
// decides; the question shows the outcome, the work continues, and the requester is answered. One gateway,
// and people on local platforms. See approvals-in-chats.test.ts for single platforms.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
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
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { LocalChat, VisibleMessage } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const chats = Object.entries(localChats).map(([name, make]) => ({ name, chat: make() }));
/** A chat whose platform cannot edit messages. */
const chatWithoutEdits = chats.find(({ name }) => name === 'businessmessenger')?.chat;
let program: AgentProgram;
let model: ModelServer;
let reportedCalls: ReportedCalls;
let gateway: GatewayProcess;

/** Approval channel, whose members may decide. */
const operatorsChannel = ({ hasGroups }: LocalChat) => (hasGroups === false ? 'Ops' : '#ops');
/** Finds the id of the request (`for-…`) in a text with any markup. */
const requestIdIn = (text: string) => /for-[\w-]+/.exec(text)?.[0] ?? '';

interface Approver {
  /** Channel as seen by the agent. */
  readonly channel: string;
  readonly user: string;
}

/** Approvers by chat, with the ids from their first messages: the resources need the ids of the platform. */
const approvers = new Map<string, Approver>();

beforeAll(async () => {
  program = await startAgent(({ body }) => {
    const requestId = requestIdIn(JSON.stringify(body));
    return { text: requestId === '' ? '' : `did ${requestId}` };
  });
  reportedCalls = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    if (answersSoFar(request) > 0) return { text: `told: ${requestToolResults(request).join()}` };
    const input = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    return { calls: [{ name: 'pay', input: { for: requestIdIn(input), amount: 5 } }] };
  });
  for (const { chat } of chats) await chat.start();
  gateway = await startModelGateway(model, { resources: resources() });
  await Promise.all(chats.map(({ chat }) => chat.attach(gateway.url)));
  await Promise.all(chats.map(({ name, chat }) => chat.say(operatorsChannel(chat), `Hello from ${name}.`)));
  await eventually(() => {
    for (const { body } of program.requests) {
      const { context } = body.event;
      const user = context['chat.sender.id'] ?? context['sender.id'] ?? context['sender.number'];
      approvers.set(body.trigger, { channel: body.conversation, user: String(user) });
    }
    expect(approvers.size).toBe(chats.length);
  });
  writeResources(gateway.folder, resources());
  const reloaded = await ask(`${gateway.url}/admin/reload`, { method: 'POST' });
  expect(reloaded.status).toBe(200);
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all(chats.map(({ chat }) => chat.stop()));
  reportedCalls[Symbol.dispose]();
});

function resources() {
  const triggers = chats.map(({ name, chat }) => {
    const { config, commands, ...spec } = chat.trigger('deployer');
    const approver = approvers.get(name);
    const gate = approver && {
      requires_approval: true,
      approvers: [approver.user],
      approval_channel: approver.channel,
    };
    const parameters = [{ name: 'what', required: true }];
    const approvalCommands = {
      deploy: { agent: 'deployer', parameters, ...gate },
      pay: { agent: 'cashier', parameters },
    };
    return trigger(name, {
      ...spec,
      config,
      commands: { ...commands, ...approvalCommands },
      default_agent: 'deployer',
    });
  });
  const users = [...approvers.values()].map(({ user }) => user);
  const policy = { ask: ['pay'], approvers: [...users, 'somebody'], self_approval: true };
  const cashier = agent('cashier', { model: MODEL, mcp_servers: [reportedCalls.entry('desk')], policy });
  return [...triggers, httpAgent('deployer', program.url), cashier];
}

const countRuns = (requestId: string) =>
  program.requests.filter(({ body }) => requestIdIn(JSON.stringify(body)) === requestId).length;

/** All readable text in the message, on any platform. */
const readableText = ({ title = '', text, fields }: VisibleMessage) =>
  [title, text, ...fields.map(({ name, value }) => `${name}: ${value}`)].join('\n');

const findQuestion = (chat: LocalChat, place: string, requestId: string): Promise<VisibleMessage> =>
  eventually(() => {
    const question = chat
      .visibleMessages(place)
      .find((each) => readableText(each).includes(requestId) && each.choices.length > 0);
    expect(question?.choices).toEqual(['Approve', 'Deny']);
    return question as VisibleMessage;
  });

/**
 * Returns when the question shows the outcome. In a chat that cannot edit messages, the outcome is sent below
 * the question.
 */
const expectOutcome = (
  chat: LocalChat,
  place: string,
  { id }: VisibleMessage,
  requestId: string,
  outcome: RegExp,
) =>
  eventually(() => {
    const outcomes = chat
      .visibleMessages(place)
      .filter((each) => readableText(each).includes(requestId) && outcome.test(readableText(each)));
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]?.choices).toEqual([]);
    const editsQuestion = chat !== chatWithoutEdits;
    expect([outcomes[0]?.isEdited, outcomes[0]?.id === id]).toEqual([editsQuestion, editsQuestion]);
  });

/** Blocks until the place shows one message that matches. */
const expectAnswer = (chat: LocalChat, place: string, answer: RegExp) =>
  eventually(() =>
    expect(chat.visibleMessages(place).filter((each) => answer.test(each.text))).toHaveLength(1),
  );

// The steps of one chat run in sequence, because a press applies to the newest question of the chat.
test.concurrent.each(chats)(
  '$name: a button approves a command, a reaction approves a tool call, and a press by the requester has no effect',
  async ({ name, chat }) => {
    const ops = operatorsChannel(chat);

    // A button press in the approval channel approves the command.
    const command = `for-${name}-command`;
    await chat.command('Asker', 'deploy', { what: command });
    const question = await findQuestion(chat, ops, command);
    expect(readableText(question)).toMatch(new RegExp(`/deploy .*${command}`));
    await expectAnswer(chat, 'Asker', /Waiting for approval by /);
    expect(countRuns(command)).toBe(0);
    await chat.press(ops, 'Approve');
    await expectOutcome(chat, ops, question, command, /Approved by /);
    await expectAnswer(chat, 'Asker', new RegExp(`did ${command}`));
    expect(countRuns(command)).toBe(1);

    // The agent's chat contains the question for a tool call, and a reaction approves it.
    const tool = `for-${name}-tool`;
    const timesCalled = () => reportedCalls.calls.filter(({ args }) => args.for === tool).length;
    await chat.command(ops, 'pay', { what: tool });
    const aboutTool = await findQuestion(chat, ops, tool);
    expect(readableText(aboutTool)).toContain('desk/pay');
    expect(timesCalled()).toBe(0);
    if (chat.react === undefined) await chat.press(ops, 'Approve');
    else await chat.react(ops, 'up');
    await expectOutcome(chat, ops, aboutTool, tool, /Approved by /);
    await expectAnswer(chat, ops, /told: pay done/);
    expect(timesCalled()).toBe(1);

    const own = `for-${name}-own`;
    await chat.command(ops, 'deploy', { what: own });
    const aboutOwn = await findQuestion(chat, ops, own);
    await chat.press(ops, 'Approve');
    // Botmessenger hides the notice from other members.
    if (name !== 'botmessenger') await expectAnswer(chat, ops, /the requester may not decide/);
    const { json } = await ask(`${gateway.url}/approvals?state=pending`);
    const [pending] = json.approvals.filter(
      (approval: { readonly trigger: string }) => approval.trigger === name,
    );
    expect((await ask(`${gateway.url}/approvals/${pending.id}/deny`, { method: 'POST' })).status).toBe(200);
    await expectOutcome(chat, ops, aboutOwn, own, /Denied by an operator/);
    expect(countRuns(own)).toBe(0);
  },
);

test('after approvals in all chats, no approval is pending and no error was logged', async () => {
  await waitUntilIdle(gateway);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  expect((await ask(`${gateway.url}/approvals?state=pending`)).json.approvals).toEqual([]);
});
