// Servers with lists that depend on client capabilities. Lists at /mcp are merged for all clients. A client
// must not lose tools of its process because another client has fewer capabilities.

import { expect, test } from 'vitest';
import { bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import { allClientCapabilities, modern, prepared, textOf } from '../../fixtures/clients/modern-client.ts';
import { details } from '../../fixtures/clients/raw-session.ts';
import { connectReal } from '../../fixtures/clients/real-clients.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { configured, StdioWrapper } from '../../fixtures/gateway/stdio-gateway.ts';
import { everythingServer } from '../../fixtures/server/real-servers.ts';

const SAMPLING = 'everything__trigger-sampling-request';

const namesOf = async (client: { listTools(): Promise<{ tools: { name: string }[] }> }) =>
  (await client.listTools()).tools.map(({ name }) => name);

test('a session lists and calls the tools of its own process, regardless of other clients', async () => {
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

test('the first tool list of a session comes from the same server process as the results of its calls', async () => {
  const gateway = await startGateway({
    servers: { everything: { ...everythingServer, isolation: 'session' } },
  });
  const able = await connectReal('v1', { url: `${gateway.url}/mcp` });
  expect(await namesOf(able)).toContain(SAMPLING);
  const [pid] = (await details(gateway.url, 'everything')).pids;
  await able.call('everything__echo', { message: 'a' });
  expect((await details(gateway.url, 'everything')).pids).toEqual([pid]);
});

test('a modern server receives the client’s roots capability only with forward_roots: true', async () => {
  const own = { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern' };
  const gateway = await startGateway({ servers: { kept: own, told: { ...own, forward_roots: true } } });
  const capabilities = { roots: {}, elicitation: {} };
  for (const [id, expected] of [
    ['kept', { elicitation: {} }],
    ['told', capabilities],
  ] as const) {
    const capabilityRequest = {
      method: 'tools/call',
      params: { name: 'stats' },
      meta: { clientCapabilities: capabilities },
    };
    const answer = await modern(`${gateway.url}/mcp/${id}`, capabilityRequest);
    expect(JSON.parse(textOf(answer)).mine.clientCapabilities).toEqual(expected);
  }
});

const ELICITING = 'everything__trigger-elicitation-request';

test.each(['v1', 'v2 modern'] as const)(
  'a %s client sees the tools for its capabilities, although another client listed the tools first',
  async (kind) => {
    const gateway = await startGateway({
      servers: { everything: { ...everythingServer, isolation: 'session' } },
    });
    const plain = await connectReal('v1', { url: `${gateway.url}/mcp` }, false);
    expect(await namesOf(plain)).not.toContain(ELICITING);
    const able = await connectReal(kind, { url: `${gateway.url}/mcp` });
    expect(await namesOf(able)).toContain(ELICITING);
    expect(JSON.stringify(await able.call(ELICITING, {}))).toContain('Ann');
  },
);

test('a client of the modern protocol that connects first sees the tools for its capabilities, at /mcp and at /mcp/:id', async () => {
  const gateway = await startGateway({
    servers: { everything: { ...everythingServer, isolation: 'session' } },
  });
  for (const [path, name] of [
    ['/mcp', ELICITING],
    ['/mcp/everything', 'trigger-elicitation-request'],
  ]) {
    const able = await connectReal('v2 modern', { url: `${gateway.url}${path}` });
    expect(await namesOf(able)).toContain(name);
  }
});

test('a modern client of gateway-stdio sees the tools for its capabilities, and its server is started once', async () => {
  const wrapper = new StdioWrapper(configured({ servers: { everything: everythingServer } }));
  wrapper.write(`${prepared({ method: 'tools/list', meta: allClientCapabilities }).body}\n`);
  const { tools } = (await wrapper.answer(1)).result;
  expect(tools.map(({ name }: { name: string }) => name)).toContain(ELICITING);
  expect(wrapper.stderr.match(/Starting default/g)).toHaveLength(1);
  wrapper.child.stdin.end();
  expect(await wrapper.exited).toBe(0);
});

test('a call of an unlisted tool is forwarded to its server if tool lists differ by session or are unknown', async () => {
  const gateway = await startGateway({
    servers: {
      everything: { ...everythingServer, isolation: 'session' },
      broken: { command: 'no-such-program-anywhere', restart: { intensity: 0, park_seconds: 60 } },
    },
  });
  const client = await connectReal('v1', { url: `${gateway.url}/mcp` });
  await client.listTools();
  const unknown = await client.call('everything__no-such-tool', {}).catch((error: Error) => error);
  expect(JSON.stringify(unknown) + String(unknown)).toContain('no-such-tool');
  await expect(client.call('broken__anything', {})).rejects.toThrow(/no-such-program-anywhere/);
});
