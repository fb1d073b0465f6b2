// Links to remote servers with real servers of the public SDK.

import { afterEach, describe, expect, test } from 'vitest';
import { notification, request, until } from '../../fixtures/remote/link-recorder.ts';
import type { LocalServer } from '../../fixtures/remote/local-server.ts';
import { checkGuarantees, httpLink, shakeHands, sseLink } from '../../fixtures/remote/open-link.ts';
import {
  type SdkHttpOptions,
  startSdkHttpServer,
  startSdkSseServer,
} from '../../fixtures/remote/sdk-server.ts';

const servers: LocalServer[] = [];

async function sdk(options: SdkHttpOptions = {}) {
  const server = await startSdkHttpServer(options);
  servers.push(server);
  return server;
}

async function sdkSse() {
  const server = await startSdkSseServer();
  servers.push(server);
  return server;
}

function tool(id: number, name: string, args: object = {}): Buffer {
  return request(id, 'tools/call', { name, arguments: args });
}

afterEach(async () => {
  await checkGuarantees();
  for (const server of servers.splice(0)) {
    await server.noConnections();
    await server.close();
  }
});

describe.each<[string, SdkHttpOptions]>([
  ['with sessions', {}],
  ['without sessions', { isStateless: true }],
  ['that answers JSON only', { isJsonOnly: true }],
  ['without sessions that answers JSON only', { isStateless: true, isJsonOnly: true }],
  ['with resumable streams', { isResumable: true }],
])('calls to a Streamable HTTP server %s', (_name, options) => {
  test('a Streamable HTTP server answers a call on the HTTP response of that call', async () => {
    const server = await sdk(options);
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(tool(2, 'echo', { text: 'hello' }), 2);
    const answer = await recorder.answer(2);
    expect(answer.call).toBe(2);
    expect(JSON.parse(answer.text)).toEqual({
      jsonrpc: '2.0',
      id: 2,
      result: { content: [{ type: 'text', text: 'hello' }] },
    });
    expect(link.queuedBytes).toBe(0);
    await link.close();
    await server.noConnections();
  });

  test('each of 60 concurrent calls to a Streamable HTTP server receives its own response', async () => {
    const server = await sdk(options);
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    const calls = Array.from({ length: 60 }, (_, n) => n + 10);
    for (const call of calls) link.send(tool(call, 'wait', { ms: (call * 7) % 23, text: `t${call}` }), call);
    for (const call of calls) {
      const { text, call: on } = await recorder.answer(call);
      expect(on).toBe(call);
      expect(JSON.parse(text).result.content[0].text).toBe(`t${call}`);
    }
  });
});

describe('a session', () => {
  test('has the id of the initialize response, which all later requests send, with the protocol version', async () => {
    const server = await sdk();
    const { link, recorder } = await shakeHands(
      httpLink(server.url(), { headers: { Authorization: 'Bearer s3cret-value' } }),
    );
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    link.send(tool(2, 'echo'), 2, { traceparent });
    await recorder.answer(2);
    await link.close();
    const [first, ...later] = server.requests;
    expect(first?.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      authorization: 'Bearer s3cret-value',
    });
    expect(first?.headers).not.toHaveProperty('mcp-session-id');
    expect(first?.headers).not.toHaveProperty('mcp-protocol-version');
    expect(later.map(({ line }) => line).toSorted()).toEqual([
      'DELETE /mcp',
      'GET /mcp',
      'POST /mcp',
      'POST /mcp',
    ]);
    for (const { headers } of later) {
      expect(headers).toMatchObject({
        'mcp-session-id': expect.stringMatching(/^[\w-]{36}$/),
        'mcp-protocol-version': '2025-11-25',
        authorization: 'Bearer s3cret-value',
      });
    }
    expect(
      later.map(({ headers }) => headers.traceparent).filter((value) => value !== undefined),
    ).toHaveLength(1);
  });

  test('is deleted when the link is closed', async () => {
    const server = await sdk();
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    await until('a session', () => server.transports.size === 1);
    await Promise.all([link.close(), link.close()]);
    expect(server.transports.size).toBe(0);
    expect(recorder.ended?.code).toBe('ERR_STOPPED');
    link.send(tool(9, 'echo'), 9);
    expect(await recorder.failure(9)).toMatchObject({ mayHaveRun: false });
  });

  test('if lost by the server, fails all calls as not executed and closes the connection', async () => {
    const server = await sdk({ isJsonOnly: true });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(tool(2, 'echo'), 2);
    await recorder.answer(2);
    server.transports.clear();
    for (const call of [3, 4, 5]) link.send(tool(call, 'echo'), call);
    expect((await recorder.end()).code).toBe('ERR_UPSTREAM_SESSION_EXPIRED');
    for (const call of [3, 4, 5])
      expect(await recorder.failure(call)).toMatchObject({
        mayHaveRun: false,
        error: { code: 'ERR_UPSTREAM_SESSION_EXPIRED' },
      });
  });
});

