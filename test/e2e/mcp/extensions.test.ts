// Extensions and addresses at merged addresses, for clients and servers of both eras: pages of apps, links to
// unlisted resources, equal addresses of two servers, calls of apps, skills, tasks, and lists per client.

import { beforeAll, describe, expect, test } from 'vitest';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { type ModernAsk, modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import { details } from '../../fixtures/clients/raw-session.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const UI = 'io.modelcontextprotocol/ui';
const TASKS = 'io.modelcontextprotocol/tasks';
const SKILLS = 'io.modelcontextprotocol/skills';
const page = 'ui://shared/view.html';
const apps = { extensions: { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] } } };

interface Tool {
  readonly name: string;
  readonly _meta?: { readonly ui?: { readonly resourceUri?: string } } & Readonly<Record<string, unknown>>;
}

let gateway: GatewayProcess;

beforeAll(async () => {
  const server = (name: string, era: string, more = {}) => ({
    ...fault('extended', more),
    args: [...(fault('extended').args as string[]), name, era],
    era,
  });
  gateway = await startGateway({
    servers: {
      one: server('one', 'legacy'),
      two: server('two', 'legacy'),
      a: server('a', 'modern'),
      b: server('b', 'modern'),
      own: server('own', 'legacy', { isolation: 'session' }),
      alone: server('alone', 'legacy', { isolation: 'session' }),
      asleep: server('asleep', 'legacy'),
    },
    settings: {
      profiles: {
        old: { servers: ['one', 'two'] },
        new: { servers: ['a', 'b'] },
        own: { servers: ['own'] },
        alone: { servers: ['alone'] },
        mixed: { servers: ['one', 'a', 'asleep'] },
      },
    },
  });
});

const at = (profile: string) => `${gateway.url}/mcp/@${profile}`;

