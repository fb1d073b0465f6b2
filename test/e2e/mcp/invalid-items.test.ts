// Servers that list items no strict client accepts: merged lists repair or omit them, so clients on both SDKs
// receive all valid items from all servers. Lists at /mcp/:id are forwarded unchanged.

import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modern } from '../../fixtures/clients/modern-client.ts';
import { json, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import { connectReal, type Target } from '../../fixtures/clients/real-clients.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { configured, stdioFile } from '../../fixtures/gateway/stdio-gateway.ts';
import { mutated } from '../../fixtures/server/mutated-items.ts';

const program = resolve(import.meta.dirname, '../../fixtures/servers/lists-from-file.mjs');

/** The results of list requests by method, as JSON text in Latin-1. */
type Results = Readonly<Record<string, string>>;

class FileServer {
  readonly #file = join(temporaryFolder(), 'lists.json');
  readonly entry = { command: process.execPath, args: [program, this.#file] };

  constructor(results: Results) {
    this.write(results);
  }

  write({
    tools = '{"tools":[]}',
    prompts = '{"prompts":[]}',
    resources = '{"resources":[]}',
    templates = '{"resourceTemplates":[]}',
  }: Results): void {
    const all = {
      'tools/list': tools,
      'prompts/list': prompts,
      'resources/list': resources,
      'resources/templates/list': templates,
    };
    writeFileSync(this.#file, JSON.stringify(all));
  }
}

const schema = '"inputSchema":{"type":"object"}';
const good = new FileServer({
  tools: `{"tools":[{"name":"fine","n":1.0,${schema}}]}`,
  prompts: '{"prompts":[{"name":"fine"}]}',
  resources: '{"resources":[{"uri":"good:1","name":"fine"}]}',
  templates: '{"resourceTemplates":[{"uriTemplate":"good:{a}","name":"fine"}]}',
});
const latin1 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('latin1');

test('clients of both MCP SDKs list every valid item of a server that also lists invalid items, at every endpoint', async () => {
  const some = (kind: Parameters<typeof mutated>[0]) =>
    fc.sample(mutated(kind), { seed: 7, numRuns: 150 }).map((item) => item ?? null);
  const servers = {
    bad: new FileServer({
      tools: latin1({ tools: some('tools') }),
      prompts: latin1({ prompts: some('prompts') }),
      resources: latin1({ resources: some('resources') }),
      templates: latin1({ resourceTemplates: some('resourceTemplates') }),
    }).entry,
    none: new FileServer({ tools: '{"tools":null}', prompts: '{}', resources: '{"resources":{}}' }).entry,
    good: good.entry,
  };
  const settings = { profiles: { part: { servers: ['bad', 'good'] } } };
  const gateway = await startGateway({ servers, settings });
  const targets: readonly Target[] = [
    { url: `${gateway.url}/mcp` },
    { url: `${gateway.url}/mcp/@part` },
    { command: process.execPath, args: [stdioFile, ...configured({ servers })] },
  ];
  for (const target of targets)
    for (const kind of ['v1', 'v2 legacy', 'v2 modern'] as const) {
      const client = await connectReal(kind, target);
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('good__fine');
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('good__fine');
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain('good:1');
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain('good:{a}');
      await client.close();
    }
});

const invalidValues = [
  `{"name":"ok",${schema},"n":1.0}`,
  `{"name":"cut","description":"\\ud83d","x":1.0,${schema}}`,
  `{"name":"text","inputSchema":{"type":"string"}}`,
  `{"name":"\\u001b[31m\\u202e","inputSchema":null}`,
  '{"description":"no name"}',
  '"none"',
  `{"name":"raw","description":"\xff\xfe",${schema}}`,
  `{"name":"raw\xff",${schema}}`,
  `{"name":"half\\ud83d",${schema}}`,
  `{"name":"ok",${schema}}`,
];
const tools = `{"tools":[${invalidValues.join(', ')}]}`;

const faultLines = (gateway: GatewayProcess) =>
  gateway.logs().filter(({ msg }) => msg.includes('returned invalid items'));

async function toolList(session: RawSession): Promise<{ name: string; description?: string }[]> {
  return (await session.request('tools/list')).result?.tools as { name: string; description?: string }[];
}

test('invalid items are in the log once, in the server record and in the command output, also after a restart', async () => {
  const bad = new FileServer({ tools: tools.replace('"none"', '{}') });
  bad.write({ tools, resources: '{"resources":[{"uri":"u:\\ud83d","name":"r"},{"uri":"u:1"}]}' });
  const setup = { servers: { bad: bad.entry, good: good.entry } };
  const gateway = await startGateway(setup);
  const session = await RawSession.open(gateway.url);
  const names = [
    'bad__ok',
    'bad__cut',
    expect.stringMatching(/^bad___/),
    'bad__raw',
    expect.stringMatching(/^bad__half_/),
  ];
  expect((await toolList(session)).map(({ name }) => name)).toEqual([...names, 'good__fine']);

  const record = async (url: string) =>
    (await json<{ lists: Record<string, { invalid: unknown }> }>(`${url}/servers/bad`)).body.lists;
  const invalid = {
    repaired: 4,
    omitted: 5,
    items: expect.arrayContaining([
      { name: 'text', outcome: 'omitted', reason: 'inputSchema.type is "string", not "object"' },
      { name: '\\u001b[31m\\u202e', outcome: 'repaired', reason: 'inputSchema is null, not an object' },
      { name: 'item 5', outcome: 'omitted', reason: 'name is missing' },
      { name: 'item 6', outcome: 'omitted', reason: 'the item is "none", not an object' },
      { name: 'raw', outcome: 'repaired', reason: 'it is not valid UTF-8' },
      { name: 'half\\ud83d', outcome: 'repaired', reason: 'it contains a lone surrogate' },
      { name: 'ok', outcome: 'omitted', reason: 'the key occurs twice in the list' },
    ]),
  };
  const lists = await record(gateway.url);
  expect(lists.tools?.invalid).toEqual(invalid);
  expect(lists.resources?.invalid).toMatchObject({ repaired: 1, omitted: 1 });
  expect(lists.prompts?.invalid).toBeNull();
  const { stdout } = await runMain(['servers', 'show', 'bad', '--url', gateway.url]);
  expect(stdout).toContain('invalid       tools, in merged lists: 4 repaired, 5 omitted\n');
  expect(stdout).toMatch(/^ {16}text: omitted, inputSchema\.type is "string", not "object"$/m);

  const logLines = () =>
    faultLines(gateway).map(({ level, server, msg }) => [level, server, msg.split(' ')[0]]);
  expect(logLines().sort()).toEqual([
    ['warn', 'bad', 'resources/list'],
    ['warn', 'bad', 'tools/list'],
  ]);
  const [line] = faultLines(gateway).filter(({ msg }) => msg.startsWith('tools/list'));
  expect(line?.msg).toContain('4 repaired and 5 omitted in merged lists: "');
  expect(line?.msg).toMatch(/and 4 more/);
  // An unchanged list causes no notification; a changed list does.
  await session.request('tools/call', { name: 'bad__ok', arguments: {} });
  const single = await RawSession.open(gateway.url, '/mcp/bad');
  await single.request('tools/call', { name: 'notify', arguments: {} });
  bad.write({ tools: `{"tools":[{"name":"late","title":null,${schema}}]}` });
  await single.request('tools/call', { name: 'notify', arguments: {} });
  const isListed = async (tool: string) => (await toolList(session)).some(({ name }) => name === tool);
  await until('the new list', () => isListed('bad__late'));
  expect(faultLines(gateway).map(({ msg }) => msg.split(' ')[0])).toEqual([
    ...logLines().map(([, , list]) => list),
  ]);
  expect(faultLines(gateway)).toHaveLength(3);
  expect(faultLines(gateway).at(-1)?.msg).toContain('"late" repaired (title is null, not a string)');

  bad.write({ tools, resources: '{"resources":[]}' });
  await single.request('tools/call', { name: 'notify', arguments: {} });
  await until('the list as before', () => isListed('bad__cut'));
  await gateway.stop();
  const restarted = await startGateway({ ...setup, folder: gateway.folder });
  const listed = await toolList(await RawSession.open(restarted.url));
  expect(listed.map(({ name }) => name)).toEqual([...names, 'good__fine']);
  expect((await record(restarted.url)).tools?.invalid).toEqual(invalid);
});

test('at /mcp/:id a list with invalid items is passed on unchanged, to legacy and to modern clients', async () => {
  const bad = new FileServer({ tools });
  const gateway = await startGateway({ servers: { bad: bad.entry } });
  const single = await RawSession.open(gateway.url, '/mcp/bad');
  await single.request('tools/call', { name: 'ok', arguments: {} });
  const { body } = await single.request('tools/list');
  expect(body.toString('latin1')).toContain(tools.slice(1, -1));
  const answer = await modern(`${gateway.url}/mcp/bad`, { method: 'tools/list' });
  expect(answer.result.tools).toHaveLength(invalidValues.length);
});

test('a repaired item can be called by its name; an omitted item is unknown', async () => {
  const resources = '{"resources":[{"uri":"u:1"},{"uri":"u:\\ud83d","name":"r"}]}';
  const gateway = await startGateway({
    servers: { bad: new FileServer({ tools, resources }).entry, good: good.entry },
  });
  const session = await RawSession.open(gateway.url);
  const half = (await toolList(session)).find(({ name }) => name.startsWith('bad__half'));
  const reached = await session.request('tools/call', { name: half?.name, arguments: {} });
  expect(JSON.parse(reached.text).name).toBe('half\ud83d');
  const answers = ['text', 'missing'].map((name) =>
    session.request('tools/call', { name: `bad__${name}`, arguments: {} }),
  );
  for (const [at, { error }] of (await Promise.all(answers)).entries())
    expect(error).toEqual({ code: -32602, message: `Unknown tool: bad__${['text', 'missing'][at]}` });
  expect((await session.request('resources/read', { uri: 'u:1' })).result).toMatchObject({
    contents: [{ uri: 'u:1' }],
  });
  const missing = await session.request('resources/read', { uri: 'u:missing' });
  expect(missing.error).toMatchObject({ code: -32002 });
  const { body } = await session.request('tools/call', { name: `${'x'.repeat(199)}😀`, arguments: {} });
  expect(body.toString()).toMatch(/Unknown tool: x+(?:\\ufffd|�)"/);
});

test('with expose: search the tool search returns only valid tools', async () => {
  const gateway = await startGateway({
    servers: { bad: new FileServer({ tools }).entry },
    settings: { expose: 'search' },
  });
  const session = await RawSession.open(gateway.url);
  const ask = async (name: string, args: object) =>
    (await session.request('tools/call', { name, arguments: args })).body.toString();
  const search = await ask('find_tools', { query: '' });
  expect(search).toContain('bad__cut');
  expect(search).not.toMatch(/\\ud83d|bad__text/);
  expect(await ask('describe_tool', { name: 'bad__cut' })).toMatch(/"description":"(?:\\ufffd|�)","x":1.0/);
});
