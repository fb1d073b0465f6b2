// Session list of the inspector, with real session records.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Log } from '../../../actors/base/errors/log.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Outlet } from '../../../actors/mcp/clients/outlet.ts';
import { ListenStream } from '../../../actors/mcp/clients/sessions/listen-stream.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import { Sessions } from '../../../actors/mcp/clients/sessions/sessions.ts';
import { readServerMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import {
  findSession,
  MAX_COUNT,
  parseSessionQuery,
  sessionList,
  wholeNumber,
} from '../../../src/inspector/session-list.ts';

const SECRET = 'sk-a-token-that-must-not-be-seen';
const redactor = new Redactor([SECRET]);
const silent = { debug: () => {}, info: () => {} } as unknown as Log;
const noOutlet: Outlet = { send: () => {}, finish: () => {}, drop: () => {} };

class Clients {
  readonly sessions: Sessions;
  readonly ids: string[] = [];

  constructor(maxSessions = 1_000) {
    this.sessions = new Sessions({ maxSessions, idleMs: 1_000_000, log: silent, onEnd: () => {} });
  }

  begin(clientInfo: unknown, target?: string): ClientSession {
    const options = { target, protocolVersion: '2025-11-25', clientInfo, capabilities: {} };
    const session = this.sessions.create(options);
    this.ids.push(session.id);
    return session;
  }

  listen(name: string): ListenStream {
    const envelope = readServerMessage(Buffer.from('{"id":1,"method":"subscriptions/listen","params":{}}'));
    const caller = { clientInfo: { name, version: '3' }, capabilities: {}, logLevel: undefined };
    const listening = new ListenStream(envelope, {
      target: undefined,
      caller,
      owner: { principal: 'anonymous', client: '' },
      outlet: noOutlet,
      serverInfo: {},
      redact: (text: string) => text,
      onEnd: (ended) => this.sessions.forgetListening(ended),
    });
    this.sessions.addListening(listening);
    return listening;
  }

  list(query = '') {
    const parsedQuery = parseSessionQuery(query);
    if (parsedQuery === undefined) throw new Error(`${query} is no query`);
    return sessionList(this.sessions, parsedQuery, redactor);
  }
}

describe('the list of sessions', () => {
  test('shows client, endpoint and activity, by number and never by id', async () => {
    const clients = new Clients();
    const before = Date.now();
    clients.begin({ name: 'editor', version: '1.2' });
    const open = clients.begin({ name: 'browser', version: '3' }, 'files');
    open.stream = { isConnected: true, send: () => {}, end: () => {} };
    clients.listen('modern');
    const { sessions, total, matching } = await clients.list();
    expect([total, matching]).toEqual([3, 3]);
    expect(sessions).toMatchObject([
      { number: 1, client: 'editor', version: '1.2', endpoint: '/mcp', era: 'legacy', state: 'idle' },
      { number: 2, client: 'browser', endpoint: '/mcp/files', state: 'listening', streams: 1, in_flight: 0 },
      { number: 3, client: 'modern', version: '3', endpoint: '/mcp', era: 'modern', state: 'listening' },
    ]);
    for (const { opened_at, last_seen_at } of sessions) {
      expect(opened_at).toBeGreaterThanOrEqual(before - 50);
      expect(last_seen_at - opened_at).toBeGreaterThanOrEqual(0);
      expect(last_seen_at).toBeLessThanOrEqual(Date.now() + 50);
    }
    const text = JSON.stringify(sessions);
    for (const id of clients.ids) expect(text).not.toContain(id.slice(0, 8));
    clients.sessions.close();
  });

  test('truncates and redacts any client name', async () => {
    const clients = new Clients();
    const expected = [
      ...[undefined, null, 7, 'text', [], {}, { name: 7, version: {} }],
      ...[{ name: 'x'.repeat(60_000), version: 'y'.repeat(60_000) }, { name: `<${SECRET}>` }],
      { name: `${'x'.repeat(79)}${SECRET}` },
    ];
    for (const each of expected) clients.begin(each);
    const { sessions } = await clients.list();
    expect(sessions).toHaveLength(expected.length);
    for (const { client, version } of sessions) {
      expect(client.length).toBeLessThanOrEqual(100);
      expect(version.length).toBeLessThanOrEqual(100);
      expect(client).not.toContain('sk-');
    }
    expect(sessions.at(-2)?.client).toBe('<[redacted]>');
    clients.sessions.close();
  });

  test('matches all words of a filter in number, name, version, endpoint, era (legacy or modern) and state', async () => {
    const clients = new Clients();
    clients.begin({ name: 'Editor', version: '1.2' });
    clients.begin({ name: 'browser', version: '3' }, 'files');
    clients.listen('ear');
    const numbers = async (filter: string) =>
      (await clients.list(`${new URLSearchParams({ filter })}`)).sessions.map(({ number }) => number);
    for (const [filter, expected] of [
      ['', [1, 2, 3]],
      [' EDITOR ', [1]],
      ['1.2', [1]],
      ['files', [2]],
      ['modern', [3]],
      ['listening', [3]],
      ['idle', [1, 2]],
      ['idle browser', [2]],
      ['session', [1, 2, 3]],
      ['sessions 2', [1, 2]],
      ['idle ear', []],
    ] as const)
      expect([filter, await numbers(filter)]).toEqual([filter, expected]);
    clients.sessions.close();
  });

  test('refuses invalid numbers and a count above the limit', () => {
    expect(parseSessionQuery('')).toEqual({ from: 0, count: 50, filter: '' });
    expect(parseSessionQuery(`from=7&count=${MAX_COUNT}&filter=a+b`)).toEqual({
      from: 7,
      count: 200,
      filter: 'a b',
    });
    for (const query of [
      'from=-1',
      'from=1.5',
      'from=',
      'from=x',
      'count=201',
      'count=1e2',
      `from=${'9'.repeat(10)}`,
    ])
      expect([query, parseSessionQuery(query)]).toEqual([query, undefined]);
    expect(parseSessionQuery(`filter=${'x'.repeat(1_000)}`)?.filter).toHaveLength(80);
    expect(['12', '', '1e1', '-1', 'x'].map(wholeNumber)).toEqual([12, ...Array(4).fill(undefined)]);
  });

  test('yields to other work while it filters many sessions', async () => {
    const clients = new Clients(40_000);
    for (let number = 0; number < 20_000; number += 1) clients.begin({ name: `c${number % 10}` });
    let rounds = 0;
    let isOver = false;
    const other = () => {
      rounds += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    expect((await clients.list('filter=c7')).matching).toBe(2_000);
    const forList = rounds;
    await findSession(clients.sessions, 20_000, 'c7', redactor);
    isOver = true;
    expect(forList).toBeGreaterThanOrEqual(4);
    expect(rounds - forList).toBeGreaterThanOrEqual(4);
    clients.sessions.close();
  });

  test('is complete and ordered across pages, and finds the place of a session', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ do: fc.constant('begin' as const), which: fc.nat(3) }),
        fc.record({ do: fc.constant('listen' as const), which: fc.nat(3) }),
        fc.record({ do: fc.constant('end' as const), which: fc.nat(40) }),
      ),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom('', 'c1', 'idle'),
        async (steps, count, filter) => {
          const clients = new Clients();
          const listed: { number: number; name: string; isListening: boolean; end(): void }[] = [];
          for (const step of steps) {
            const name = `c${step.which}`;
            if (step.do === 'begin') {
              const session = clients.begin({ name });
              const end = () => clients.sessions.end(session, 'test');
              listed.push({ number: session.number, name, isListening: false, end });
            } else if (step.do === 'listen') {
              const listening = clients.listen(name);
              listed.push({
                number: listening.number,
                name,
                isListening: true,
                end: () => listening.cancel(),
              });
            } else listed.splice(step.which % (listed.length || 1), 1)[0]?.end();
          }
          const expected = listed
            .filter(({ name, isListening }) =>
              filter === 'idle' ? !isListening : filter === '' || name === filter,
            )
            .map(({ number }) => number);
          const numbers: number[] = [];
          for (let from = 0; from <= expected.length; from += count) {
            const piece = await clients.list(`from=${from}&count=${count}&filter=${filter}`);
            expect([piece.total, piece.matching]).toEqual([listed.length, expected.length]);
            numbers.push(...piece.sessions.map(({ number }) => number));
          }
          expect(numbers).toEqual(expected);
          for (const { number } of listed) {
            const position = await findSession(clients.sessions, number, filter, redactor);
            const index = expected.indexOf(number);
            expect([position?.session.number, position?.index]).toEqual([number, index < 0 ? null : index]);
          }
          for (const unknownNumber of [0, 1_000])
            expect(await findSession(clients.sessions, unknownNumber, '', redactor)).toBeUndefined();
          clients.sessions.close();
        },
      ),
      { numRuns: 100 },
    );
  });
});
