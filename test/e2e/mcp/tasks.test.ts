// Tasks of legacy servers: plain clients call tools that require a task at /mcp, clients that share a
// connection cannot reach tasks of other clients at /mcp/:id, and a running task prevents the idle stop.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  eventually,
  fixture,
  initialize,
  message,
  post,
  postStream,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import { modern } from '../../fixtures/clients/modern-client.ts';
import { connectReal } from '../../fixtures/clients/real-clients.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { anonymously } from '../../fixtures/gateway/operator.ts';
import { everythingServer } from '../../fixtures/server/real-servers.ts';

// biome-ignore lint/suspicious/noExplicitAny: each test knows the response shape
type Json = any;

const TASKS = 'io.modelcontextprotocol/tasks';
/** Methods that refer to a task by id. */
const byId = ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'];
const notFound = { code: -32602, message: 'Failed to retrieve task: Task not found' };
const folder = temporaryFolder();
const messageFileOf = (id: string) => join(folder, `${id}.heard`);
const server = (id: string, more: object = {}) => ({
  command: process.execPath,
  args: [fixture('tasks.mjs'), messageFileOf(id)],
  ...more,
});

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await startGateway({
    servers: {
      calls: server('calls', { isolation: 'shared' }),
      owned: server('owned', { isolation: 'shared' }),
      twice: server('twice', { isolation: 'shared', pool: { max: 2 } }),
      alone: server('alone', { isolation: 'session' }),
      brief: server('brief', { isolation: 'shared', idle_timeout_seconds: 1 }),
      own: server('own', { isolation: 'session', idle_timeout_seconds: 1 }),
      hasty: server('hasty', { request_timeout_seconds: 1, max_request_seconds: 3 }),
      killed: server('killed'),
      stopped: server('stopped', { isolation: 'shared' }),
      crashed: server('crashed', { isolation: 'shared' }),
      again: server('again', { isolation: 'shared' }),
      narrow: server('narrow', { isolation: 'shared', pool: { in_flight: 1 } }),
      modern: {
        command: process.execPath,
        args: [fixture('modern-puppet.mjs')],
        isolation: 'shared',
        era: 'modern',
      },
      idle: server('idle', { isolation: 'shared', idle_timeout_seconds: 1 }),
      pair: server('pair', { isolation: 'shared', pool: { max: 2 } }),
      everything: { ...everythingServer },
    },
    settings: { profiles: { few: { servers: ['calls'] } } },
  });
});

/** Messages of this method, as received by a server. */
function messagesOf(id: string, method: string): Json[] {
  if (!existsSync(messageFileOf(id))) return [];
  const lines = readFileSync(messageFileOf(id), 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)).filter((one) => one.method === method);
}

/** The last call that carries a marker, as the server received it. */
function callOf(id: string, marker: string): Json {
  return messagesOf(id, 'tools/call').find(({ params }) => params.arguments?.marker === marker);
}

/** A legacy client with a session. */
async function session(path: string): Promise<(method: string, params?: object) => Promise<Json>> {
  const url = `${gateway.url}${path}`;
  const headers = await initialize(url);
  let id = 0;
  return async (method, params = {}) => {
    id += 1;
    const { text } = await post(url, message(method, params, id), headers);
    const data = text.split('\n').filter((line) => line.startsWith('data: {'));
    return JSON.parse(data.at(-1)?.slice(6) ?? text);
  };
}

const taskCall = (ms: number, marker: string, task: object = {}) => ({
  name: 'slow',
  arguments: { ms, marker },
  task,
});