type Request = (method: string, params?: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** Client requests of this era to the profile; rejects with the error of the response. */
async function requester(
  era: 'legacy' | 'modern',
  profile: string,
  capabilities: object = apps,
): Promise<Request> {
  if (era === 'legacy') {
    const client = await McpClient.connect(at(profile), { capabilities: capabilities as never });
    return (method, params) => client.request(method, params);
  }
  const meta = { clientCapabilities: capabilities };
  return async (method, params = {}) => {
    const { result, error } = await modern(at(profile), { method, params, meta } satisfies ModernAsk);
    if (result === undefined) throw Object.assign(new Error(error?.message), error);
    return result;
  };
}

const call = (request: Request, name: string, args: object = {}) =>
  request('tools/call', { name, arguments: args });

async function readText(request: Request, uri: string): Promise<string> {
  const { contents } = (await request('resources/read', { uri })) as {
    contents: { uri: string; text: string }[];
  };
  expect(contents[0]?.uri).toBe(uri);
  return contents[0]?.text ?? '';
}

async function linkOf(request: Request, name: string, args: object = {}): Promise<string> {
  const { content } = await call(request, name, args);
  const [first] = content as { uri?: string; resource?: { uri: string } }[];
  return first?.uri ?? first?.resource?.uri ?? '';
}

const toolsOf = async (request: Request) => (await request('tools/list')).tools as Tool[];
const pageOf = async (request: Request, name: string) =>
  (await toolsOf(request)).find((tool) => tool.name === name)?._meta?.ui?.resourceUri;

const views = [
  { era: 'legacy', profile: 'old', first: 'one', second: 'two' },
  { era: 'modern', profile: 'new', first: 'a', second: 'b' },
  { era: 'modern', profile: 'old', first: 'one', second: 'two' },
  { era: 'legacy', profile: 'new', first: 'a', second: 'b' },
] as const;

describe.each(views)('a $era client of servers at @$profile', ({ era, profile, first, second }) => {
  let request: Request;
  beforeAll(async () => {
    request = await requester(era, profile);
    await request('tools/list');
  });

  test('reads a linked or embedded resource from the server whose tool result contained it', async () => {
    for (const [id, tool, args] of [
      [second, 'link', {}],
      [first, 'link', {}],
      [second, 'embed', { uri: `inside://${second}/8` }],
    ] as const) {
      const uri = await linkOf(request, `${id}__${tool}`, args);
      expect(uri).not.toContain('~');
      expect(await readText(request, uri)).toBe(`${id} ${uri}`);
    }
  });

  test('receives a URI with the server id for a resource that an earlier server also has', async () => {
    const { resources } = (await request('resources/list')) as { resources: { uri: string }[] };
    expect(resources.map(({ uri }) => uri)).toEqual([
      `doc://${first}/a`,
      'doc://both',
      `doc://${second}/a`,
      `doc://${second}~/both`,
    ]);
    const unlisted = `shared-${era}://x/1`;
    expect(await linkOf(request, `${first}__link`, { uri: unlisted })).toBe(unlisted);
    const other = await linkOf(request, `${second}__link`, { uri: unlisted });
    expect(other).toBe(`shared-${era}://${second}~/x/1`);
    const { resourceTemplates } = (await request('resources/templates/list')) as {
      resourceTemplates: { uriTemplate: string }[];
    };
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'item://shared/{id}',
      `item://${second}~/shared/{id}`,
    ]);
    for (const [uri, text] of [
      ['doc://both', `${first} doc://both`],
      [`doc://${second}~/both`, `${second} doc://both`],
      [unlisted, `${first} ${unlisted}`],
      [other, `${second} ${unlisted}`],
      ['item://shared/7', `${first} item://shared/7`],
      [`item://${second}~/shared/7`, `${second} item://shared/7`],
    ] as const)
      expect(await readText(request, uri)).toBe(text);
  });

  test('receives web addresses and structured content unchanged', async () => {
    const uri = 'https://example.com/a';
    for (const id of [first, second]) {
      const result = await call(request, `${id}__link`, { uri });
      expect(result).toMatchObject({ content: [{ uri }], structuredContent: { uri } });
    }
    const { structuredContent } = await call(request, `${second}__link`, { uri: 'doc://both' });
    expect(structuredContent).toEqual({ uri: 'doc://both' });
  });

  test('reads an unlisted resource from the server that has it, and gets an error for a missing resource', async () => {
    expect(await readText(request, `only://${second}`)).toBe(`${second} only://${second}`);
    const error = await errorOf(request('resources/read', { uri: 'absent://x' }));
    expect(error).toMatchObject({ code: era === 'legacy' ? -32002 : -32602, data: { uri: 'absent://x' } });
  });

  test('calls an app tool by the name that its server uses, without the server prefix', async () => {
    expect(await call(request, `${second}-refresh`)).toMatchObject({
      content: [{ text: `${second} ${second}-refresh` }],
    });
    for (const name of ['hidden', 'none'])
      expect(await errorOf(call(request, name))).toMatchObject({ code: -32602 });
  });

  test('lists the skills of both servers, and reads skills and directories', async () => {
    const { skills } = (await request('skills/list')) as {
      skills: { uri: string; frontmatter: object; resources: { uri: string }[] }[];
    };
    const uri = 'skill://refunds/SKILL.md';
    const qualified = `skill://${second}~/refunds/SKILL.md`;
    expect(skills).toMatchObject([
      { uri, frontmatter: { description: first, uri }, resources: [{ uri: 'skill://refunds/a.md' }] },
      {
        uri: qualified,
        frontmatter: { description: second, uri },
        resources: [{ uri: `skill://${second}~/refunds/a.md` }],
      },
    ]);
    expect(await request('skills/get', { uri: qualified })).toMatchObject({ skill: skills[1] });
    expect(await readText(request, `skill://${second}~/refunds/a.md`)).toBe(`${second} skill://refunds/a.md`);
    const { resources } = await request('resources/directory/read', { uri: `skill://${second}~/refunds` });
    expect(resources).toMatchObject([{ uri: `skill://${second}~/refunds/a.md` }]);
    expect(await errorOf(request('skills/get', { uri: 'skill://none/SKILL.md' }))).toBeInstanceOf(Error);
  });
});

test('if two servers have an app tool of the same name, a call goes to the server whose app page was read last', async () => {
  const request = await requester('legacy', 'old');
  await request('tools/list');
  expect(await errorOf(call(request, 'refresh'))).toMatchObject({ code: -32602 });
  await readText(request, 'ui://two/only.html');
  expect(await call(request, 'refresh')).toMatchObject({ content: [{ text: 'two refresh' }] });
  await readText(request, 'ui://one/only.html');
  expect(await errorOf(call(request, 'refresh'))).toMatchObject({ code: -32602 });
});

test('an update notification for a resource contains the URI to which the client subscribed', async () => {
  const client = await McpClient.connect(at('old'));
  await client.client.listTools();
  for (const uri of ['doc://both', 'doc://two~/both']) await client.request('resources/subscribe', { uri });
  for (const id of ['one', 'two']) await client.call(`${id}__touch`, { uri: 'doc://both' });
  const updates = () => client.notes.flatMap(({ params }) => (params?.uri === undefined ? [] : [params.uri]));
  await eventually('the updates', () => updates().length === 2);
  expect(updates()).toEqual(['doc://both', 'doc://two~/both']);
  await client.request('resources/unsubscribe', { uri: 'doc://two~/both' });
});

