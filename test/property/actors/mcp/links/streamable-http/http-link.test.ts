// Any calls, answered in any order and form, by a server that may die at any step: every call that was sent ends in
// exactly one way, an answer arrives with its own `call`, and nothing is left behind (A2, L1 to L4).

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
  checkPromises,
  httpLink,
  modernLink,
  type Opened,
  shakeHands,
  sseLink,
} from '../../../../../fixtures/remote/open-link.ts';

const servers: LocalServer[] = [];

afterEach(async () => {
  await checkPromises();
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

const links: [string, (url: URL) => Opened<Link>][] = [
  ['with a session', (url) => httpLink(url)],
  ['of the modern era', (url) => modernLink(url)],
];

const form = fc.record({
  isStream: fc.boolean(),
  delayMs: fc.nat(12),
  notes: fc.nat(4),
  isCutApart: fc.boolean(),
  isLingering: fc.boolean(),
});

test.each(links)(
  'on a link %s each of many interleaved calls gets its own messages and answer',
  async (_kind, open) => {
    await fc.assert(
      fc.asyncProperty(fc.array(form, { minLength: 1, maxLength: 25 }), async (forms) => {
        const server = await serve(async ({ req, res, body }) => {
          if (req.method !== 'POST') return void res.writeHead(405).end();
          const call = Number(idOf(body));
          const how = forms[call - 10];
          if (methodOf(body) === 'notifications/initialized') return void res.writeHead(202).end();
          if (how === undefined) return answerJson(res, result(body));
          await pause(how.delayMs);
          if (!how.isStream) return answerJson(res, result(body, { call }));
          beginStream(res);
          const notes = Array.from({ length: how.notes }, (_, n) =>
            event({ jsonrpc: '2.0', method: 'n', params: { call, n } }),
          );
          const text = notes.join('') + event(result(body, { call }));
          if (how.isCutApart) {
            res.write(text.slice(0, text.length / 3));
            await pause(1);
            res.write(text.slice(text.length / 3));
          } else {
            res.write(text);
          }
          if (!how.isLingering) res.end();
        });
        const { link, seen } = await shakeHands(open(server.url()));
        const calls = forms.map((_, index) => index + 10);
        for (const call of calls) link.send(request(call, 'x'), call);
        for (const call of calls) await seen.answer(call);
        for (const call of calls) {
          const own = seen.messages
            .filter((message) => message.call === call)
            .map(({ text }) => JSON.parse(text));
          const notes = forms[call - 10]?.isStream ? (forms[call - 10]?.notes ?? 0) : 0;
          expect(own).toEqual([
            ...Array.from({ length: notes }, (_, n) => ({
              jsonrpc: '2.0',
              method: 'n',
              params: { call, n },
            })),
            { jsonrpc: '2.0', id: call, result: { call } },
          ]);
        }
        expect(seen.undelivered).toEqual([]);
        await link.close();
        await server.noConnections();
        await server.close();
      }),
      { numRuns: runs(25), seed: 20_260_728 },
    );
  },
);

/** What a server may do to one request before it dies, or instead of answering. */
const mishaps: ((exchange: Exchange) => void)[] = [
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
  ({ res }) => {
    beginStream(res);
    res.write('id: gone\nretry: 10\ndata:\n\n', () => res.destroy());
  },
  ({ res, body }) => {
    beginStream(res);
    res.end(`id: 1\nretry: 10\n${event(result(body))}${event(result(body)).slice(0, -2)}`);
  },
  ({ res, body }) => answerJson(res, result(body)),
  ({ res, body }) => answerJson(res, [result(body)]),
  ({ res }) => void res.writeHead(204).end(),
];

const mishap = fc.nat(mishaps.length - 1);

test.each(links)(
  'on a link %s a server that fails at any step leaves no call without an end',
  async (_kind, open) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(mishap, { minLength: 3, maxLength: 12 }),
        fc.option(fc.nat(30), { nil: undefined }),
        async (steps, diesAfterMs) => {
          let at = 0;
          const server = await serve((exchange) => {
            const { req, res, body } = exchange;
            if (req.method === 'GET') return void (at % 2 === 0 ? res.destroy() : res.writeHead(405).end());
            if (req.method === 'DELETE' || idOf(body) === undefined) return void res.destroy();
            if (methodOf(body) === 'initialize') {
              res.setHeader('mcp-session-id', 'abc');
              return answerJson(res, result(body));
            }
            const step = mishaps[steps[at % steps.length] ?? 0];
            at += 1;
            step?.(exchange);
          });
          const { link, seen } = await shakeHands(open(server.url()));
          const calls = Array.from({ length: 15 }, (_, n) => n + 2);
          const dying = diesAfterMs === undefined ? undefined : pause(diesAfterMs).then(() => server.close());
          for (const call of calls) {
            link.send(request(call, 'x'), call);
            if (call % 4 === 0) link.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}'));
            if (call % 5 === 0) await pause(2);
          }
          const isOver = (call: number): boolean =>
            seen.answers(call).length > 0 || seen.undelivered.some((each) => each.call === call);
          await until(`the end of every call ${steps}`, () => calls.every(isOver));
          await dying;
          await link.close();
          expect(seen.breaches).toEqual([]);
          await server.close();
        },
      ),
      { numRuns: runs(40), seed: 4_711 },
    );
  },
);

test('a server of the older transport that dies at any step ends the link or the call', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(25), fc.nat(6), async (diesAfterMs, breaksAt) => {
      let stream: Exchange['res'] | undefined;
      let posts = 0;
      const server = await serve(({ req, res, body }) => {
        if (req.method === 'GET') {
          stream = res;
          beginStream(res);
          return void res.write('event: endpoint\ndata: /take\n\n');
        }
        posts += 1;
        if (posts === breaksAt) return void res.destroy();
        res.writeHead(202).end();
        if (idOf(body) !== undefined && posts % 3 !== 0)
          stream?.write(`event: message\n${event(result(body))}`);
      });
      const { link, seen } = sseLink(server.url());
      const dying = pause(diesAfterMs).then(() => server.close());
      const wasOpened = await link.open().then(
        () => true,
        () => false,
      );
      for (let call = 2; call < 20; call += 1) {
        link.send(request(call, 'x'), call);
        if (call % 3 === 0) await pause(1);
      }
      await dying;
      await seen.end();
      expect(seen.breaches).toEqual([]);
      if (!wasOpened) await until('every call refused', () => seen.undelivered.length === 18);
      expect(link.queuedBytes).toBe(0);
    }),
    { numRuns: runs(40), seed: 815 },
  );
});
