// What a chat sees while a model answers and tools work: one message that grows, says what is being done, and is the answer in the
// end; what was cut half-way is nowhere.

import { beforeAll, expect, test } from 'vitest';
import { answersSoFar, MODEL, startModelGateway, toldMessages } from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { botTrigger, newPlatform, says } from '../../fixtures/automation/bots.ts';
import type { Bot } from '../../fixtures/bot-platform/bot.ts';
import type { BotPlatform } from '../../fixtures/bot-platform/bot-platform.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import type { Reply } from '../../fixtures/models/reply.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** By what the person says; `n` counts the answers that the model was asked for about that, from 0. */
const replies: Readonly<Record<string, (n: number, request: RecordedRequest) => Reply>> = {
  'look it up': (_, request) =>
    answersSoFar(request) === 0
      ? {
          text: ['Let me ', 'look.'],
          calls: [{ name: 'count', input: { steps: 45, every_ms: 50, label: 'page 3' } }],
          pauseMs: 50,
        }
      : { text: ['Disk ', 'full ', 'on ', 'db-2.'], pauseMs: 100 },
  'cut by a reset': (n) => cutOnce(n, 'reset'),
  'cut by an end': (n) => cutOnce(n, 'end'),
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
const asked = new Map<string, number>();
const wordsOf = (request: RecordedRequest) =>
  toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';

beforeAll(async () => {
  model = (await ModelServer.start()).answerWith((request) => {
    const words = wordsOf(request);
    const n = asked.get(words) ?? 0;
    asked.set(words, n + 1);
    return replies[words]?.(n, request);
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

/** Somebody else says it each time, until the bot has said that and nothing else; gives all that was shown meanwhile, in order. */
async function shownFor(words: string, answer: string): Promise<readonly string[]> {
  const person = platform.person(words);
  const chat = platform.privateChat(person, bot);
  platform.say(chat, person, words);
  await says(platform, bot, chat, answer);
  await eventually(async () => {
    const open = await fetch(`${gateway.url}/deliveries?state=queued,running,retrying,waiting`);
    expect(await open.json()).toMatchObject({ deliveries: [] });
  });
  await says(platform, bot, chat, answer);
  const calls = platform.calls.filter(({ values }) => String(values.chat_id) === String(chat.id));
  expect(calls.filter(({ method }) => method === 'sendMessage')).toHaveLength(1);
  return calls.flatMap(({ values }) => (values.text === undefined ? [] : [String(values.text)]));
}

test.concurrent('an answer grows in one message, which says what a long call is doing and is the answer in the end', async () => {
  const shown = await shownFor('look it up', 'Disk full on db-2.');
  expect(shown[0]).toMatch(/^Let me/);
  expect(shown.some((text) => /Let me look\.[\s\S]*Using desk\/count: page 3…/.test(text))).toBe(true);
  expect(shown.at(-1)).toBe('Disk full on db-2.');
  expect(asked.get('look it up')).toBe(2);
});

test.concurrent.each(['cut by a reset', 'cut by an end'])(
  'an answer that was %s is thrown away and asked for again: the whole is there once',
  async (words) => {
    const shown = await shownFor(words, 'The whole of it.');
    expect(shown[0]).toMatch(/^Half/);
    expect(shown.filter((text) => /Half[\s\S]*whole|whole[\s\S]*Half/.test(text))).toEqual([]);
    expect(asked.get(words)).toBe(2);
    // It is not told what it had begun to say.
    for (const request of model.requests)
      if (wordsOf(request) === words)
        expect(toldMessages(request).filter(({ role }) => role === 'assistant')).toEqual([]);
  },
);
