// Agent runs with a model and tools, over the API and the command line: stream, steps and statistics.

import { resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { agent, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask, type EventReader, postStream } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

let models: ModelServer;
let gateway: GatewayProcess;
beforeAll(async () => {
  models = await ModelServer.start();
  gateway = await startAutomation({
    resources: [
      agent('helper', {
        model: 'local:tiny',
        system_prompt: 'Help.',
        mcp_servers: [
          { name: 'api', command: process.execPath, args: [resolve('test/fixtures/servers/api-server.mjs')] },
        ],
      }),
    ],
    settings: {
      providers: { local: { base_url: `${models.url}/v1` } },
      prices: { 'local:tiny': { input: 1, output: 10 } },
    },
  });
});

const eventsOf = ({ text }: EventReader) =>
  [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, name = '', data = '']) => [name, JSON.parse(data)] as const,
  );

test('a run of a model streams its answer and tool calls, and stores all steps', async () => {
  models.reply(
    { text: 'I look.', calls: [{ name: 'echo', input: { text: 'hi' } }], usage: { input: 10, output: 5 } },
    { text: ['It says ', 'hi.'], usage: { input: 20, output: 4 } },
  );
  const reader = postStream(
    `${gateway.url}/agents/helper/runs`,
    JSON.stringify({ input: 'what does it say?' }),
    { accept: 'text/event-stream' },
  );
  await reader.ended();
  const events = eventsOf(reader);
  const end = events.at(-1)?.[1];
  expect(
    events.flatMap(([name, data]) => (name === 'text' ? [data.text ?? data.delta] : [])).join('|'),
  ).toMatch(/^I look\.\|It says (\|)?hi\.$/);
  expect(events.flatMap(([name, data]) => (name === 'tool' ? [`${data.name} ${data.state}`] : []))).toEqual([
    'echo called',
    'echo done',
  ]);
  const usage = { iterations: 2, tool_calls: 1, input_tokens: 30, output_tokens: 9, cost: 0.00012 };
  expect(end).toMatchObject({ state: 'done', answer: 'It says hi.', steps_count: 6, usage });
  const run = (await ask(`${gateway.url}/runs/${encodeURIComponent(end.id)}`)).json;
  expect(run.steps.map(({ kind }: { readonly kind: string }) => kind)).toEqual([
    ...['begun', 'answer', 'called', 'result', 'answer', 'ended'],
  ]);
  expect(run.steps[3]).toMatchObject({ tool: 'echo', state: 'done', result: '{"text":"hi"}' });
  const raw = (await ask(`${gateway.url}/runs/${encodeURIComponent(end.id)}?raw=true&after=5`)).json;
  expect(raw.steps).toMatchObject([{ n: 6, row: { kind: 'ended', text: 'It says hi.' } }]);
  const { json } = await ask(`${gateway.url}/runs?agent=helper&state=done`);
  expect(json.runs).toMatchObject([{ id: end.id, kind: 'agent', usage }]);
  expect((await ask(`${gateway.url}/stats`)).json.agents.helper).toMatchObject({
    runs: 1,
    running: 0,
    ...usage,
  });
  const show = await runMain(['runs', 'show', end.id, '--url', gateway.url], {
    env: { GATEWAY_API_KEY: '' },
  });
  expect(show.stdout).toMatch(/^ +4 .* result .* echo done \{"text":"hi"\}$/m);
});

test('a run shows why the model fails and when it is retried', async () => {
  models.reply({ status: 503 }, { status: 503 }, { text: 'Here I am.' });
  const args = ['agents', 'run', 'helper', '--input', 'are you there?', '--url', gateway.url];
  const { code, stdout, stderr } = await runMain(args, { env: { GATEWAY_API_KEY: '' } });
  expect([code, stdout]).toEqual([0, 'Here I am.\n']);
  expect(stderr).toMatch(/^(the model local:tiny answered 503; retrying in [\d.]+m?s\n){2}$/);
});