test('the gateway declares the extensions of its servers to legacy and modern clients', async () => {
  const { client } = await McpClient.connect(at('mixed'));
  await client.listTools();
  const later = await McpClient.connect(at('mixed'));
  const settings = { [UI]: {}, [SKILLS]: { directoryRead: true }, 'com.example/x': { name: 'one' } };
  expect(later.client.getServerCapabilities()).toMatchObject({ extensions: settings });
  const { result } = await modern(at('mixed'), { method: 'server/discover' });
  expect(result.capabilities.extensions).toEqual({ ...settings, [TASKS]: {} });
});

test('a resource read starts no stopped server that lists no resource with the scheme of the URI', async () => {
  const request = await requester('legacy', 'mixed');
  await request('tools/list');
  await fetch(`${gateway.url}/servers/asleep/stop`, { method: 'POST' });
  await errorOf(request('resources/read', { uri: 'absent://x' }));
  expect((await details(gateway.url, 'asleep')).state).toBe('stopped');
});

describe('tasks', () => {
  const tasks = { extensions: { [TASKS]: {} } };
  const long = (id: string, taskId: string) =>
    toolCall(`${id}__long`, { id: taskId }, { meta: { clientCapabilities: tasks } });
  const get = (taskId: string): ModernAsk => ({
    method: 'tasks/get',
    params: { taskId },
    meta: { clientCapabilities: tasks },
    headers: { 'mcp-name': taskId },
  });

  test('of a modern client are read from the modern server that created them', async () => {
    for (const id of ['a', 'b']) {
      const { result } = await modern(at('new'), long(id, `task of ${id}`));
      expect(result).toMatchObject({ resultType: 'task', taskId: `task of ${id}` });
    }
    for (const id of ['b', 'a']) {
      const { result } = await modern(at('new'), get(`task of ${id}`));
      expect(result.result.content[0].text).toBe(`${id} done`);
    }
    expect((await modern(at('new'), get('unknown'))).error).toMatchObject({ code: -32602 });
  });

  test('are not created at legacy servers', async () => {
    const { result } = await modern(at('old'), long('two', 'x'));
    expect(result.content[0].text).toBe('two at once');
  });
});

describe('lists depend on the client', () => {
  test('the app page of a tool is listed only for clients that declare the apps extension', async () => {
    for (const [era, profile, name] of [
      ['legacy', 'own', 'own__show'],
      ['modern', 'own', 'own__show'],
      ['modern', 'new', 'b__show'],
      ['legacy', 'new', 'b__show'],
    ] as const) {
      const able = await requester(era, profile);
      const plain = await requester(era, profile, {});
      const expected = profile === 'new' ? 'ui://b~/shared/view.html' : page;
      for (let times = 0; times < 2; times += 1) {
        expect(await pageOf(able, name), `${era} ${profile}`).toBe(expected);
        expect(await pageOf(plain, name), `${era} ${profile}`).toBeUndefined();
        await call(able, name);
      }
    }
  });

  test('a server receives the extensions of the client whose call it executes', async () => {
    for (const [era, profile, name] of [
      ['legacy', 'own', 'own__capabilities'],
      ['modern', 'own', 'own__capabilities'],
      ['modern', 'new', 'a__capabilities'],
      ['legacy', 'new', 'a__capabilities'],
    ] as const) {
      const { content } = await call(await requester(era, profile), name);
      expect(JSON.parse((content as { text: string }[])[0]?.text ?? ''), `${era} ${profile}`).toMatchObject(
        apps,
      );
    }
  });

  test('a session with its own server process lists only the tools of that process', async () => {
    const [a, b] = [await McpClient.connect(at('alone')), await McpClient.connect(at('alone'))];
    const names = async ({ client }: McpClient) => (await client.listTools()).tools.map(({ name }) => name);
    const before = await names(a);
    expect(await names(b)).toEqual(before);
    await a.call('alone__enable', { tool: 'red' });
    await eventually('the notification', () => a.count('notifications/tools/list_changed') === 1);
    expect(await names(a)).toEqual([...before, 'alone__red']);
    expect(await names(b)).toEqual(before);
    await b.call('alone__enable', { tool: 'blue' });
    await eventually('the notification', () => b.count('notifications/tools/list_changed') === 1);
    expect(await names(b)).toEqual([...before, 'alone__blue']);
    expect(await names(a)).toEqual([...before, 'alone__red']);
    expect(await a.call('alone__red')).toBe('alone red');
    expect(a.count('notifications/tools/list_changed')).toBe(1);
    expect(await names(await McpClient.connect(at('alone')))).toEqual(before);
    const single = await McpClient.connect(`${gateway.url}/mcp/alone`);
    expect(await names(single)).toEqual(before.map((name) => name.replace('alone__', '')));
  });
});
