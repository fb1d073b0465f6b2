// `expose: search` for clients and servers of both eras: a call through `call_tool` behaves like a direct
// call, including questions and cancellation.

import { beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import {
  allClientCapabilities,
  type More,
  modern,
  resultOf,
  toolCall,
} from '../../fixtures/clients/modern-client.ts';
import { RawSession, until } from '../../fixtures/clients/raw-session.ts';
import { type Answer, connectReal, type Kind, type RealClient } from '../../fixtures/clients/real-clients.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

const kinds: Kind[] = ['v1', 'v2 legacy', 'v2 modern'];
const accepted = { action: 'accept', content: { name: 'Ann', check: true } };

let gateway: GatewayProcess;
let web: RemoteBothEras;
let mcp: string;

beforeAll(async () => {
  web = await bothErasOverHttp({ name: 'web', isModernOnly: true });
  gateway = await startGateway({
    settings: { expose: 'search', list_timeout_seconds: 20 },
    servers: {
      own: { ...everythingOverStdio({ name: 'own' }), isolation: 'session' },
      young: { ...bothErasOverStdio({ name: 'young', isModernOnly: true }), era: 'modern' },
      web: { url: web.url, era: 'modern' },
    },
  });
  mcp = `${gateway.url}/mcp`;
  await modern(mcp, toolCall('find_tools', { query: '' }));
});

const callThroughSearch = (name: string, args: object = {}, more: More = {}) =>
  toolCall('call_tool', { name, arguments: args }, more);

function textOf(result: Answer): Answer {
  return resultOf({ result, error: undefined });
}

function caller(client: RealClient) {
  return async (name: string, args: object = {}, onProgress?: (progress: Answer) => void) =>
    client.call('call_tool', { name, arguments: args }, onProgress);
}

describe.each(kinds)('with SDK %s', (kind) => {
  test('a client of a gateway with expose: search lists three tools, and calls all other tools through call_tool', async () => {
    const client = await connectReal(kind, { url: mcp });
    const call = caller(client);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'find_tools',
      'describe_tool',
      'call_tool',
    ]);
    const tools = await client.call('find_tools', { query: 'rich', server: 'web' });
    expect(tools.structuredContent.tools[0].name).toBe('web__rich');
    const described = await client.call('describe_tool', { name: 'young__echo' });
    expect(described.structuredContent.tool).toMatchObject({ name: 'young__echo', inputSchema: {} });
    for (const id of ['own', 'young', 'web']) {
      expect(textOf(await call(`${id}__echo`, { id, deep: [{ é: 1 }] }))).toEqual({ id, deep: [{ é: 1 }] });
      expect(await call(`${id}__refuse`)).toMatchObject({ isError: true });
      const steps: number[] = [];
      await call(`${id}__slow`, { steps: 3, ms: 2 }, ({ progress }) => steps.push(progress));
      expect(steps, id).toEqual([1, 2, 3]);
    }
    expect(await call('web__rich')).toMatchObject({
      structuredContent: { answer: 42 },
      'x-result-extra': { deep: [{ id: 'not an id' }, { progressToken: 'no token' }] },
    });
    expect((await call('web__none')).isError).toBe(true);
  });

  test('a client answers requests of the server behind call_tool, over several rounds', async () => {
    const call = caller(await connectReal(kind, { url: mcp }));
    for (const id of ['young', 'web']) {
      const { answers } = textOf(await call(`${id}__ask-rounds`));
      expect(answers, id).toEqual({ q0: accepted, q1: accepted, q2: accepted });
      expect(textOf(await call(`${id}__ask-with-raw-state`)).isSame, id).toBe(true);
    }
    expect(textOf(await call('own__elicit', { message: 'Who?' }))).toEqual({ answer: accepted });
  });
});

describe('a modern client of a tool search', () => {
  test('receives the request state of a server unchanged, and its retry calls the server again', async () => {
    const state = 'raw:é "\\/ \u2028 1.0 {"id":7}';
    const ask = (more: More = {}) =>
      modern(
        mcp,
        callThroughSearch(
          'web__ask-with-raw-state',
          { state: state.slice(4) },
          { meta: allClientCapabilities, ...more },
        ),
      );
    const first = await ask();
    expect(first.result).toMatchObject({ resultType: 'input_required', requestState: state });
    const params = { requestState: state, inputResponses: { answer: { action: 'decline' } } };
    const second = await ask({ params, id: '"zwei"' });
    expect(resultOf(second)).toEqual({
      isSame: true,
      back: state,
      answers: { answer: { action: 'decline' } },
    });
    const [one, two] = web.http.requests
      .filter(({ headers }) => headers['mcp-name'] === 'ask-with-raw-state')
      .slice(-2)
      .map(({ body }) => JSON.parse(body).params);
    expect(one).toMatchObject({ name: 'ask-with-raw-state', arguments: { state: state.slice(4) } });
    expect(two).toMatchObject({ ...one, requestState: state });
    // For a legacy server the gateway issues the state, which belongs to these exact arguments.
    const elicit = (message: string, more: More = {}) =>
      modern(mcp, callThroughSearch('own__elicit', { message }, { meta: allClientCapabilities, ...more }));
    const { requestState, inputRequests } = (await elicit('Who?')).result;
    const [key = ''] = Object.keys(inputRequests);
    const answer = { params: { requestState, inputResponses: { [key]: accepted } } };
    expect((await elicit('You?', answer)).error?.code).toBe(-32602);
    expect(resultOf(await elicit('Who?', answer))).toEqual({ answer: accepted });
  });

  test.each(['young', 'web'])('a cancellation reaches %s, of either era', async (id) => {
    const cancelled = async () =>
      (resultOf(await modern(mcp, callThroughSearch(`${id}__stats`))) as { cancelled: string[] }).cancelled
        .length;
    const calls = async () => {
      const stats = resultOf(await modern(mcp, callThroughSearch(`${id}__stats`))) as { calls: string[] };
      return stats.calls.filter((call) => call.endsWith(' hang')).length;
    };
    const before = await cancelled();
    const countBefore = await calls();
    const leaving = new AbortController();
    const abandoned = modern(mcp, callThroughSearch(`${id}__hang`), { signal: leaving.signal }).catch(
      () => 'left',
    );
    await until('the call', async () => (await calls()) > countBefore);
    leaving.abort();
    expect(await abandoned).toBe('left');
    await until('the first end', async () => (await cancelled()) === before + 1);
    const session = await RawSession.open(gateway.url);
    const hanging = session.call(
      'call_tool',
      { name: `${id}__hang`, arguments: {} },
      { id: 'h', onMessage: () => {} },
    );
    await until('the second call', async () => (await calls()) > countBefore + 1);
    await session.notify('notifications/cancelled', { requestId: 'h' });
    await until('the second end', async () => (await cancelled()) === before + 2);
    await session.end();
    await hanging.catch(() => {});
  });
});
