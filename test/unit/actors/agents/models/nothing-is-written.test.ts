import { fork } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, expect, it } from 'vitest';
import { bundled } from '../../../../fixtures/children/bundled.ts';
import { types } from '../../../../fixtures/models/asking.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import type { Reply } from '../../../../fixtures/models/reply.ts';

let server: ModelServer;
let written: string;
let report: { answers: string[]; variables: string[] };

/** What the clients' makers read from the environment by themselves. */
const theirs = {
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
  // Google's protocol has arguments that are parsed already.
  const forGoogle = five.map((reply) =>
    'calls' in reply ? { ...reply, calls: [{ name: 'no_such_tool' }] } : reply,
  );
  for (const type of types) server.reply(...(type === 'google' ? forGoogle : five));
  const child = fork(bundled('../models/asker.ts'), [server.url], {
    silent: true,
    env: { ...process.env, ...theirs },
  });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece: Buffer) => pieces.push(piece));
  child.on('message', (message) => {
    report = message as typeof report;
  });
  await once(child, 'close');
  written = Buffer.concat(pieces).toString('utf8');
});

it('AK2 asking writes nothing, whatever comes of it', () => {
  expect(report.answers).toHaveLength(20);
  expect(report.answers.filter((text) => text.startsWith('the model'))).toHaveLength(12);
  expect(written).toBe('');
});

it('AK1 each question is one request, to the address of the settings', () => {
  expect(server.requests).toHaveLength(20);
  expect(server.isEmpty).toBe(true);
});

it('PQ1 no key is looked up in the environment, and no address from there is used', () => {
  expect(report.variables.filter((name) => name.endsWith('_API_KEY'))).toEqual([]);
  expect(server.requests).toHaveLength(20);
  expect(JSON.stringify(server.requests)).not.toContain('from-the-environment');
});
