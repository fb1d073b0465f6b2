// Tools of a modern remote server with x-mcp-header schemas: invalid tools are not offered, and a call whose
// headers follow an old schema is repeated once under the new schema.

import { expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import { text, tool } from '../../fixtures/both-eras/tool.ts';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { modern, resultOf, toolCall } from '../../fixtures/clients/modern-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { answerJson } from '../../fixtures/remote/local-server.ts';

function add(server: RemoteBothEras, name: string, header: string, type = 'string'): void {
  const properties = { zone: { type, 'x-mcp-header': header } };
  const run = async (args: unknown) => text(args as object);
  server.sharedState.added.set(name, tool(name, 'New.', run, { type: 'object', properties }));
}

const warnings = (gateway: GatewayProcess) =>
  gateway.logs().filter(({ msg }) => msg === 'tool omitted: its x-mcp-header is invalid');

async function toolsAt(url: string): Promise<string[]> {
  return (await modern(url, { method: 'tools/list' })).result.tools.map(({ name }: { name: string }) => name);
}

async function oldToolsAt(client: McpClient): Promise<string[]> {
  return (await client.client.listTools()).tools.map(({ name }) => name);
}

test('a tool with an invalid x-mcp-header is omitted from the list and reported once; valid tools are listed', async () => {
  const web = await bothErasOverHttp({ name: 'web' });
  add(web, 'good', 'Zone');
  add(web, 'bad-name', 'Zone of mine');
  add(web, 'bad-type', 'Zone', 'number');
  const servers = {
    web: { url: web.url, era: 'modern' },
    auto: { url: web.url, era: 'auto' },
    old: { url: web.url, era: 'legacy' },
    // Stdio has no headers.
    local: { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern' },
  };
  const gateway = await startGateway({ servers, settings: { list_timeout_seconds: 20 } });
  const mcp = `${gateway.url}/mcp`;
  const all = await toolsAt(mcp);
  for (const id of ['web', 'auto']) {
    expect(all).toContain(`${id}__good`);
    expect(all.filter((name) => name.startsWith(`${id}__bad`))).toEqual([]);
    const called = await modern(mcp, toolCall(`${id}__bad-name`));
    expect(called.error).toMatchObject({ code: -32602, message: `Unknown tool: ${id}__bad-name` });
    const own = await toolsAt(`${mcp}/${id}`);
    expect(own).toContain('region');
    expect(own.filter((name) => name.startsWith('bad'))).toEqual([]);
    const direct = await McpClient.connect(`${mcp}/${id}`);
    expect((await oldToolsAt(direct)).filter((name) => name.startsWith('bad'))).toEqual([]);
  }
  expect(all).toEqual(expect.arrayContaining(['old__bad-name', 'old__bad-type', 'local__region']));
  const client = await McpClient.connect(mcp);
  expect(await oldToolsAt(client)).toEqual(all);
  expect(await errorOf(client.call('web__bad-type'))).toMatchObject({ code: -32602 });
  await fetch(`${gateway.url}/servers/web/stop`, { method: 'POST' });
  expect((await toolsAt(`${mcp}/web`)).filter((name) => name.startsWith('bad'))).toEqual([]);

  const logLines = warnings(gateway);
  expect(logLines.map(({ server, tool: name }) => `${server} ${name}`).sort()).toEqual([
    'auto bad-name',
    'auto bad-type',
    'web bad-name',
    'web bad-type',
  ]);
  for (const { level, reason } of logLines) {
    expect(level).toBe('warn');
    expect(reason).toMatch(/x-mcp-header/);
  }
});

test('a tool disappears when it becomes invalid, and reappears when it is repaired', async () => {
  const web = await bothErasOverHttp({ name: 'web', isModernOnly: true });
  add(web, 'late', 'Zone');
  const gateway = await startGateway({ servers: { web: { url: web.url, era: 'modern' } } });
  const mcp = `${gateway.url}/mcp`;
  expect(await toolsAt(mcp)).toContain('web__late');
  expect(warnings(gateway)).toEqual([]);
  for (const [header, isOffered] of [
    ['no name', false],
    ['Area', true],
    ['no name', false],
  ] as const) {
    add(web, 'late', header);
    await web.sharedState.toolsChanged();
    await eventually('the other list', async () => (await toolsAt(mcp)).includes('web__late') === isOffered);
  }
  expect(warnings(gateway)).toHaveLength(2);
});

test.each(['legacy', 'modern'])(
  'a call of a %s client with the headers of an outdated schema is repeated with the current headers',
  async (era) => {
    const web = await bothErasOverHttp({ name: 'web', isModernOnly: true });
    add(web, 'zoned', 'Zone');
    const gateway = await startGateway({ servers: { web: { url: web.url, era: 'modern' } } });
    const mcp = `${gateway.url}/mcp`;
    const client = era === 'legacy' ? await McpClient.connect(mcp) : undefined;
    const call = async (zone: string, header: string) => {
      if (client !== undefined) return client.call('web__zoned', { zone });
      const options = { headers: { [`mcp-param-${header}`]: zone } };
      return resultOf(await modern(mcp, toolCall('web__zoned', { zone }, options)));
    };
    const requestsOf = (name: string) =>
      web.http.requests.filter(({ headers }) => [headers['mcp-name'], headers['mcp-method']].includes(name));
    await toolsAt(mcp);
    expect(await call('a', 'zone')).toEqual({ zone: 'a' });
    expect(requestsOf('zoned')).toHaveLength(1);
    // The server sends no notification about this change.
    add(web, 'zoned', 'Area');
    const lists = requestsOf('tools/list').length;
    // Once the new schema is cached, a later call would be rejected by the gateway.
    web.before = async ({ req }) => {
      if (req.headers['mcp-method'] === 'tools/list')
        await eventually('all three calls', () => requestsOf('zoned').length >= 1 + 3);
    };
    const answers = await Promise.all(['b', 'c', 'd'].map((zone) => call(zone, 'zone')));
    expect(answers).toEqual([{ zone: 'b' }, { zone: 'c' }, { zone: 'd' }]);
    expect(requestsOf('zoned')).toHaveLength(1 + 2 * 3);
    expect(requestsOf('tools/list').length - lists).toBeLessThanOrEqual(3);
    expect(await call('e', 'area')).toEqual({ zone: 'e' });
    expect(requestsOf('zoned')).toHaveLength(1 + 2 * 3 + 1);

    // If the server rejects the second call too, the client gets the error of the server.
    web.refusal = ({ res, body }) => {
      const { id, method } = JSON.parse(body);
      const error = { code: -32020, message: 'never' };
      if (method === 'tools/call') answerJson(res, { jsonrpc: '2.0', id, error }, 400);
      else answerJson(res, { jsonrpc: '2.0', id, result: { resultType: 'complete', tools: [] } });
    };
    const before = requestsOf('zoned').length;
    const refusal =
      client === undefined
        ? (await modern(mcp, toolCall('web__zoned'))).error
        : await errorOf(client.call('web__zoned', {}));
    expect(refusal?.code).toBe(-32020);
    expect(requestsOf('zoned').length - before).toBe(2);
  },
);
