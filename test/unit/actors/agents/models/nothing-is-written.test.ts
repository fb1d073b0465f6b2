import { fork } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, expect, it } from 'vitest';
import { bundle } from '../../../../fixtures/children/bundled.ts';
import { providerTypes } from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import type { Reply } from '../../../../fixtures/models/reply.ts';

let server: ModelServer;
let output: string;
let report: { answers: string[]; variables: string[] };

/** Environment variables that provider clients read by default. */
const providerVariables = {
  AI_GATEWAY_API_KEY: 'from-the-environment',
  ANTHROPIC_API_KEY: 'from-the-environment',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/from-the-environment',
  GOOGLE_GENERATIVE_AI_API_KEY: 'from-the-environment',
  OPENAI_API_KEY: 'from-the-environment',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/from-the-environment',
};

const five: readonly Reply[] = [
  { thoughts: 'Hm.', text: '{"open":true}' },
  { calls: [{ name: 'no_such_tool', input: '{"a":' }], text: 'I look it up.' },
  { status: 500 },
  { text: ['half ', 'an answer'], cut: { afterBytes: 300, how: 'reset' } },
  { text: 'half', inserted: { at: 1, raw: 'data: {"no JSON\n\n' } },
];

beforeAll(async () => {
  server = await ModelServer.start();
  // Google's protocol contains parsed arguments.
  const forGoogle = five.map((reply) =>
    'calls' in reply ? { ...reply, calls: [{ name: 'no_such_tool' }] } : reply,
  );
  for (const type of providerTypes) server.reply(...(type === 'google' ? forGoogle : five));
  const child = fork(bundle('../models/asker.ts'), [server.url], {
    silent: true,
    env: { ...process.env, ...providerVariables },
  });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece: Buffer) => pieces.push(piece));
  child.on('message', (message) => {
    report = message as typeof report;
  });
  await once(child, 'close');
  output = Buffer.concat(pieces).toString('utf8');
});

it('model requests write no output, whatever their result', () => {
  expect(report.answers).toHaveLength(20);
  expect(report.answers.filter((text) => text.startsWith('the model'))).toHaveLength(12);
  expect(output).toBe('');
});

it('each model request is sent once, to the configured address', () => {
  expect(server.requests).toHaveLength(20);
  expect(server.isEmpty).toBe(true);
});

it('model requests read neither keys nor addresses from the environment', () => {
  expect(report.variables.filter((name) => name.endsWith('_API_KEY'))).toEqual([]);
  expect(server.requests).toHaveLength(20);
  expect(JSON.stringify(server.requests)).not.toContain('from-the-environment');
});
