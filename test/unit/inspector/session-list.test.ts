// What the inspector tells of sessions, over real records of them.

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
  MAX_COUNT,
  readQuery,
  sessionList,
  sessionPlace,
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
      ...{ target: undefined, caller, outlet: noOutlet, serverInfo: {}, redact: (text: string) => text },
      onEnd: (ended) => this.sessions.forgetListening(ended),
    });
    this.sessions.addListening(listening);
    return listening;
  }

  list(query = '') {
    const read = readQuery(query);
    if (read === undefined) throw new Error(`${query} is no query`);
    return sessionList(this.sessions, read, redactor);
  }
}

describe('the list of sessions', () => {
  test('says who the client is, where it is and what it does, by number and never by id (SI1)', async () => {
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

  test('takes a client that calls itself anything, cut and redacted', async () => {
    const clients = new Clients();
    const said = [
      ...[undefined, null, 7, 'text', [], {}, { name: 7, version: {} }],
      ...[{ name: 'x'.repeat(60_000), version: 'y'.repeat(60_000) }, { name: `<${SECRET}>` }],
      { name: `${'x'.repeat(79)}${SECRET}` },
    ];
    for (const each of said) clients.begin(each);
    const { sessions } = await clients.list();
    expect(sessions).toHaveLength(said.length);
    for (const { client, version } of sessions) {
      expect(client.length).toBeLessThanOrEqual(100);
      expect(version.length).toBeLessThanOrEqual(100);
      expect(client).not.toContain('sk-');
    }
    expect(sessions.at(-2)?.client).toBe('<[redacted]>');
    clients.sessions.close();
  });

  test('finds words in number, name, version, endpoint, era and state, all of them', async () => {
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

  test('refuses numbers that are none, and more than it gives at once (SI2)', () => {
    expect(readQuery('')).toEqual({ from: 0, count: 50, filter: '' });
    expect(readQuery(`from=7&count=${MAX_COUNT}&filter=a+b`)).toEqual({ from: 7, count: 200, filter: 'a b' });
    for (const query of [
      'from=-1',
      'from=1.5',
      'from=',
      'from=x',
      'count=201',
      'count=1e2',
      `from=${'9'.repeat(10)}`,
    ])
      expect([query, readQuery(query)]).toEqual([query, undefined]);
    expect(readQuery(`filter=${'x'.repeat(1_000)}`)?.filter).toHaveLength(80);
    expect(['12', '', '1e1', '-1', 'x'].map(wholeNumber)).toEqual([12, ...Array(4).fill(undefined)]);
  });

  test('lets others have their turn while it looks through many (SI3)', async () => {
    const clients = new Clients(20_000);
    for (let number = 0; number < 20_000; number += 1) clients.begin({ name: `c${number % 10}` });
    let turns = 0;
    let isOver = false;
    const other = () => {
      turns += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    expect((await clients.list('filter=c7')).matching).toBe(2_000);
    const forList = turns;
    await sessionPlace(clients.sessions, 20_000, 'c7', redactor);
    isOver = true;
    expect(forList).toBeGreaterThanOrEqual(4);
    expect(turns - forList).toBeGreaterThanOrEqual(4);
    clients.sessions.close();
  });

  test('is whole and in order piece by piece, whoever has come and gone, and each knows its place', async () => {
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
        async (done, count, filter) => {
          const clients = new Clients();
          const there: { number: number; name: string; isListening: boolean; end(): void }[] = [];
          for (const step of done) {
            const name = `c${step.which}`;
            if (step.do === 'begin') {
              const session = clients.begin({ name });
              const end = () => clients.sessions.end(session, 'test');
              there.push({ number: session.number, name, isListening: false, end });
            } else if (step.do === 'listen') {
              const listening = clients.listen(name);
              there.push({
                number: listening.number,
                name,
                isListening: true,
                end: () => listening.cancel(),
              });
            } else there.splice(step.which % (there.length || 1), 1)[0]?.end();
          }
          const expected = there
            .filter(({ name, isListening }) =>
              filter === 'idle' ? !isListening : filter === '' || name === filter,
            )
            .map(({ number }) => number);
          const seen: number[] = [];
          for (let from = 0; from <= expected.length; from += count) {
            const piece = await clients.list(`from=${from}&count=${count}&filter=${filter}`);
            expect([piece.total, piece.matching]).toEqual([there.length, expected.length]);
            seen.push(...piece.sessions.map(({ number }) => number));
          }
          expect(seen).toEqual(expected);
          for (const { number } of there) {
            const place = await sessionPlace(clients.sessions, number, filter, redactor);
            const index = expected.indexOf(number);
            expect([place?.session.number, place?.index]).toEqual([number, index < 0 ? null : index]);
          }
          for (const nobody of [0, 1_000])
            expect(await sessionPlace(clients.sessions, nobody, '', redactor)).toBeUndefined();
          clients.sessions.close();
        },
      ),
      { numRuns: 100 },
    );
  });
});
