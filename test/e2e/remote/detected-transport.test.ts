// Detection of the older transport at an address whose transport is not known.

import { afterEach, describe, expect, test } from 'vitest';
import { DetectingLink } from '../../../actors/mcp/links/sse/detecting-link.ts';
import { isAnswerTo, LinkRecorder, request, until } from '../../fixtures/remote/link-recorder.ts';
import { type Answerer, LocalServer } from '../../fixtures/remote/local-server.ts';
import { checkGuarantees, INITIALIZE, shakeHands, tracked } from '../../fixtures/remote/open-link.ts';
import { startSdkHttpServer, startSdkSseServer } from '../../fixtures/remote/sdk-server.ts';

const servers: LocalServer[] = [];

async function serve<S extends LocalServer>(server: Promise<S>): Promise<S> {
  servers.push(await server);
  return server;
}

function detecting(url: URL, transport = { isOlder: false }) {
  const recorder = new LinkRecorder();
  const link = new DetectingLink(
    {
      url,
      headers: { 'x-team': 'blue' },
      maxMessageBytes: 1 << 20,
      redactor: { redact: (text) => text },
      isAnswerTo,
      events: recorder,
    },
    transport,
  );
  return { ...tracked({ link, recorder }), transport };
}

const lines = ({ requests }: LocalServer) => requests.map(({ line }) => line.replace(/\?.*/, ''));
const echo = request(2, 'tools/call', { name: 'echo', arguments: { text: 'hello' } });

afterEach(async () => {
  await checkGuarantees();
  for (const server of servers.splice(0)) {
    await server.noConnections();
    await server.close();
  }
});

/** A server of the older transport that refuses a POST to the address of its stream. */
async function olderServer(status: number) {
  const server = await serve(startSdkSseServer());
  const answer: Answerer = server.answer;
  server.answer = (exchange) => {
    const { method, url } = exchange.req;
    if (method === 'POST' && url === '/mcp') exchange.res.writeHead(status).end('no');
    else return answer(exchange);
  };
  return server;
}

describe('the older HTTP+SSE transport', () => {
  test.each([400, 404, 405])('is used if the server refuses the first request with %i', async (status) => {
    const server = await olderServer(status);
    const opened = detecting(server.url());
    const { link, recorder } = await shakeHands(opened);
    link.send(echo, 2);
    expect(JSON.parse((await recorder.answer(2)).text).result.content).toEqual([
      { type: 'text', text: 'hello' },
    ]);
    expect(lines(server).slice(0, 3)).toEqual(['POST /mcp', 'GET /mcp', 'POST /messages']);
    expect(server.requests.every(({ headers }) => headers['x-team'] === 'blue')).toBe(true);
    await link.close();

    // The next link of the server does not try again.
    const before = server.requests.length;
    const next = await shakeHands(detecting(server.url(), opened.transport));
    expect(lines(server)[before]).toBe('GET /mcp');
    await next.link.close();
  });

  test('is not tried after status 401, 403, 500 or 503, nor after the handshake', async () => {
    for (const status of [401, 403, 500, 503]) {
      const server = await serve(LocalServer.start(({ res }) => void res.writeHead(status).end()));
      const { link, recorder } = detecting(server.url());
      await link.open();
      link.send(request(INITIALIZE, 'initialize'), INITIALIZE);
      expect((await recorder.failure(INITIALIZE)).error).toMatchObject({ status });
      expect(lines(server)).toEqual(['POST /mcp']);
      link.kill();
    }
    const server = await serve(startSdkHttpServer({ isStateless: true }));
    const { link, recorder } = await shakeHands(detecting(server.url()));
    server.answer = ({ res }) => void res.writeHead(404).end();
    link.send(echo, 2);
    await recorder.failure(2);
    expect(server.requests.filter(({ body }) => body.includes('tools/call'))).toHaveLength(1);
    await link.close();
  });

  test('is not used if the server lacks it, and the error of the first request is reported', async () => {
    const server = await serve(LocalServer.start(({ res }) => void res.writeHead(404).end('no page')));
    const { link, recorder } = detecting(server.url());
    await link.open();
    link.send(request(INITIALIZE, 'initialize'), INITIALIZE);
    expect((await recorder.failure(INITIALIZE)).error).toMatchObject({
      code: 'ERR_UPSTREAM_PROTOCOL',
      status: 404,
      message: expect.stringContaining('no page'),
    });
    expect(lines(server)).toEqual(['POST /mcp', 'GET /mcp']);
    link.kill();
  });

  test('is not opened if the connection is closed while the transport is being detected', async () => {
    const server = await serve(
      LocalServer.start(({ req, res }) => {
        if (req.method === 'POST') res.writeHead(405).end();
        else res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': wait\n\n');
      }),
    );
    const { link, recorder } = detecting(server.url());
    await link.open();
    link.send(request(INITIALIZE, 'initialize'), INITIALIZE);
    await until('the second request', () => server.requests.length === 2);
    await link.close();
    expect(recorder.ended).toBeDefined();
  });
});
