// All servers behind /mcp, for clients of both eras and servers of both eras: a legacy process that is
// shared, a legacy process per session, a stateless process, a stateless remote server, a server of both
// eras, and a public server. Names, routing, lists, hints and questions are the same for all clients.

import type { IncomingHttpHeaders } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import { text, tool } from '../../fixtures/both-eras/tool.ts';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { allClientCapabilities, modern, resultOf, toolCall } from '../../fixtures/clients/modern-client.ts';
import { json, RawSession, rpc } from '../../fixtures/clients/raw-session.ts';
import { connectReal, type Kind, type RealClient } from '../../fixtures/clients/real-clients.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { filesystemServer, guardedFolder } from '../../fixtures/server/real-servers.ts';

const kinds: Kind[] = ['v1', 'v2 legacy', 'v2 modern'];
const ids = ['old', 'own', 'young', 'web', 'both', 'files'];
const stored = { ttlMs: 60_000, cacheScope: 'public' as const };
const { folder, file } = guardedFolder();

let gateway: GatewayProcess;
let web: RemoteBothEras;
let mcp: string;
let catalog: Record<string, unknown>;

beforeAll(async () => {
  web = await bothErasOverHttp({ name: 'web', isModernOnly: true, cache: { ...stored, ttlMs: 5000 } });
  catalog = {
    old: everythingOverStdio({ name: 'old' }),
    own: { ...everythingOverStdio({ name: 'own' }), isolation: 'session' },
    young: {
      ...bothErasOverStdio({ name: 'young', isModernOnly: true, cache: stored }),
      era: 'modern',
    },
    web: { url: web.url, era: 'modern' },
    both: { ...bothErasOverStdio({ name: 'both' }), era: 'auto' },
    files: filesystemServer(folder),
  };
  gateway = await startGateway({ servers: catalog, settings: { list_timeout_seconds: 20 } });
  mcp = `${gateway.url}/mcp`;
  // Lists all tools: all tests need the lists.
  await modern(mcp, { method: 'tools/list' });
});

const clients = new Map<Kind, Promise<RealClient>>();
const client = (kind: Kind): Promise<RealClient> => {
  const cached = clients.get(kind) ?? connectReal(kind, { url: mcp });
  clients.set(kind, cached);
  return cached;
};

async function everyTool(realClient: RealClient): Promise<string[]> {
  return (await realClient.listTools()).tools.map(({ name }) => name);
}