describe('MCP tasks of several servers', () => {
  test.each(['/mcp', '/mcp/@few'])('a plain client calls a tool that needs a task at %s', async (path) => {
    const client = await session(path);
    const marker = `plain ${path}`;
    const answer = await client('tools/call', { name: 'calls__slow', arguments: { ms: 200, marker } });
    expect(answer.result).toEqual({
      content: [{ type: 'text', text: `done ${marker}` }],
      _meta: { mine: 1 },
    });
    // The ttl is the maximum call duration plus a margin.
    expect(callOf('calls', marker).params.task).toEqual({ ttl: 660_000 });
  });

  test('a client that requests a task gets the result of the call, not a task', async () => {
    const client = await session('/mcp');
    const params = { name: 'calls__plain', arguments: { marker: 'ignored' }, task: { ttl: 1 } };
    const { result } = await client('tools/call', params);
    expect(JSON.parse(result.content[0].text)).toEqual({ name: 'plain', arguments: { marker: 'ignored' } });
    const either = { name: 'calls__either', arguments: {}, task: {} };
    expect((await client('tools/call', either)).result.content[0].text).toContain('either');
    const needed = { name: 'calls__slow', arguments: { marker: 'needed' }, task: { ttl: 5 } };
    expect((await client('tools/call', needed)).result.content[0].text).toBe('done needed');
  });

  test('no listed tool has taskSupport, neither in the merged list nor for modern clients', async () => {
    const client = await session('/mcp');
    const { result } = await client('tools/list');
    const slow = result.tools.find(({ name }: Json) => name === 'calls__slow');
    expect(slow).toEqual({ name: 'calls__slow', inputSchema: { type: 'object' } });
    expect(JSON.stringify(result)).not.toContain('taskSupport');
    for (const path of ['/mcp', '/mcp/calls']) {
      const listed = await modern(`${gateway.url}${path}`, { method: 'tools/list' });
      expect(JSON.stringify(listed.result.tools)).not.toContain('taskSupport');
    }
    const single = await session('/mcp/calls');
    const { tools } = (await single('tools/list')).result;
    expect(tools[0].execution).toEqual({ taskSupport: 'required' });
  });

  test.each([
    ['/mcp', 'calls__slow', {}],
    ['/mcp', 'calls__slow', { extensions: { [TASKS]: {} } }],
    ['/mcp/calls', 'slow', {}],
    ['/mcp/calls', 'slow', { extensions: { [TASKS]: {} } }],
  ])(
    'a modern client gets the result of a task-only tool at %s as %s with %j',
    async (path, name, clientCapabilities) => {
      const params = { name, arguments: { ms: 100, marker: 'modern' }, task: { ttl: 1 } };
      const { result } = await modern(`${gateway.url}${path}`, {
        method: 'tools/call',
        params,
        meta: { clientCapabilities },
      });
      expect(result.content).toEqual([{ type: 'text', text: 'done modern' }]);
      expect(result.resultType).toBe('complete');
      expect(JSON.stringify(result)).not.toContain('taskId');
    },
  );

  test('the progress of the task reaches the client under its own token', async () => {
    const url = `${gateway.url}/mcp`;
    const headers = await initialize(url);
    const params = {
      name: 'calls__slow',
      arguments: { ms: 300, marker: 'p' },
      _meta: { progressToken: 'mine' },
    };
    const { text } = await post(url, message('tools/call', params, 'x'), headers);
    const all = text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)));
    const progress = all.filter(({ method }) => method === 'notifications/progress').map((one) => one.params);
    expect(progress.length).toBeGreaterThan(3);
    expect(progress.map((one) => one.progress)).toEqual(progress.map((_, at) => at + 1));
    expect(progress.every(({ progressToken }) => progressToken === 'mine')).toBe(true);
    expect(all.at(-1)).toMatchObject({ id: 'x', result: { content: [{ text: 'done p' }] } });
    // The client does not know the task, so it receives no status.
    expect(all.some(({ method }) => method === 'notifications/tasks/status')).toBe(false);
  });

  test.each(['cancels', 'ends its session'])('a client that %s has its task cancelled', async (how) => {
    const url = `${gateway.url}/mcp`;
    const headers = await initialize(url);
    const params = { name: 'calls__slow', arguments: { ms: 60_000, marker: how } };
    const before = messagesOf('calls', 'tasks/cancel').length;
    const waiting = postStream(url, message('tools/call', params, 7), headers);
    const task = await eventually('the request for the result', () => {
      const created = messagesOf('calls', 'tools/call').findIndex(
        (one) => one.params.arguments?.marker === how,
      );
      return created >= 0 && messagesOf('calls', 'tasks/result').length > 0 ? created : undefined;
    });
    expect(task).toBeGreaterThanOrEqual(0);
    if (how === 'cancels')
      await post(
        url,
        JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }),
        headers,
      );
    else await fetch(url, { method: 'DELETE', headers });
    await eventually(
      'the cancellation of the task',
      () => messagesOf('calls', 'tasks/cancel').length > before || undefined,
    );
    void waiting;
  });

  test.each(['v1', 'v2 legacy', 'v2 modern'] as const)(
    'the task tool of the reference server answers a client of SDK %s',
    async (kind) => {
      const client = await connectReal(kind, { url: `${gateway.url}/mcp` }, false);
      const answer = await client.call('everything__simulate-research-query', { topic: 'gateways' });
      expect(answer.isError).not.toBe(true);
      expect(answer.content[0].text).toContain('Research Report: gateways');
    },
  );

  test('a task may run beyond request_timeout_seconds, up to max_request_seconds, and is then cancelled', async () => {
    const client = await session('/mcp');
    const params = { name: 'hasty__slow', arguments: { ms: 1_500, marker: 'long' } };
    expect((await client('tools/call', params)).result.content[0].text).toBe('done long');
    const endless = { name: 'hasty__slow', arguments: { ms: 60_000, marker: 'endless' } };
    const { error } = await client('tools/call', endless);
    expect(error).toMatchObject({ data: { reason: 'ERR_DEADLINE', server: 'hasty' } });
    await eventually(
      'the cancellation of the task',
      () => messagesOf('hasty', 'tasks/cancel').length === 1 || undefined,
    );
  });

  test('a call fails if the server exits while the task runs, and the task is not started again', async () => {
    const client = await session('/mcp');
    const call = client('tools/call', { name: 'killed__slow', arguments: { ms: 60_000, marker: 'killed' } });
    await eventually(
      'the request for the result',
      () => messagesOf('killed', 'tasks/result').length > 0 || undefined,
    );
    const details = (await (await fetch(`${gateway.url}/servers/killed`)).json()) as Json;
    process.kill(details.pids[0], 'SIGKILL');
    expect((await call).error.data).toMatchObject({ reason: 'ERR_CONNECTION_LOST' });
    expect(messagesOf('killed', 'tools/call')).toHaveLength(1);
  });

  test('crafted _meta cannot change the arguments of a call or crash the gateway', async () => {
    for (const pad of [0, 21, 22, 23, 60]) {
      const args = { path: 'allowed', a: { b: { pad: 'x'.repeat(pad) } } };
      const body = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"calls__plain","arguments":${JSON.stringify(args)},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"${TASKS}":{},"k":1}},"path":"other"}}}`;
      const headers = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'calls__plain',
      };
      const { text } = await post(`${gateway.url}/mcp`, body, headers);
      const params = JSON.parse(JSON.parse(text).result.content[0].text);
      expect(params).toEqual({ name: 'plain', arguments: args, _meta: { path: 'other' } });
    }
  });
});

describe('MCP tasks of one server', () => {
  test.each(['owned', 'twice'])('each session can access only its own tasks at %s', async (id) => {
    const [anna, ben] = [await session(`/mcp/${id}`), await session(`/mcp/${id}`)];
    const { task } = (await anna('tools/call', taskCall(150, 'anna'))).result;
    const other = (await ben('tools/call', taskCall(150, 'ben'))).result.task;
    const idsOf = async (client: typeof anna) =>
      (await client('tasks/list')).result.tasks.map(({ taskId }: Json) => taskId);
    if (id === 'owned') {
      expect(await idsOf(anna)).toEqual([task.taskId]);
      expect(await idsOf(ben)).toEqual([other.taskId]);
    }
    const receivedById = () => byId.reduce((sum, method) => sum + messagesOf(id, method).length, 0);
    const before = receivedById();
    const stranger = await session(`/mcp/${id}`);
    for (const method of byId) {
      const foreign = await stranger(method, { taskId: task.taskId });
      const unknown = await stranger(method, { taskId: 'task-unknown' });
      expect(foreign.error).toEqual(notFound);
      expect(unknown.error).toEqual(notFound);
    }
    expect((await stranger('tasks/list')).result.tasks).toEqual([]);
    for (const headers of [{}, anonymously])
      for (const method of byId) {
        const single = await rpc(gateway.url, id, message(method, { taskId: task.taskId }), headers);
        expect(JSON.parse(single.text).error).toEqual(notFound);
      }
    expect(receivedById()).toBe(before);
    expect((await anna('tasks/get', { taskId: task.taskId })).result).toMatchObject({ taskId: task.taskId });
    expect((await anna('tasks/result', { taskId: task.taskId })).result.content[0].text).toBe('done anna');
  });

  test('a request with a duplicate taskId key is refused', async () => {
    const client = await session('/mcp/owned');
    const { taskId } = (await client('tools/call', taskCall(0, 'dup'))).result.task;
    const url = `${gateway.url}/mcp/owned`;
    const headers = await initialize(url);
    const body = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x","taskId":"${taskId}"}}`;
    expect(JSON.parse((await post(url, body, headers)).text).error.code).toBe(-32600);
  });

  test('anonymous requests without a session find a task by its id, and cannot list tasks', async () => {
    const send = async (method: string, params = {}, headers = {}) =>
      JSON.parse((await rpc(gateway.url, 'owned', message(method, params), headers)).text);
    const { taskId } = (await send('tools/call', taskCall(0, 'rpc'), anonymously)).result.task;
    expect((await send('tasks/get', { taskId }, anonymously)).result.taskId).toBe(taskId);
    expect((await send('tasks/list', {}, anonymously)).error.code).toBe(-32601);
    // The operator token is a different principal.
    expect((await send('tasks/get', { taskId })).error).toEqual(notFound);
    const own = (await send('tools/call', taskCall(0, 'operator'))).result.task.taskId;
    const listed = (await send('tasks/list')).result.tasks.map((task: Json) => task.taskId);
    expect(listed).toContain(own);
    expect(listed).not.toContain(taskId);
    const client = await session('/mcp/owned');
    expect((await client('tasks/get', { taskId })).error).toEqual(notFound);
  });

  test('the status of a task is sent only to the session that created it', async () => {
    const url = `${gateway.url}/mcp/owned`;
    const [anna, ben] = [await initialize(url), await initialize(url)];
    const streams = [anna, ben].map(async (headers) => {
      const control = new AbortController();
      const answer = await fetch(url, {
        headers: { ...headers, accept: 'text/event-stream' },
        signal: control.signal,
      });
      let text = '';
      const reading = (async () => {
        for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
      })().catch(() => {});
      const close = () => {
        control.abort();
        return reading;
      };
      return { heard: () => text, close };
    });
    const [hers, his] = await Promise.all(streams);
    const body = message('tools/call', taskCall(100, 'status'));
    const { text } = await post(url, body, anna);
    const id = /task-\d+/.exec(text)?.[0] ?? 'none';
    await eventually(
      'the notification of the owner',
      () => hers?.heard().includes(`"${id}","status":"completed"`) || undefined,
    );
    expect(his?.heard()).not.toContain(id);
    await Promise.all([hers?.close(), his?.close()]);
  });

  test('with isolation: session each client sees only tasks of its own connection', async () => {
    const [anna, ben] = [await session('/mcp/alone'), await session('/mcp/alone')];
    const { taskId } = (await anna('tools/call', taskCall(100, 'alone'))).result.task;
    expect((await ben('tasks/list')).result.tasks).toEqual([]);
    expect((await anna('tasks/list')).result.tasks).toHaveLength(1);
    expect((await anna('tasks/result', { taskId })).result.content[0].text).toBe('done alone');
  });
});

