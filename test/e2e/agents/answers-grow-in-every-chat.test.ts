// What every chat sees of an answer while a model makes it: where the platform changes messages, one that grows at its pace, says what a
// long call of a tool is doing, waits for people, and is the answer in the end; elsewhere the answer alone. What only one chat has to do
// with it is in the tests of that chat.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { answersSoFar, MODEL, startModelGateway, toldMessages } from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually, trigger } from '../../fixtures/automation/automation.ts';
import { atRest } from '../../fixtures/automation/killed.ts';
import type { LocalChat, Seen } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const chats = Object.entries(localChats).map(([name, make]) => ({ name, chat: make() }));
const nothingChangesIn = 'businessmessenger';
const changing = chats.filter(({ name }) => name !== nothingChangesIn);
const LOOKS = 'Somebody who looks';
const ASKS = 'Somebody who asks';

let model: ModelServer;
let desk: ReportedCalls;
let gateway: GatewayProcess;

beforeAll(async () => {
  desk = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    const isFirst = answersSoFar(request) === 0;
    if (words.includes('pay')) {
      const calls = [5, 6].map((amount) => ({ name: 'pay', input: { amount } }));
      return isFirst ? { text: ['I shall ', 'pay.', ' '], calls, pauseMs: 700 } : { text: 'It is paid.' };
    }
    // Longer than the slowest of them takes for two changes.
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
        mcp_servers: [{ name: 'shelf', ...fault('echo') }, desk.entry('desk')],
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
  desk[Symbol.dispose]();
});

interface Glimpse extends Pick<Seen, 'id' | 'text'> {
  /** In performance.now() milliseconds. */
  readonly at: number;
}

/** All that is seen in the place until the answer is there, each text once, as it comes. */
async function watched(chat: LocalChat, place: string, answer: string): Promise<readonly Glimpse[]> {
  const glimpses: Glimpse[] = [];
  await eventually(() => {
    for (const { id, text } of chat.seen(place))
      if (!glimpses.some((known) => known.id === id && known.text === text))
        glimpses.push({ id, text, at: performance.now() });
    expect(glimpses.at(-1)?.text).toBe(answer);
  });
  return glimpses;
}

test.concurrent.each(changing)(
  '$name: one message grows, says what a long call is doing, and is the answer in the end',
  async ({ chat }) => {
    await chat.say(LOOKS, 'look it up');
    const glimpses = await watched(chat, LOOKS, 'Disk full on db-2.');
    expect(new Set(glimpses.map(({ id }) => id)).size).toBe(1);
    expect(glimpses[0]?.text).toMatch(/^Let me/);
    expect(glimpses.some(({ text }) => /Let me look\.[\s\S]*Using shelf\/count: page 3…/.test(text))).toBe(
      true,
    );
    const { id, isEdited } = chat.seen(LOOKS)[0] ?? {};
    expect([chat.seen(LOOKS).length, id, isEdited]).toEqual([1, glimpses[0]?.id, true]);
    // No platform takes a change each time that there is something new; the answer comes as soon as it may.
    const growing = glimpses.slice(0, -1);
    for (const [n, { at }] of growing.slice(1).entries())
      expect(at - (growing[n]?.at ?? 0)).toBeGreaterThan(900);
  },
);

test.concurrent.each(changing)(
  '$name: what had begun before people were asked is the answer in the end; each of two questions stays, with what came of it',
  async ({ name, chat }) => {
    await chat.say(ASKS, 'pay it');
    const begun = await eventually(() => {
      const found = chat.seen(ASKS).find(({ text }) => text.startsWith('I shall'));
      expect(found).toBeDefined();
      return found as Seen;
    });
    const questions = await eventually(() => {
      const found = chat.seen(ASKS).filter(({ choices }) => choices.includes('Approve'));
      expect(found).toHaveLength(2);
      return found;
    });
    const { json } = await ask(`${gateway.url}/approvals?state=pending`);
    const asked = json.approvals.filter(({ trigger: of }: { readonly trigger: string }) => of === name);
    expect(asked).toHaveLength(2);
    for (const { id } of asked)
      expect((await ask(`${gateway.url}/approvals/${id}/approve`, { method: 'POST' })).status).toBe(200);
    await eventually(() => {
      const said = new Map(chat.seen(ASKS).map((each) => [each.id, each]));
      expect(said.get(begun.id)?.text).toBe('It is paid.');
      for (const { id } of questions)
        expect(JSON.stringify(said.get(id))).toContain('Approved by an operator');
      expect(said.size).toBe(3);
      expect([...said.values()].flatMap(({ choices }) => choices)).toEqual([]);
    });
  },
);

test('where nothing can be changed the answer alone is said', async () => {
  const { chat } = chats.find(({ name }) => name === nothingChangesIn) ?? {};
  await chat?.say(LOOKS, 'look it up');
  await eventually(() => expect(chat?.seen(LOOKS).map(({ text }) => text)).toEqual(['Disk full on db-2.']));
});

test('afterwards nothing is at work, and nothing went wrong', async () => {
  await atRest(gateway);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  expect(desk.calls).toHaveLength(2 * changing.length);
});