// biome-ignore lint/suspicious/noExplicitAny: the texts of the fixtures are of many shapes
const textOf = (result: any): any => {
  const text: string = result.content[0].text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const bytesOf = async (url: string, method: string) => {
  const { text } = await modern(url, { method });
  return text;
};

describe('for legacy and modern MCP clients', () => {
  test('the lists of tools, prompts and resources are the same, in catalog order', async () => {
    const lists = await Promise.all(kinds.map(async (kind) => everyTool(await client(kind))));
    const [first = []] = lists;
    expect(new Set(first).size).toBe(first.length);
    expect([...new Set(first.map((name) => name.split('__')[0]))]).toEqual(ids);
    for (const list of lists) expect(list).toEqual(first);
    for (const kind of kinds) {
      const realClient = await client(kind);
      const { prompts } = await realClient.listPrompts();
      expect([...new Set(prompts.map(({ name }) => name.split('__')[0]))]).toEqual(ids.slice(0, 5));
      const { resources } = await realClient.listResources();
      // The addresses of the first server stay. Equal addresses contain the id of their server.
      const roots = ids.slice(0, 5).map((id, at) => [id, at === 0 ? 'test://' : `test://${id}~/`] as const);
      expect(resources.map(({ uri }) => uri)).toEqual(
        roots.flatMap(([id, root]) => [
          ...['static-text', 'static-binary', 'watched-resource'].map((name) => `${root}${name}`),
          `${id}://own`,
        ]),
      );
      const { resourceTemplates } = await realClient.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(
        roots.flatMap(([id, root]) => [`${root}template/{id}/data`, `${id}://item/{id}`]),
      );
    }
  });

  test.each(kinds)('a call of a prefixed tool reaches the right server: %s', async (kind) => {
    const realClient = await client(kind);
    for (const id of ids.slice(0, 5))
      expect(textOf(await realClient.call(`${id}__echo`, { id, é: [1, null] }))).toEqual({
        id,
        é: [1, null],
      });
    expect(textOf(await realClient.call('files__read_text_file', { path: file }))).toBe('grüße 🎭\n');
    const pids = await Promise.all(
      ids.slice(0, 5).map(async (id) => textOf(await realClient.call(`${id}__stats`)).pid as number),
    );
    // `web` runs in this process.
    expect(pids[3]).toBe(process.pid);
    expect(new Set(pids).size).toBe(5);
    const rich = await realClient.call('web__rich');
    expect(rich.structuredContent).toEqual({ answer: 42 });
    expect(rich['x-result-extra']).toEqual({ deep: [{ id: 'not an id' }, { progressToken: 'no token' }] });
    expect((await realClient.call('young__refuse')).isError).toBe(true);
    const steps: number[] = [];
    await realClient.call('both__slow', { steps: 3, ms: 2 }, ({ progress }) => steps.push(progress));
    await realClient.call('own__slow', { steps: 3, ms: 2 }, ({ progress }) => steps.push(progress));
    await realClient.call('web__slow', { steps: 3, ms: 2 }, ({ progress }) => steps.push(progress));
    expect(steps).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3]);
    expect(await errorOf(realClient.call('web__fail'))).toMatchObject({
      code: -32050,
      data: { list: [1, null] },
    });
    for (const unknown of ['echo', 'young__none', 'toString', ''])
      expect(await errorOf(realClient.call(unknown)), unknown).toMatchObject({ code: -32602 });
  });

  test.each(kinds)('prompts, resources and completions reach the right server: %s', async (kind) => {
    const realClient = await client(kind);
    for (const id of ids.slice(0, 5)) {
      const { messages } = await realClient.getPrompt({ name: `${id}__greet`, arguments: { who: id } });
      expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: `Hello ${id}` } }]);
      for (const uri of [`${id}://own`, `${id}://item/7`]) {
        const [content] = (await realClient.readResource({ uri })).contents as {
          uri: string;
          text: string;
        }[];
        expect(content?.uri).toBe(uri);
        expect(content?.text).toContain(uri);
      }
      const refs = [
        [
          { type: 'ref/prompt', name: `${id}__greet` },
          { type: 'ref/prompt', name: 'greet' },
        ],
        [
          { type: 'ref/resource', uri: `${id}://item/{id}` },
          { type: 'ref/resource', uri: `${id}://item/{id}` },
        ],
      ] as const;
      for (const [ref, own] of refs) {
        const context = { arguments: { other: `${id}__greet`, 'é"': '' } };
        const { completion } = await realClient.complete({
          ref,
          argument: { name: 'who', value: 'B' },
          context,
        });
        expect(completion.values.slice(0, 2)).toEqual(['B1', 'B2']);
        expect(JSON.parse(completion.values[2] ?? '')).toEqual(own);
      }
    }
    // The remote server received the original reference, and the context as sent by the client.
    const completions = web.http.requests.filter(
      ({ headers }) => headers['mcp-method'] === 'completion/complete',
    );
    expect(JSON.parse(completions.at(-2)?.body ?? '').params).toMatchObject({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: 'B' },
      context: { arguments: { other: 'web__greet', 'é"': '' } },
    });
    // All servers have it: the first server in the catalog answers.
    const [shared] = (await realClient.readResource({ uri: 'test://static-text' })).contents as {
      text: string;
    }[];
    expect(shared?.text).toContain('in session');
    // SDK v2 throws an error class with the modern code for both eras.
    const missing = kind === 'v1' ? -32002 : -32602;
    expect(await errorOf(realClient.readResource({ uri: 'test://missing' }))).toMatchObject({
      code: missing,
    });
    for (const name of ['greet', 'web__none', 'none__greet']) {
      expect(await errorOf(realClient.getPrompt({ name }))).toMatchObject({ code: -32602 });
      const ref = { type: 'ref/prompt' as const, name };
      expect(await errorOf(realClient.complete({ ref, argument: { name: 'who', value: '' } }))).toMatchObject(
        {
          code: -32602,
        },
      );
    }
  });

  test.each(kinds)('a server can ask questions: %s', async (kind) => {
    const realClient = await client(kind);
    const accepted = { action: 'accept', content: { name: 'Ann', check: true } };
    // A modern server, and a shared stdio server that supports either era.
    for (const id of ['young', 'web'])
      expect(textOf(await realClient.call(`${id}__ask-rounds`)).answers, id).toEqual({
        q0: accepted,
        q1: accepted,
        q2: accepted,
      });
    for (const id of ['young', 'web'])
      expect(textOf(await realClient.call(`${id}__ask-with-raw-state`)).isSame, id).toBe(true);
    const many = await realClient.call('web__ask-many', { kinds: ['elicit', 'sample', 'url'] });
    expect(many.isError, JSON.stringify(many)).toBeUndefined();
    expect(Object.keys(textOf(many).answers)).toEqual(['q0', 'q1', 'q2']);
    expect(textOf(await realClient.call('own__elicit', { message: 'Who?' }))).toMatchObject({
      answer: accepted,
    });
    const prompt = await realClient.getPrompt({ name: 'young__test_input_required_result_prompt' });
    expect(JSON.stringify(prompt.messages)).toContain('accept');
    // No server lists this resource, so the servers are tried in turn.
    const { contents } = await realClient.readResource({ uri: 'test://secret' });
    expect(contents).toMatchObject([{ uri: 'test://secret' }]);
  });

  test('embedded resources and links keep the URIs of their server', async () => {
    for (const kind of kinds) {
      const realClient = await client(kind);
      const direct = await connectReal(kind, { url: `${mcp}/web` });
      for (const name of ['test_embedded_resource', 'test_multiple_content_types']) {
        const { content } = await realClient.call(`web__${name}`);
        expect(content).toEqual((await direct.call(name)).content);
        expect(JSON.stringify(content)).toContain('test://');
      }
      await direct.close();
    }
  });
});