const detailsOf = async (id: string) => (await (await fetch(`${gateway.url}/servers/${id}`)).json()) as Json;
const stateOf = async (id: string) => (await detailsOf(id)).state;
const expectStopped = (id: string) =>
  eventually('the server stops', async () => (await stateOf(id)) === 'stopped' || undefined, 20_000);
const kill = async (id: string, at = 0) => {
  const [...pids] = (await detailsOf(id)).pids;
  process.kill(pids[at], 'SIGKILL');
  await eventually(
    'the process ends',
    async () => !(await detailsOf(id)).pids.includes(pids[at]) || undefined,
  );
};

describe('a task is lost with the process', () => {
  type Client = (method: string, params?: object) => Promise<Json>;
  const idOf = async (client: Client, marker: string, ms = 0): Promise<string> =>
    (await client('tools/call', taskCall(ms, marker))).result.task.taskId;
  const idsOf = async (client: Client) =>
    (await client('tasks/list')).result.tasks.map(({ taskId }: Json) => taskId);
  const operator =
    (id: string): Client =>
    async (method, params = {}) =>
      JSON.parse((await rpc(gateway.url, id, message(method, params))).text);
  const resultOf = async (client: Client, taskId: string) =>
    (await client('tasks/result', { taskId })).result.content[0].text;

  test.each([
    ['stopped', 'session', () => fetch(`${gateway.url}/servers/stopped/stop`, { method: 'POST' })],
    ['crashed', 'operator', () => kill('crashed')],
    ['idle', 'session', () => expectStopped('idle')],
  ] as const)('%s: the same id at the next process is unknown to the %s', async (id, kind, end) => {
    const anna = kind === 'session' ? await session(`/mcp/${id}`) : operator(id);
    const taskId = await idOf(anna, 'anna');
    await end();
    const ben = await session(`/mcp/${id}`);
    expect(await idOf(ben, 'ben', 500)).toBe(taskId);
    for (const method of byId) expect((await anna(method, { taskId })).error).toEqual(notFound);
    expect(await idsOf(anna)).toEqual([]);
    for (const method of byId) expect(messagesOf(id, method)).toEqual([]);
    expect(await idsOf(ben)).toEqual([taskId]);
    expect(await resultOf(ben, taskId)).toBe('done ben');
  });

  test('with pool.max: 2 a task id leads only to the process that created the task', async () => {
    const [anna, ben] = [await session('/mcp/pair'), await session('/mcp/pair')];
    const taskId = await idOf(anna, 'anna', 1_500);
    // A process is added only if the first is in use.
    const result = resultOf(anna, taskId);
    await eventually(
      'the result is requested',
      () => messagesOf('pair', 'tasks/result').length > 0 || undefined,
    );
    expect(await idOf(ben, 'ben', 60_000)).toBe(taskId);
    expect(await idsOf(anna)).toEqual([taskId]);
    expect(await idsOf(ben)).toEqual([taskId]);
    expect(await result).toBe('done anna');
    await kill('pair');
    const before = byId.map((method) => messagesOf('pair', method).length);
    for (const method of byId) expect((await anna(method, { taskId })).error).toEqual(notFound);
    expect(byId.map((method) => messagesOf('pair', method).length)).toEqual(before);
    expect(await idsOf(anna)).toEqual([]);
    expect((await ben('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'working' });
  });

  test('a queued task request is not sent to the next process after a crash', async () => {
    const anna = await session('/mcp/narrow');
    const taskId = await idOf(anna, 'anna', 60_000);
    const result = anna('tasks/result', { taskId });
    await eventually(
      'the result is requested',
      () => messagesOf('narrow', 'tasks/result').length > 0 || undefined,
    );
    const waiting = anna('tasks/get', { taskId });
    await eventually('the request waits', async () => (await detailsOf('narrow')).waiting === 1 || undefined);
    await kill('narrow');
    expect((await result).error.data.reason).toBe('ERR_CONNECTION_LOST');
    expect((await waiting).error).toMatchObject(notFound);
    expect(messagesOf('narrow', 'tasks/get')).toEqual([]);
  });
});

test('a legacy client cannot update the tasks of a modern server', async () => {
  const client = await session('/mcp/modern');
  expect((await client('tasks/update', { taskId: 'task-99', status: 'completed' })).error).toEqual(notFound);
  const { result } = await client('tools/call', { name: 'heard', arguments: {} });
  expect(JSON.stringify(result)).not.toContain('task-99');
});

describe('a server with idle_timeout_seconds: 1', () => {
  test.concurrent.each(['brief', 'own'])(
    '%s keeps running while a task runs, and stops afterwards',
    async (id) => {
      const client = await session(`/mcp/${id}`);
      const { taskId } = (await client('tools/call', taskCall(3_500, 'long'))).result.task;
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(await stateOf(id)).not.toBe('stopped');
      expect((await client('tasks/result', { taskId })).result.content[0].text).toBe('done long');
      if (id === 'brief') await expectStopped(id);
    },
  );
});

test('clients that share a connection to a remote server have their own tasks', async () => {
  const outer = await startGateway({
    servers: { far: { url: `${gateway.url}/mcp/owned`, isolation: 'shared' } },
  });
  const url = `${outer.url}/mcp/far`;
  const [anna, ben] = [await initialize(url), await initialize(url)];
  const created = await post(url, message('tools/call', taskCall(0, 'far')), anna);
  const taskId = /task-\d+/.exec(created.text)?.[0];
  const responseTo = async (headers: object, method: string) =>
    (await post(url, message(method, { taskId }), { ...headers })).text;
  expect(await responseTo(anna, 'tasks/get')).toContain(taskId);
  expect(await responseTo(anna, 'tasks/list')).toContain(taskId);
  expect(await responseTo(ben, 'tasks/list')).not.toContain(taskId);
  expect(await responseTo(ben, 'tasks/result')).toContain(notFound.message);
  expect(await responseTo(anna, 'tasks/result')).toContain('done far');
  await fetch(url, { method: 'DELETE', headers: anna });
  // A closed session's tasks are unknown, even with a valid id.
  expect(await responseTo(await initialize(url), 'tasks/get')).toContain(notFound.message);
});

test('a task id that a restarted remote server reuses gives the creator of the old task no access to the new task', async () => {
  const outer = await startGateway({
    servers: { far: { url: `${gateway.url}/mcp/again`, isolation: 'shared' } },
  });
  const url = `${outer.url}/mcp/far`;
  const [anna, ben] = [await initialize(url), await initialize(url)];
  const send = async (headers: Readonly<Record<string, string>>, method: string, params = {}) =>
    (await post(url, message(method, params), headers)).text;
  expect(await send(anna, 'tools/call', taskCall(0, 'anna'))).toContain('task-1');
  await fetch(`${gateway.url}/servers/again/stop`, { method: 'POST' });
  expect(await send(ben, 'tools/call', taskCall(0, 'ben'))).toContain('task-1');
  for (const method of byId)
    expect(await send(anna, method, { taskId: 'task-1' })).toContain(notFound.message);
  expect(await send(anna, 'tasks/list')).not.toContain('task-1');
  expect(await send(ben, 'tasks/result', { taskId: 'task-1' })).toContain('done ben');
});

test('an MCP task that never ends delays the idle stop of its server only for the ttl of the task', async () => {
  const small = await startGateway({
    servers: { brief: server('ttl', { isolation: 'shared', idle_timeout_seconds: 1 }) },
  });
  const url = `${small.url}/mcp/brief`;
  const headers = await initialize(url);
  await post(url, message('tools/call', taskCall(600_000, 'endless', { ttl: 2_500 })), headers);
  const startedAt = performance.now();
  await eventually('the server stops', async () => {
    const { state } = (await (await fetch(`${small.url}/servers/brief`)).json()) as Json;
    return state === 'stopped' || undefined;
  });
  expect(performance.now() - startedAt).toBeGreaterThan(2_400);
});