describe('the messages of a remote MCP server', () => {
  test('on the response stream of a call arrive in order, assigned to that call', async () => {
    const server = await sdk();
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3, 4]) link.send(tool(call, 'talk', { text: `${call}-`, count: 20 }), call);
    for (const call of [2, 3, 4]) {
      await recorder.answer(call);
      const texts = recorder.messages
        .filter((message) => message.call === call)
        .map(({ text }) => JSON.parse(text));
      expect(texts.slice(0, -1).map(({ params }) => params.data)).toEqual(
        Array.from({ length: 20 }, (_, n) => `${call}-${n}`),
      );
      expect(texts.at(-1)).toMatchObject({ id: call });
    }
  });

  test('that belong to no call arrive on the GET stream, assigned to no call', async () => {
    const server = await sdk();
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    await until('the GET', () => server.requests.some(({ line }) => line === 'GET /mcp'));
    link.send(tool(2, 'announce'), 2);
    await until('the notification', () =>
      recorder.messages.some(({ text }) => text.includes('list_changed')),
    );
    expect(recorder.messages.find(({ text }) => text.includes('list_changed'))?.call).toBeUndefined();
  });
});

describe('a resumable stream', () => {
  test('that the server closes before the answer is resumed until the answer arrives', async () => {
    const server = await sdk({ isResumable: true });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(tool(2, 'poll', { ms: 120, text: 'late' }), 2);
    expect((await recorder.answer(2)).call).toBe(2);
    const logged = recorder.messages
      .filter(({ call }) => call === 2)
      .map(({ text }) => JSON.parse(text).params?.data);
    expect(logged).toEqual(['before', 'after', undefined]);
    expect(
      server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined).length,
    ).toBeGreaterThan(0);
  });

  test('is resumed after its connection is cut, and no message is lost or repeated', async () => {
    const server = await sdk({ isResumable: true });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(tool(2, 'poll', { ms: 150, text: 'kept', isKept: true }), 2);
    await until('the first half', () => recorder.messages.some(({ text }) => text.includes('before')));
    server.server.closeAllConnections();
    expect(JSON.parse((await recorder.answer(2)).text).result.content[0].text).toBe('kept');
    const texts = recorder.messages.filter(({ call }) => call === 2).map(({ text }) => text);
    expect(texts).toHaveLength(3);
    expect(new Set(texts).size).toBe(3);
  });

  test('that is the GET stream is reopened when it breaks, and delivers missed messages', async () => {
    const server = await sdk({ isResumable: true });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    const announced = () => recorder.messages.filter(({ text }) => text.includes('list_changed')).length;
    await until('the GET', () => server.requests.some(({ line }) => line === 'GET /mcp'));
    link.send(tool(2, 'announce'), 2);
    await until('the first notification', () => announced() === 1);
    for (const transport of server.transports.values()) transport.closeStandaloneSSEStream();
    link.send(tool(3, 'announce'), 3);
    await until('the second notification', () => announced() === 2);
    expect(recorder.undelivered).toEqual([]);
  });

  test('is not resumed after its call is abandoned', async () => {
    const server = await sdk({ isResumable: true });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(tool(2, 'poll', { ms: 1000 }), 2);
    await until('the first half', () => recorder.messages.some(({ text }) => text.includes('before')));
    link.forget(2);
    link.send(tool(3, 'wait', { ms: 1500 }), 3);
    await recorder.answer(3);
    expect(recorder.answers(2)).toEqual([]);
    expect(recorder.undelivered).toEqual([]);
  });
});

describe('a server of the older HTTP+SSE transport', () => {
  test('answers calls on its single stream', async () => {
    const server = await sdkSse();
    const { link, recorder } = await shakeHands(sseLink(server.url('/sse')), '2024-11-05');
    for (const call of [2, 3, 4])
      link.send(tool(call, 'wait', { ms: 20 - call * 4, text: `t${call}` }), call);
    for (const call of [2, 3, 4]) {
      const { text, call: on } = await recorder.answer(call);
      expect(on).toBeUndefined();
      expect(JSON.parse(text).result.content[0].text).toBe(`t${call}`);
    }
    expect(link.queuedBytes).toBe(0);
    await link.close();
    expect(recorder.ended?.code).toBe('ERR_STOPPED');
  });

  test('ends the connection when it closes the stream', async () => {
    const server = await sdkSse();
    const { link, recorder } = await shakeHands(sseLink(server.url('/sse')), '2024-11-05');
    for (const transport of server.transports.values()) await transport.close();
    expect((await recorder.end()).code).toBe('ERR_CONNECTION_LOST');
    link.send(tool(2, 'echo'), 2);
    expect(await recorder.failure(2)).toMatchObject({ mayHaveRun: false });
  });

  test('that rejects a message fails only that call', async () => {
    const server = await sdkSse();
    const { link, recorder } = await shakeHands(sseLink(server.url('/sse')), '2024-11-05');
    link.send(Buffer.from('{"jsonrpc":"2.0","id":2,"method":17}'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(error.message).toMatch(/responded 400 .* to POST .*\/messages \(Invalid message/);
    expect(error.message).not.toContain('sessionId');
    expect(mayHaveRun).toBe(false);
    link.send(notification('notifications/cancelled', { requestId: 2 }));
    link.send(tool(3, 'echo'), 3);
    await recorder.answer(3);
  });
});
