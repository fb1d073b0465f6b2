// HTTP links (channels to one remote server) with many calls, answered in random order and form by a server
// that may fail or close at any time. Every sent call completes or fails exactly once, and messages arrive
// with the `call` to which they belong. No connection or queued message remains.

import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { Link } from '../../../../../../actors/mcp/links/link.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';
import { request, until } from '../../../../../fixtures/remote/link-recorder.ts';
import {
  answerJson,
  beginStream,
  type Exchange,
  event,
  idOf,
  LocalServer,
  methodOf,
  result,
} from '../../../../../fixtures/remote/local-server.ts';
import {
  checkGuarantees,
  httpLink,
  modernLink,
  type Opened,
  shakeHands,
  sseLink,
} from '../../../../../fixtures/remote/open-link.ts';

const servers: LocalServer[] = [];

// Each opened link has a recorder of its events. It lists violations of the guarantees (L1 to L4, link.ts) in
// `breaches`, such as a second response.
afterEach(async () => {
  await checkGuarantees();
  for (const server of servers.splice(0)) await server.close();
});

async function serve(answer: (exchange: Exchange) => void | Promise<void>): Promise<LocalServer> {
  const server = await LocalServer.start(answer);
  servers.push(server);
  return server;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Call ids start here, after the handshake ids. */
const FIRST_CALL = 10;

/** Kinds of links: title, function that opens one. Modern era: stateless requests (MCP 2026-07-28). */
const links: [string, (url: URL) => Opened<Link>][] = [
  ['with a session', (url) => httpLink(url)],
  ['of the modern era', (url) => modernLink(url)],
];

/** Form and time of the response to one call. The messages before it are notifications. */
const responseForm = fc.record({
  isStream: fc.boolean(),
  delayMs: fc.nat(12),
  notifications: fc.nat(4),
  /** The response arrives in two pieces. */
  isSplit: fc.boolean(),
  /** The server does not close the stream after the response. */
  staysOpen: fc.boolean(),
});

test.each(links)(
  'on a link %s each of many interleaved calls gets its own messages and response',
  async (_kind, open) => {
    await fc.assert(
      fc.asyncProperty(fc.array(responseForm, { minLength: 1, maxLength: 25 }), async (forms) => {
        const server = await serve(async ({ req, res, body }) => {
          if (req.method !== 'POST') return void res.writeHead(405).end();
          const call = Number(idOf(body));
          const form = forms[call - FIRST_CALL];
          if (methodOf(body) === 'notifications/initialized') return void res.writeHead(202).end();
          if (form === undefined) return answerJson(res, result(body));
          await pause(form.delayMs);
          if (!form.isStream) return answerJson(res, result(body, { call }));
          beginStream(res);
          const notifications = Array.from({ length: form.notifications }, (_, n) =>
            event({ jsonrpc: '2.0', method: 'n', params: { call, n } }),
          );
          const text = notifications.join('') + event(result(body, { call }));
          if (form.isSplit) {
            res.write(text.slice(0, text.length / 3));
            await pause(1);
            res.write(text.slice(text.length / 3));
          } else {
            res.write(text);
          }
          if (!form.staysOpen) res.end();
        });
        const { link, recorder } = await shakeHands(open(server.url()));
        const calls = forms.map((_, index) => index + FIRST_CALL);
        for (const call of calls) link.send(request(call, 'x'), call);
        for (const call of calls) await recorder.answer(call);
        for (const call of calls) {
          const messagesOfCall = recorder.messages
            .filter((message) => message.call === call)
            .map(({ text }) => JSON.parse(text));
          const form = forms[call - FIRST_CALL];
          const notifications = form?.isStream ? form.notifications : 0;
          expect(messagesOfCall).toEqual([
            ...Array.from({ length: notifications }, (_, n) => ({
              jsonrpc: '2.0',
              method: 'n',
              params: { call, n },
            })),
            { jsonrpc: '2.0', id: call, result: { call } },
          ]);
        }
        expect(recorder.undelivered).toEqual([]);
        await link.close();
        await server.noConnections();
        await server.close();
      }),
      { numRuns: runs(25), seed: 20_260_728 },
    );
  },
);

/** Ways to serve one request: faults before, in or instead of the response, and valid responses. */
const servings: ((exchange: Exchange) => void)[] = [
  ({ res }) => void res.destroy(),
  ({ req }) => void req.socket.resetAndDestroy(),
  ({ res }) => void res.writeHead(500).end('oops'),
  ({ res }) => void res.writeHead(503).write('half', () => res.destroy()),
  ({ res }) => void res.socket?.end('garbage\r\n\r\n'),
  ({ res }) => void res.socket?.end('HTTP/1.1 200 OK\r\nContent-Type: appl'),
  ({ res }) =>
    void res.socket?.end(
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
    ),
  ({ res }) => void res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
  ({ res }) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    res.write('{"jsonrpc":', () => res.destroy());
  },
  ({ res }) => {
    beginStream(res);
    res.write('data: {"jsonrpc":"2.0","id"', () => res.destroy());
  },
  // A stream that the client may resume after an event id that the server does not know.
  ({ res }) => {
    beginStream(res);
    res.write('id: gone\nretry: 10\ndata:\n\n', () => res.destroy());
  },
  // A response, and a second copy that is incomplete.
  ({ res, body }) => {
    beginStream(res);
    res.end(`id: 1\nretry: 10\n${event(result(body))}${event(result(body)).slice(0, -2)}`);
  },
  ({ res, body }) => answerJson(res, result(body)),
  ({ res, body }) => answerJson(res, [result(body)]),
  ({ res }) => void res.writeHead(204).end(),
];

