// Servers that list more for clients that can do more. At /mcp their lists are merged for everybody: a client must not
// lose what its own process offers because of another that can do less.

import { expect, test } from 'vitest';
import { bothErasOverStdio } from '../fixtures/both-eras/start.ts';
import { startGateway } from '../fixtures/gateway-process.ts';
import { details } from '../fixtures/raw-session.ts';
import { connectReal } from '../fixtures/real-clients.ts';
import { everythingServer } from '../fixtures/real-servers.ts';
import { ask } from '../fixtures/stateless-client.ts';

const SAMPLING = 'everything__trigger-sampling-request';

const namesOf = async (client: { listTools(): Promise<{ tools: { name: string }[] }> }) =>
  (await client.listTools()).tools.map(({ name }) => name);

test('a session keeps seeing, and can call, the tools its own process offers, whatever others can do', async () => {
  const gateway = await startGateway({
    servers: { everything: { ...everythingServer, isolation: 'session' } },
  });
  const able = await connectReal('v1', { url: `${gateway.url}/mcp` });
  await able.call('everything__echo', { message: 'a' });
  expect(await namesOf(able)).toContain(SAMPLING);
  const plain = await connectReal('v1', { url: `${gateway.url}/mcp` }, false);
  await plain.call('everything__echo', { message: 'b' });
  await plain.listTools();
  expect(await namesOf(able)).toContain(SAMPLING);
  const answer = await able.call(SAMPLING, { prompt: 'p', maxTokens: 10 });
  expect(JSON.stringify(answer)).toContain('sampled');
});

test('what a session lists first is learnt on the process that its calls will use', async () => {
  const gateway = await startGateway({
    servers: { everything: { ...everythingServer, isolation: 'session' } },
  });
  const able = await connectReal('v1', { url: `${gateway.url}/mcp` });
  expect(await namesOf(able)).toContain(SAMPLING);
  const [pid] = (await details(gateway.url, 'everything')).pids;
  await able.call('everything__echo', { message: 'a' });
  expect((await details(gateway.url, 'everything')).pids).toEqual([pid]);
});

test('a modern server is told of its client’s roots only with forward_roots: true', async () => {
  const own = { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern' };
  const gateway = await startGateway({ servers: { kept: own, told: { ...own, forward_roots: true } } });
  const capabilities = { roots: {}, elicitation: {} };
  for (const [id, expected] of [
    ['kept', { elicitation: {} }],
    ['told', capabilities],
  ] as const) {
    const { result } = await ask(
      `${gateway.url}/mcp/${id}`,
      'tools/call',
      { name: 'stats' },
      { capabilities },
    );
    expect(JSON.parse(result.content[0].text).mine.clientCapabilities).toEqual(expected);
  }
});
