// A chat message while the model answers and tools work: one message grows, shows the current work, and
// becomes the answer. Interrupted answers leave no trace.

import { beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  requestMessages,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { botTrigger, expectBotTexts, newPlatform } from '../../fixtures/automation/bots.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import type { Reply } from '../../fixtures/models/reply.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** Replies by the text of the person. `n` counts the model answers to that text, from 0. */
const replies: Readonly<Record<string, (n: number, request: RecordedRequest) => Reply>> = {
  'look it up': (_, request) =>
    answersSoFar(request) === 0
      ? {
          text: ['Let me ', 'look.'],
          calls: [{ name: 'count', input: { steps: 45, every_ms: 50, label: 'page 3' } }],
          pauseMs: 50,
        }
      : { text: ['Disk ', 'full ', 'on ', 'db-2.'], pauseMs: 100 },
  'interrupted by a reset': (n) => cutOnce(n, 'reset'),
  'interrupted by an end': (n) => cutOnce(n, 'end'),
};

function cutOnce(n: number, how: 'reset' | 'end'): Reply {
  if (n > 0) return { text: ['The whole ', 'of it.'] };
  return {
    text: 'Half of an answer that nobody '.split(/(?<= )/),
    pauseMs: 450,
    cut: { afterBytes: 900, how },
  };
}

let model: ModelServer;
let platform: BotPlatform;
let bot: Bot;
let gateway: GatewayProcess;
const requestCounts = new Map<string, number>();
const inputOf = (request: RecordedRequest) =>
  requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';

beforeAll(async () => {
  model = (await ModelServer.start()).answerWith((request) => {
    const input = inputOf(request);
    const n = requestCounts.get(input) ?? 0;
    requestCounts.set(input, n + 1);
    return replies[input]?.(n, request);
  });
  platform = await newPlatform();
  bot = platform.addBot('a_bot');
  gateway = await startModelGateway(model, {
    resources: [
      botTrigger('bot', platform, bot, { agent: 'clerk' }),
      agent('clerk', { model: MODEL, mcp_servers: [{ name: 'desk', ...fault('echo') }], tools: ['count'] }),
    ],
  });
});

/**
 * Sends the text as a new person, and blocks until the answer arrives. Returns every text that the answering
 * message had, in order.
 */
async function collectStates(input: string, answer: string): Promise<readonly string[]> {
  const person = platform.person(input);
  const chat = platform.privateChat(person, bot);
  platform.say(chat, person, input);
  await expectBotTexts(platform, bot, chat, answer);
  await eventually(async () => {
    const open = await fetch(`${gateway.url}/deliveries?state=queued,running,retrying,waiting`);
    expect(await open.json()).toMatchObject({ deliveries: [] });
  });
  await expectBotTexts(platform, bot, chat, answer);
  const calls = platform.calls.filter(({ values }) => String(values.chat_id) === String(chat.id));
  expect(calls.filter(({ method }) => method === 'sendMessage')).toHaveLength(1);
  return calls.flatMap(({ values }) => (values.text === undefined ? [] : [String(values.text)]));
}

test.concurrent('a streamed answer grows in one chat message, which shows a long tool call and then the final answer', async () => {
  const texts = await collectStates('look it up', 'Disk full on db-2.');
  expect(texts[0]).toMatch(/^Let me/);
  expect(texts.some((text) => /Let me look\.[\s\S]*Using desk\/count: page 3…/.test(text))).toBe(true);
  expect(texts.at(-1)).toBe('Disk full on db-2.');
  expect(requestCounts.get('look it up')).toBe(2);
});

test.concurrent.each(['interrupted by a reset', 'interrupted by an end'])(
  'a model answer that was %s is discarded and requested again: the whole answer appears once',
  async (input) => {
    const texts = await collectStates(input, 'The whole of it.');
    expect(texts[0]).toMatch(/^Half/);
    expect(texts.filter((text) => /Half[\s\S]*whole|whole[\s\S]*Half/.test(text))).toEqual([]);
    expect(requestCounts.get(input)).toBe(2);
    // The model does not receive its partial answer.
    for (const request of model.requests)
      if (inputOf(request) === input)
        expect(requestMessages(request).filter(({ role }) => role === 'assistant')).toEqual([]);
  },
);