describe('the gateway as one server', () => {
  const capabilities = {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  };

  test('returns the same capabilities and merged instructions to legacy and modern clients', async () => {
    const { client: session } = await McpClient.connect(mcp);
    const { result } = await modern(mcp, { method: 'server/discover' });
    expect(session.getServerCapabilities()).toEqual(capabilities);
    expect(result.capabilities).toEqual(capabilities);
    expect(result.supportedVersions).toEqual(['2026-07-28']);
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    expect(result._meta['io.modelcontextprotocol/serverInfo'].name).toBe('actor-gateway');
    expect(session.getInstructions()).toBe(result.instructions);
    const headings = [...String(result.instructions).matchAll(/^# (.*)$/gm)].map(([, id]) => id);
    expect(headings).toEqual(['old', 'own', 'young', 'web', 'both']);
    expect(result.instructions).toContain('# web\n\nAsk me in either way.');
  });

  test('adds its own serverInfo to results at /mcp, and keeps the serverInfo of the server at /mcp/:id', async () => {
    const signer = async (url: string, method: string, params: Record<string, unknown>) =>
      (await modern(url, { method, params })).result._meta['io.modelcontextprotocol/serverInfo'].name;
    for (const id of ['young', 'web', 'both', 'own']) {
      expect(await signer(mcp, 'tools/call', { name: `${id}__echo`, arguments: {} })).toBe('actor-gateway');
      expect(await signer(mcp, 'resources/read', { uri: `${id}://own` })).toBe('actor-gateway');
    }
    expect(await signer(`${mcp}/web`, 'tools/call', { name: 'echo', arguments: {} })).toBe('web');
    expect(await signer(`${mcp}/young`, 'resources/read', { uri: 'young://own' })).toBe('young');
    const request = { method: 'tools/call', params: { name: 'web__ask' }, meta: allClientCapabilities };
    const first = await modern(mcp, request);
    expect(first.result.resultType).toBe('input_required');
    expect(first.result._meta['io.modelcontextprotocol/serverInfo'].name).toBe('actor-gateway');
  });

  test('forwards client capabilities including extensions', async () => {
    const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
    const tasks = { 'io.modelcontextprotocol/tasks': {} };
    const statsOf = async (url: string, name: string) => {
      const clientCapabilities = { sampling: {}, extensions: { ...tasks, ...ui } };
      const answer = await modern(url, toolCall(name, {}, { meta: { clientCapabilities } }));
      return (resultOf(answer) as { mine: { clientCapabilities: object } }).mine.clientCapabilities;
    };
    for (const id of ['young', 'web', 'both'])
      expect(await statsOf(mcp, `${id}__stats`), id).toEqual({
        sampling: {},
        extensions: { ...tasks, ...ui },
      });
    expect(await statsOf(`${mcp}/web`, 'stats')).toEqual({ sampling: {}, extensions: { ...tasks, ...ui } });
  });

  test('returns the error code of the protocol version in use for an unknown resource', async () => {
    const uri = 'test://missing';
    const { error } = await modern(mcp, { method: 'resources/read', params: { uri } });
    expect(error).toEqual({ code: -32602, message: 'Resource not found', data: { uri } });
    const session = await RawSession.open(gateway.url);
    expect((await session.request('resources/read', { uri })).error).toMatchObject({
      code: -32002,
      data: { uri },
    });
    await session.end();
  });

  test('puts the original tool, prompt or URI of a remote server into the headers', async () => {
    const metaOf = async (method: string, params: Record<string, unknown>) => {
      await modern(mcp, { method, params });
      const { headers, body } = web.http.requests.at(-1) ?? {
        headers: {} as IncomingHttpHeaders,
        body: '{}',
      };
      expect(headers['mcp-method']).toBe(method);
      const { name, uri } = JSON.parse(body).params;
      expect(headers['mcp-name']).toBe(name ?? uri);
      return headers['mcp-name'];
    };
    expect(await metaOf('tools/call', { name: 'web__echo', arguments: {} })).toBe('echo');
    expect(await metaOf('prompts/get', { name: 'web__greet', arguments: { who: 'a' } })).toBe('greet');
    expect(await metaOf('resources/read', { uri: 'web://own' })).toBe('web://own');
    const options = { headers: { 'mcp-param-region': '=?base64?c8O8ZA==?=' } };
    const call = toolCall('web__region', { region: 'süd', query: 'q' }, options);
    const { headers } = resultOf(await modern(mcp, call)) as {
      headers: Record<string, string>;
    };
    expect(headers).toMatchObject({ 'mcp-name': 'region', 'mcp-param-region': '=?base64?c8O8ZA==?=' });
  });

  test('uses the strictest cache hint for a merged list, and the hint of the server for a single server', async () => {
    const hint = async (url: string, method = 'tools/list') => {
      const { ttlMs, cacheScope } = (await modern(url, { method })).result;
      return { ttlMs, cacheScope };
    };
    expect(await hint(mcp)).toEqual({ ttlMs: 0, cacheScope: 'private' });
    expect(await hint(`${mcp}/young`)).toEqual(stored);
    const servers = { young: catalog.young, web: catalog.web };
    const stateless = await startGateway({ servers, settings: { list_timeout_seconds: 20 } });
    await modern(`${stateless.url}/mcp`, { method: 'tools/list' });
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
      expect(await hint(`${stateless.url}/mcp`, method), method).toEqual({
        ttlMs: 5000,
        cacheScope: 'public',
      });
    await stateless.stop();
    // The next gateway uses cached lists and starts no server. If the list of a server is unknown, the merged
    // list is provisional.
    const later = await startGateway({ servers, folder: stateless.folder });
    expect(await hint(`${later.url}/mcp`)).toEqual({ ttlMs: 5000, cacheScope: 'public' });
    expect((await json<{ state: string }>(`${later.url}/servers/young`)).body.state).toBe('stopped');
    await later.stop();
    const hangs = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
    const partly = await startGateway({
      servers: { ...servers, hangs },
      folder: stateless.folder,
      settings: { list_timeout_seconds: 0.2 },
    });
    expect(await hint(`${partly.url}/mcp`)).toEqual({ ttlMs: 0, cacheScope: 'private' });
  });

  test('returns the same bytes after a restart and a reload, in any start order', async () => {
    const methods = [
      'tools/list',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'server/discover',
    ];
    const all = (url: string) => Promise.all(methods.map((method) => bytesOf(`${url}/mcp`, method)));
    const before = await all(gateway.url);
    const other = await startGateway({ servers: catalog, settings: { list_timeout_seconds: 20 } });
    for (const id of [...ids].reverse()) await json(`${other.url}/servers/${id}/start`, 'POST');
    expect(await all(other.url)).toEqual(before);
    other.writeCatalog({
      ...catalog,
      both: { ...(catalog.both as object), tags: ['x'], max_request_seconds: 601 },
    });
    await json(`${other.url}/admin/reload`, 'POST');
    await modern(`${other.url}/mcp`, { method: 'tools/list' });
    expect(await all(other.url)).toEqual(before);
    await other.stop();
    const later = await startGateway({ servers: catalog, folder: other.folder });
    expect(await all(later.url)).toEqual(before);
  });
});

describe('a list of several pages', () => {
  const count = 2345;

  test.each(kinds)('is read completely by cursors, with all items once: %s', async (kind) => {
    const realClient = await connectReal(kind, { url: `${(await crowded()).url}/mcp` });
    const names: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      // SDK v2 follows the cursors itself if the caller passes none.
      const page = await realClient.listTools(cursor === undefined ? {} : { cursor });
      names.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined && pages < 10);
    const own = names.filter((name) => name.startsWith('many__item-'));
    expect(own).toEqual(Array.from({ length: count }, (_, n) => `many__item-${n}`));
    expect(new Set(names).size).toBe(names.length);
    expect(names.some((name) => name.startsWith('few__'))).toBe(true);
    if (kind === 'v1') expect(pages).toBe(3);
    expect(textOf(await realClient.call('many__item-2344'))).toBe(2344);
  });

  test('has the same pages for legacy and modern clients, and rejects forged cursors', async () => {
    const url = `${(await crowded()).url}/mcp`;
    const { client: old } = await McpClient.connect(url);
    const before = await old.listTools();
    const first = await modern(url, { method: 'tools/list' });
    expect(first.result.tools).toEqual(before.tools);
    expect(first.result.tools).toHaveLength(1000);
    expect(first.result.nextCursor).toBe(before.nextCursor);
    const cursor = String(first.result.nextCursor);
    // A cursor is valid for all clients, because it contains only a position.
    const second = await modern(url, { method: 'tools/list', params: { cursor } });
    expect(second.result.tools).toEqual((await old.listTools({ cursor })).tools);
    expect(second.result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    const middle = Math.floor(cursor.length / 2);
    const flipped = cursor[middle] === 'A' ? 'B' : 'A';
    const forged = [
      '',
      'x',
      `${cursor}A`,
      cursor.slice(1),
      cursor.slice(0, middle) + flipped + cursor.slice(middle + 1),
    ];
    for (const wrong of forged) {
      expect(
        (await modern(url, { method: 'tools/list', params: { cursor: wrong } })).error?.code,
        wrong,
      ).toBe(-32602);
      expect(await errorOf(old.listTools({ cursor: wrong })), wrong).toMatchObject({ code: -32602 });
    }
    expect((await modern(url, { method: 'prompts/list', params: { cursor } })).error?.code).toBe(-32602);
    expect((await modern(url, { method: 'tools/list', params: { cursor: 7 } })).error?.code).toBe(-32602);
  });

  let started: Promise<GatewayProcess> | undefined;
  /** Starts a gateway with a server of many tools, and a server of few. */
  const crowded = (): Promise<GatewayProcess> => {
    started ??= (async () => {
      const many = await bothErasOverHttp({ name: 'many', isModernOnly: true, pageSize: 500 });
      for (let n = 0; n < count; n += 1)
        many.sharedState.added.set(
          `item-${n}`,
          tool(`item-${n}`, 'One of many.', async () => text(n)),
        );
      const servers = { many: { url: many.url, era: 'modern' }, few: everythingOverStdio() };
      const slowGateway = await startGateway({ servers, settings: { list_timeout_seconds: 20 } });
      await modern(`${slowGateway.url}/mcp`, { method: 'tools/list' });
      return slowGateway;
    })();
    return started;
  };
});

test.each(['legacy', 'modern'])(
  'a server with an unknown era delays a list at most until its timeout: %s client',
  async (era) => {
    const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], era: 'auto' };
    const slow = { ...bothErasOverStdio({ listDelayMs: 5000 }), era: 'auto' };
    const late = await startGateway({
      settings: { list_timeout_seconds: 2 },
      servers: { silent, slow, good: everythingOverStdio() },
    });
    const url = `${late.url}/mcp`;
    const old = era === 'legacy' ? await McpClient.connect(url) : undefined;
    const listed = async (): Promise<string[]> => {
      const { tools } =
        old === undefined
          ? (await modern(url, { method: 'tools/list' })).result
          : await old.client.listTools();
      return tools.map(({ name }: { name: string }) => name.split('__')[0]);
    };
    // The tools of this server are listed in time, however slowly processes start.
    expect((await rpc(late.url, 'good', 'tools/list')).status).toBe(200);
    const began = performance.now();
    expect([...new Set(await listed())]).toEqual(['good']);
    expect(performance.now() - began).toBeLessThan(15_000);
    await eventually('the slow server', async () => (await listed()).includes('slow'));
    const secondStart = performance.now();
    expect([...new Set(await listed())]).toEqual(['slow', 'good']);
    expect(performance.now() - secondStart).toBeLessThan(1800);
  },
);

