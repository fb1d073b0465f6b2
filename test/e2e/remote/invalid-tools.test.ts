// Tools of a modern remote server whose schemas ask for headers: those that ask in a wrong way are not offered, and
// a call whose headers were taken from an old schema is made once more with those of the new one.

import { expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import { text, tool } from '../../fixtures/both-eras/tool.ts';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { modern, said, toolCall } from '../../fixtures/clients/modern-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { answerJson } from '../../fixtures/remote/local-server.ts';

function add(server: RemoteBothEras, name: string, header: string, type = 'string'): void {
  const properties = { zone: { type, 'x-mcp-header': header } };
  const run = async (given: unknown) => text(given as object);
  server.company.added.set(name, tool(name, 'New.', run, { type: 'object', properties }));
}

const warnings = (gateway: GatewayProcess) =>
  gateway.logs().filter(({ msg }) => msg === 'a tool is not offered: its x-mcp-header is invalid');

async function toolsAt(url: string): Promise<string[]> {
  return (await modern(url, { method: 'tools/list' })).result.tools.map(({ name }: { name: string }) => name);
}

async function oldToolsAt(client: McpClient): Promise<string[]> {
  return (await client.client.listTools()).tools.map(({ name }) => name);
}

test('a tool with an invalid x-mcp-header is in no list, and is told of once; the others are', async () => {
  const web = await bothErasOverHttp({ name: 'web' });
  add(web, 'good', 'Zone');
  add(web, 'bad-name', 'Zone of mine');
  add(web, 'bad-type', 'Zone', 'number');
  const servers = {
    web: { url: web.url, era: 'modern' },
    auto: { url: web.url, era: 'auto' },
    old: { url: web.url, era: 'legacy' },
    // Over stdio there are no headers.
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
    // Awake.
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
  // Asleep.
  await fetch(`${gateway.url}/servers/web/stop`, { method: 'POST' });
  expect((await toolsAt(`${mcp}/web`)).filter((name) => name.startsWith('bad'))).toEqual([]);

  const told = warnings(gateway);
  expect(told.map(({ server, tool: name }) => `${server} ${name}`).sort()).toEqual([
    'auto bad-name',
    'auto bad-type',
    'web bad-name',
    'web bad-type',
  ]);
  for (const { level, reason } of told) {
    expect(level).toBe('warn');
    expect(reason).toMatch(/x-mcp-header/);
  }
});

test('what becomes invalid later disappears, and what is mended comes back', async () => {
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
    await web.company.toolsChanged();
    await eventually('the other list', async () => (await toolsAt(mcp)).includes('web__late') === isOffered);
  }
  expect(warnings(gateway)).toHaveLength(2);
});

test.each(['legacy', 'modern'])(
  'a call with the headers of an old schema is made again: %s client',
  async (era) => {
    const web = await bothErasOverHttp({ name: 'web', isModernOnly: true });
    add(web, 'zoned', 'Zone');
    const gateway = await startGateway({ servers: { web: { url: web.url, era: 'modern' } } });
    const mcp = `${gateway.url}/mcp`;
    const client = era === 'legacy' ? await McpClient.connect(mcp) : undefined;
    const call = async (zone: string, header: string) => {
      if (client !== undefined) return client.call('web__zoned', { zone });
      const options = { headers: { [`mcp-param-${header}`]: zone } };
      return said(await modern(mcp, toolCall('web__zoned', { zone }, options)));
    };
    const seen = (name: string) =>
      web.http.requests.filter(({ headers }) => [headers['mcp-name'], headers['mcp-method']].includes(name));
    await toolsAt(mcp);
    expect(await call('a', 'zone')).toEqual({ zone: 'a' });
    expect(seen('zoned')).toHaveLength(1);
    // Nobody is told of it.
    add(web, 'zoned', 'Area');
    const lists = seen('tools/list').length;
    // A call that came after the new schema is known would be refused at the door.
    web.before = async ({ req }) => {
      if (req.headers['mcp-method'] === 'tools/list')
        await eventually('all three calls have come', () => seen('zoned').length >= 1 + 3);
    };
    const answers = await Promise.all(['b', 'c', 'd'].map((zone) => call(zone, 'zone')));
    expect(answers).toEqual([{ zone: 'b' }, { zone: 'c' }, { zone: 'd' }]);
    expect(seen('zoned')).toHaveLength(1 + 2 * 3);
    expect(seen('tools/list').length - lists).toBeLessThanOrEqual(3);
    expect(await call('e', 'area')).toEqual({ zone: 'e' });
    expect(seen('zoned')).toHaveLength(1 + 2 * 3 + 1);

    // A server that refuses whatever it gets is asked twice, and then believed.
    web.refusal = ({ res, body }) => {
      const { id, method } = JSON.parse(body);
      const error = { code: -32020, message: 'never' };
      if (method === 'tools/call') answerJson(res, { jsonrpc: '2.0', id, error }, 400);
      else answerJson(res, { jsonrpc: '2.0', id, result: { resultType: 'complete', tools: [] } });
    };
    const before = seen('zoned').length;
    const refused =
      client === undefined
        ? (await modern(mcp, toolCall('web__zoned'))).error
        : await errorOf(client.call('web__zoned', {}));
    expect(refused?.code).toBe(-32020);
    expect(seen('zoned').length - before).toBe(2);
  },
);
