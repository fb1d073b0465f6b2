// What waits for somebody's word, in every chat: signed event in, question with buttons out, press or mark in, and then the question
// says what came of it, what waited runs, and whoever asked is answered. One gateway, and people of local platforms. What only one
// of these has is in approvals-in-chats.test.ts.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
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
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { atRest } from '../../fixtures/automation/killed.ts';
import type { LocalChat, Seen } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const chats = Object.entries(localChats).map(([name, make]) => ({ name, chat: make() }));
const nothingChangesIn = chats.find(({ name }) => name === 'businessmessenger')?.chat;
let program: AgentProgram;
let model: ModelServer;
let desk: ReportedCalls;
let gateway: GatewayProcess;

/** Where people are asked, and who is there may decide. */
const opsOf = ({ hasGroups }: LocalChat) => (hasGroups === false ? 'Ops' : '#ops');
/** A word of what was said, whatever a platform makes of the rest. */
const wordIn = (text: string) => /for-[\w-]+/.exec(text)?.[0] ?? '';

interface Approver {
  /** As the agent is told the conversation. */
  readonly channel: string;
  readonly user: string;
}

/** By chat; learnt from what they say, as whoever writes a file would look it up. */
const approvers = new Map<string, Approver>();

beforeAll(async () => {
  program = await startAgent(({ body }) => {
    const word = wordIn(JSON.stringify(body));
    return { text: word === '' ? '' : `did ${word}` };
  });
  desk = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    if (answersSoFar(request) > 0) return { text: `told: ${toldResults(request).join()}` };
    const said = toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    return { calls: [{ name: 'pay', input: { for: wordIn(said), amount: 5 } }] };
  });
  for (const { chat } of chats) await chat.start();
  gateway = await startModelGateway(model, { resources: resources() });
  await Promise.all(chats.map(({ chat }) => chat.attach(gateway.url)));
  await Promise.all(chats.map(({ name, chat }) => chat.say(opsOf(chat), `Hello from ${name}.`)));
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
  desk[Symbol.dispose]();
});

function resources() {
  const triggers = chats.map(({ name, chat }) => {
    const { config, commands, ...spec } = chat.trigger('deployer');
    const approver = approvers.get(name);
    const gate = approver && {
      ...{ requires_approval: true, approvers: [approver.user], approval_channel: approver.channel },
    };
    const forWhat = { parameters: [{ name: 'what', required: true }] };
    const more = {
      deploy: { agent: 'deployer', ...forWhat, ...gate },
      pay: { agent: 'cashier', ...forWhat },
    };
    return trigger(name, { ...spec, config, commands: { ...commands, ...more }, default_agent: 'deployer' });
  });
  const users = [...approvers.values()].map(({ user }) => user);
  const policy = { ask: ['pay'], approvers: [...users, 'somebody'], self_approval: true };
  const cashier = agent('cashier', { model: MODEL, mcp_servers: [desk.entry('desk')], policy });
  return [...triggers, httpAgent('deployer', program.url), cashier];
}

const timesDone = (word: string) =>
  program.requests.filter(({ body }) => wordIn(JSON.stringify(body)) === word).length;

/** All that can be read in a message, whatever form the platform has for it. */
const words = ({ title = '', text, fields }: Seen) =>
  [title, text, ...fields.map(({ name, value }) => `${name}: ${value}`)].join('\n');

/** Until people are asked about that there. */
const asked = (chat: LocalChat, place: string, word: string): Promise<Seen> =>
  eventually(() => {
    const found = chat.seen(place).find((each) => words(each).includes(word) && each.choices.length > 0);
    expect(found?.choices).toEqual(['Approve', 'Deny']);
    return found as Seen;
  });

/** Until the question has become the outcome; in a chat where nothing can be changed, until that stands below it. */
const settled = (chat: LocalChat, place: string, { id }: Seen, word: string, outcome: RegExp) =>
  eventually(() => {
    const told = chat.seen(place).filter((each) => words(each).includes(word) && outcome.test(words(each)));
    expect(told).toHaveLength(1);
    expect(told[0]?.choices).toEqual([]);
    const isChanged = chat !== nothingChangesIn;
    expect([told[0]?.isEdited, told[0]?.id === id]).toEqual([isChanged, isChanged]);
  });

const isAnswered = (chat: LocalChat, place: string, answer: RegExp) =>
  eventually(() => expect(chat.seen(place).filter((each) => answer.test(each.text))).toHaveLength(1));

/** One after the other: a press is of the newest question in its place. */
test.concurrent.each(chats)(
  '$name: a button and a mark decide, of a command and of a tool, and whoever asked presses in vain',
  async ({ name, chat }) => {
    const ops = opsOf(chat);

    // A command that is asked about elsewhere runs when the button there is pressed.
    const command = `for-${name}-command`;
    await chat.command('Asker', 'deploy', { what: command });
    const question = await asked(chat, ops, command);
    expect(words(question)).toMatch(new RegExp(`/deploy .*${command}`));
    await isAnswered(chat, 'Asker', /This waits for approval of /);
    expect(timesDone(command)).toBe(0);
    await chat.press(ops, 'Approve');
    await settled(chat, ops, question, command, /Approved by /);
    await isAnswered(chat, 'Asker', new RegExp(`did ${command}`));
    expect(timesDone(command)).toBe(1);

    // A tool that is asked about where its agent is talked with is called when the question is marked.
    const tool = `for-${name}-tool`;
    const timesCalled = () => desk.calls.filter(({ args }) => args.for === tool).length;
    await chat.command(ops, 'pay', { what: tool });
    const aboutTool = await asked(chat, ops, tool);
    expect(words(aboutTool)).toContain('desk/pay');
    expect(timesCalled()).toBe(0);
    if (chat.mark === undefined) await chat.press(ops, 'Approve');
    else await chat.mark(ops, 'up');
    await settled(chat, ops, aboutTool, tool, /Approved by /);
    await isAnswered(chat, ops, /told: pay done/);
    expect(timesCalled()).toBe(1);

    const own = `for-${name}-own`;
    await chat.command(ops, 'deploy', { what: own });
    const aboutOwn = await asked(chat, ops, own);
    await chat.press(ops, 'Approve');
    // One platform shows it to whoever pressed, and to nobody else.
    if (name !== 'botmessenger') await isAnswered(chat, ops, /whoever asked may not decide/);
    const { json } = await ask(`${gateway.url}/approvals?state=pending`);
    const [pending] = json.approvals.filter(({ trigger: of }: { readonly trigger: string }) => of === name);
    expect((await ask(`${gateway.url}/approvals/${pending.id}/deny`, { method: 'POST' })).status).toBe(200);
    await settled(chat, ops, aboutOwn, own, /Denied by an operator/);
    expect(timesDone(own)).toBe(0);
  },
);

test('afterwards nothing waits, and nothing went wrong', async () => {
  await atRest(gateway);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  expect((await ask(`${gateway.url}/approvals?state=pending`)).json.approvals).toEqual([]);
});
