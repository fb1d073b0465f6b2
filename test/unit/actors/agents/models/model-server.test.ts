// Checks the model server fixture with OpenAI's client.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { bundle } from '../../../../fixtures/children/bundled.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import { runFolder } from '../../../../run-folder.ts';

let server: ModelServer;
let client: OpenAI;
beforeAll(async () => {
  server = await ModelServer.start();
  client = new OpenAI({ apiKey: 'key', baseURL: `${server.url}/v1`, maxRetries: 0 });
});
beforeEach(() => server.reset());

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Are we open?' }];
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } },
];
const calls = [
  { id: 'a', name: 'look_up', input: ['{"word":', '"open"', '}'] },
  { id: 'b', name: 'look_up', input: { word: 'shop' } },
];

it('the model server sends a chat completion as one JSON document', async () => {
  server.reply({ text: ['We ', 'are.'], usage: { input: 7, output: 3, cached: 2 } });
  const answer = await client.chat.completions.create({ model: 'm', messages });
  expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'We are.' } });
  expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 });
});

it('the model server streams a chat completion, and the OpenAI client assembles interleaved calls', async () => {
  server.reply({ text: ['I ', 'look.'], calls, pieceBytes: 7 });
  const stream = client.chat.completions.stream({
    model: 'm',
    messages,
    tools,
    stream_options: { include_usage: true },
  });
  const received: string[] = [];
  stream.on('content', (delta) => received.push(delta));
  const answer = await stream.finalChatCompletion();
  expect(received.join('')).toBe('I look.');
  expect(answer.choices[0]?.finish_reason).toBe('tool_calls');
  expect(answer.choices[0]?.message.tool_calls).toMatchObject([
    { id: 'a', function: { name: 'look_up', arguments: '{"word":"open"}' } },
    { id: 'b', function: { name: 'look_up', arguments: '{"word":"shop"}' } },
  ]);
  expect(answer.usage?.total_tokens).toBe(15);
});

it('the model server sends an OpenAI response as one JSON document or as a stream', async () => {
  server.reply({ text: 'We are.' }, { thoughts: 'Hm.', text: ['I ', 'look.'], calls });
  const whole = await client.responses.create({ model: 'm', input: [{ role: 'user', content: 'Are we?' }] });
  expect(whole.output_text).toBe('We are.');
  const stream = client.responses.stream({ model: 'm', input: [{ role: 'user', content: 'Are we?' }] });
  const answer = await stream.finalResponse();
  expect(answer.output_text).toBe('I look.');
  expect(answer.output.map(({ type }) => type)).toEqual([
    'reasoning',
    'message',
    'function_call',
    'function_call',
  ]);
});

it("error responses of the model server become the OpenAI client's own errors", async () => {
  server.reply(
    { status: 429, headers: { 'retry-after': '3' }, code: 'rate_limit_exceeded' },
    { status: 401 },
  );
  const limited = await client.chat.completions
    .create({ model: 'm', messages })
    .catch((error: unknown) => error);
  expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
  expect(limited).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  const denied = await client.responses.create({ model: 'm', input: 'x' }).catch((error: unknown) => error);
  expect(denied).toBeInstanceOf(OpenAI.APIError);
});

it('the model server rejects a request that a provider would reject', async () => {
  const open: OpenAI.ChatCompletionMessageParam[] = [
    ...messages,
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look_up', arguments: '{}' } }],
    },
  ];
  server.reply({ text: 'never' });
  await expect(client.chat.completions.create({ model: 'm', messages: open })).rejects.toThrow(
    'a call has no result',
  );
  expect(server.isEmpty).toBe(false);
});

it('the model server runs as a program with replies from a file', async () => {
  const script = bundle('../models/program.ts');
  const file = join(runFolder(), 'script.json');
  const rules = [{ when: 'look', reply: { calls: [{ name: 'look_up', input: { word: 'open' } }] } }];
  writeFileSync(file, JSON.stringify({ rules, replies: [{ text: 'Once.' }] }));
  const child = spawn(process.execPath, [script, '--script', file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const own = new OpenAI({ apiKey: 'key', baseURL: `${String(line).trim()}/v1`, maxRetries: 0 });
  const say = async (content: string) => {
    const answer = await own.chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] });
    return answer.choices[0]?.message;
  };
  expect((await say('hello'))?.content).toBe('Once.');
  expect((await say('look it up'))?.tool_calls).toHaveLength(1);
  expect((await say('hello'))?.content).toBe('You said: hello');
  const requests = (await (await fetch(`${String(line).trim()}/requests`)).json()) as unknown[];
  expect(requests).toHaveLength(3);
  child.stdin.end();
  const [code] = (await once(child, 'exit')) as [number | null];
  expect(code).toBe(0);
});