test('the first of two servers with the same resource answers, and tools with unusual names are found', async () => {
  const long = 'l'.repeat(60);
  const servers = {
    'be.ta': { ...bothErasOverStdio({ name: 'twin', isModernOnly: true }), era: 'modern' },
    [long]: everythingOverStdio({ name: 'twin', tools: ['stats', 'echo'] }),
    a: everythingOverStdio({ name: 'a', tools: ['stats', 'echo'] }),
    a__b: { ...bothErasOverStdio({ name: 'ab', isModernOnly: true }), era: 'modern' },
  };
  const named = await startGateway({ servers, settings: { list_timeout_seconds: 20 } });
  const url = `${named.url}/mcp`;
  await modern(url, { method: 'tools/list' });
  const pidOf = async (id: string) =>
    (await json<{ pids: number[] }>(`${named.url}/servers/${id}`)).body.pids[0] as number;
  for (const kind of kinds) {
    const realClient = await connectReal(kind, { url });
    const names = await everyTool(realClient);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const pids = new Set<unknown>();
    for (const name of names.filter((each) => /stats|^llll/.test(each))) {
      const { pid } = textOf(await realClient.call(name));
      if (pid !== undefined) pids.add(pid);
    }
    expect(pids).toEqual(new Set(await Promise.all(Object.keys(servers).map(pidOf))));
    const uris = (await realClient.listResources()).resources.map(({ uri }) => uri);
    expect(uris.filter((uri) => uri === 'twin://own')).toHaveLength(1);
    const [content] = (await realClient.readResource({ uri: 'twin://own' })).contents as { text: string }[];
    expect(content?.text).toBe('This is the content of twin://own');
    await realClient.close();
  }
});
