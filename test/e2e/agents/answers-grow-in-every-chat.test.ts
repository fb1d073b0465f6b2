// Growing answers on every chat platform: if messages can be edited, one message grows, shows a long tool
// call and open approvals, and becomes the answer; otherwise only the answer is sent. Separate files test the
// single platforms.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  requestMessages,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually, trigger } from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { LocalChat, VisibleMessage } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const chats = Object.entries(localChats).map(([name, make]) => ({ name, chat: make() }));
/** Name of the chat whose platform cannot edit messages. */
const chatWithoutEdits = 'businessmessenger';
const chatsWithEdits = chats.filter(({ name }) => name !== chatWithoutEdits);
/** Two persons. Each has a direct chat with the bot, and the name of the person is the name of the chat. */
const READER = 'Somebody who looks';
const PAYER = 'Somebody who asks';

let model: ModelServer;
let reportedCalls: ReportedCalls;
let gateway: GatewayProcess;

beforeAll(async () => {
  reportedCalls = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    const isFirst = answersSoFar(request) === 0;
    if (words.includes('pay')) {
      const calls = [5, 6].map((amount) => ({ name: 'pay', input: { amount } }));
      return isFirst ? { text: ['I shall ', 'pay.', ' '], calls, pauseMs: 700 } : { text: 'It is paid.' };
    }
    // Longer than two edits take on the slowest platform.
    const input = { steps: 26, every_ms: 200, label: 'page 3' };
    if (isFirst) return { text: ['Let me ', 'look.'], calls: [{ name: 'count', input }], pauseMs: 50 };
    return { text: ['Disk ', 'full ', 'on ', 'db-2.'], pauseMs: 100 };
  });
  for (const { chat } of chats) await chat.start();
  gateway = await startModelGateway(model, {
    resources: [
      ...chats.map(({ name, chat }) => trigger(name, { ...chat.trigger('clerk'), default_agent: 'clerk' })),
      agent('clerk', {
        model: MODEL,
        mcp_servers: [{ name: 'shelf', ...fault('echo') }, reportedCalls.entry('desk')],
        tools: ['count', 'pay'],
        policy: { ask: ['pay'], approvers: ['boss'] },
      }),
    ],
  });
  await Promise.all(chats.map(({ chat }) => chat.attach(gateway.url)));
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all(chats.map(({ chat }) => chat.stop()));
  reportedCalls[Symbol.dispose]();
});

interface Glimpse extends Pick<VisibleMessage, 'id' | 'text'> {
  /** By performance.now(). */
  readonly at: number;
}

/** Returns all texts seen in the chat until the answer, each once, in order. */
async function watchAnswer(chat: LocalChat, place: string, answer: string): Promise<readonly Glimpse[]> {
  const glimpses: Glimpse[] = [];
  await eventually(() => {
    for (const { id, text } of chat.visibleMessages(place))
      if (!glimpses.some((earlier) => earlier.id === id && earlier.text === text))
        glimpses.push({ id, text, at: performance.now() });
    expect(glimpses.at(-1)?.text).toBe(answer);
  });
  return glimpses;
}

test.concurrent.each(chatsWithEdits)(
  '$name: an answer grows in one message, which shows a long call and becomes the final answer',
  async ({ chat }) => {
    await chat.say(READER, 'look it up');
    const glimpses = await watchAnswer(chat, READER, 'Disk full on db-2.');
    expect(new Set(glimpses.map(({ id }) => id)).size).toBe(1);
    expect(glimpses[0]?.text).toMatch(/^Let me/);
    expect(glimpses.some(({ text }) => /Let me look\.[\s\S]*Using shelf\/count: page 3…/.test(text))).toBe(
      true,
    );
    const { id, isEdited } = chat.visibleMessages(READER)[0] ?? {};
    expect([chat.visibleMessages(READER).length, id, isEdited]).toEqual([1, glimpses[0]?.id, true]);
    // Platforms accept fewer edits than there are changes. The answer is sent as early as possible.
    const growing = glimpses.slice(0, -1);
    for (const [n, { at }] of growing.slice(1).entries())
      expect(at - (growing[n]?.at ?? 0)).toBeGreaterThan(900);
  },
);

test.concurrent.each(chatsWithEdits)(
  '$name: an answer that started before the questions becomes the final answer; both questions stay and show the outcome',
  async ({ name, chat }) => {
    await chat.say(PAYER, 'pay it');
    const message = await eventually(() => {
      const message = chat.visibleMessages(PAYER).find(({ text }) => text.startsWith('I shall'));
      expect(message).toBeDefined();
      return message as VisibleMessage;
    });
    const questions = await eventually(() => {
      const found = chat.visibleMessages(PAYER).filter(({ choices }) => choices.includes('Approve'));
      expect(found).toHaveLength(2);
      return found;
    });
    const { json } = await ask(`${gateway.url}/approvals?state=pending`);
    const approvals = json.approvals.filter(({ trigger: of }: { readonly trigger: string }) => of === name);
    expect(approvals).toHaveLength(2);
    for (const { id } of approvals)
      expect((await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' })).status).toBe(200);
    await eventually(() => {
      const messagesById = new Map(chat.visibleMessages(PAYER).map((each) => [each.id, each]));
      expect(messagesById.get(message.id)?.text).toBe('It is paid.');
      for (const { id } of questions)
        expect(JSON.stringify(messagesById.get(id))).toContain('Approved by an operator');
      expect(messagesById.size).toBe(3);
      expect([...messagesById.values()].flatMap(({ choices }) => choices)).toEqual([]);
    });
  },
);

test('in a chat that cannot edit messages only the final answer appears', async () => {
  const { chat } = chats.find(({ name }) => name === chatWithoutEdits) ?? {};
  await chat?.say(READER, 'look it up');
  await eventually(() =>
    expect(chat?.visibleMessages(READER).map(({ text }) => text)).toEqual(['Disk full on db-2.']),
  );
});

test('after all tests of this file the gateway has no unfinished work and has logged no error', async () => {
  await waitUntilIdle(gateway);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  expect(reportedCalls.calls).toHaveLength(2 * chatsWithEdits.length);
});