const anyServing = fc.nat(servings.length - 1);

test.each(links)(
  'on a link %s every call completes or fails, even if the server fails at any step',
  async (_kind, open) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyServing, { minLength: 3, maxLength: 12 }),
        fc.option(fc.nat(30), { nil: undefined }),
        async (servingOrder, closesAfterMs) => {
          let served = 0;
          const server = await serve((exchange) => {
            const { req, res, body } = exchange;
            if (req.method === 'GET')
              return void (served % 2 === 0 ? res.destroy() : res.writeHead(405).end());
            if (req.method === 'DELETE' || idOf(body) === undefined) return void res.destroy();
            if (methodOf(body) === 'initialize') {
              res.setHeader('mcp-session-id', 'abc');
              return answerJson(res, result(body));
            }
            const serveOne = servings[servingOrder[served % servingOrder.length] ?? 0];
            served += 1;
            serveOne?.(exchange);
          });
          const { link, recorder } = await shakeHands(open(server.url()));
          const calls = Array.from({ length: 15 }, (_, n) => n + 2);
          const closing =
            closesAfterMs === undefined ? undefined : pause(closesAfterMs).then(() => server.close());
          for (const call of calls) {
            link.send(request(call, 'x'), call);
            // Some calls are followed by a notification or a pause.
            if (call % 4 === 0) link.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}'));
            if (call % 5 === 0) await pause(2);
          }
          const isOver = (call: number): boolean =>
            recorder.answers(call).length > 0 || recorder.undelivered.some((each) => each.call === call);
          await until(`the end of every call ${servingOrder}`, () => calls.every(isOver));
          await closing;
          await link.close();
          expect(recorder.breaches).toEqual([]);
          await server.close();
        },
      ),
      { numRuns: runs(40), seed: 4_711 },
    );
  },
);

test('a connection of the older SSE transport reports its end, and each call as undelivered if it never opened, at whatever step the server fails', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(25), fc.nat(6), async (closesAfterMs, failingPost) => {
      const CALLS = 18;
      let stream: Exchange['res'] | undefined;
      let posts = 0;
      const server = await serve(({ req, res, body }) => {
        if (req.method === 'GET') {
          stream = res;
          beginStream(res);
          return void res.write('event: endpoint\ndata: /take\n\n');
        }
        posts += 1;
        if (posts === failingPost) return void res.destroy();
        res.writeHead(202).end();
        // Every third call gets no response.
        if (idOf(body) !== undefined && posts % 3 !== 0)
          stream?.write(`event: message\n${event(result(body))}`);
      });
      const { link, recorder } = sseLink(server.url());
      const closing = pause(closesAfterMs).then(() => server.close());
      const wasOpened = await link.open().then(
        () => true,
        () => false,
      );
      for (let call = 2; call < 2 + CALLS; call += 1) {
        link.send(request(call, 'x'), call);
        if (call % 3 === 0) await pause(1);
      }
      await closing;
      await recorder.end();
      expect(recorder.breaches).toEqual([]);
      if (!wasOpened) await until('every call refused', () => recorder.undelivered.length === CALLS);
      expect(link.queuedBytes).toBe(0);
    }),
    { numRuns: runs(40), seed: 815 },
  );
});
