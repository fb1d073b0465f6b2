// What is taken of the lists of servers: to their end where they have one, and within bounds where they have none.

import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Budget } from '../../../../../../actors/base/bounds/budget.ts';
import { JsonScanner } from '../../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { ServerCache } from '../../../../../../actors/mcp/servers/cache/server-cache.ts';
import {
  ListBudget,
  MAX_ITEMS,
  MAX_LIST_BYTES,
} from '../../../../../../actors/mcp/servers/lists/bounded-list.ts';
import {
  fetchList,
  MAX_FETCHED_BYTES,
  MAX_PAGES,
} from '../../../../../../actors/mcp/servers/lists/list-fetch.ts';
import type { ListKind } from '../../../../../../actors/mcp/servers/lists/lists.ts';
import { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import { FakeLink, type FakeServer } from '../../../../../fixtures/server/fake-link.ts';

function connectionTo(onRequest: (cursor: unknown) => unknown): Connection {
  const server: FakeServer = {
    onSent: (link, { message }) =>
      queueMicrotask(() => {
        const page = onRequest(message.params.cursor);
        if (page !== undefined) link.answer(message.id, page);
      }),
  };
  const ignore = () => {};
  const connection = new Connection('s', 'legacy', (events) => new FakeLink(events, server), {
    onRequest: ignore,
    onNotification: ignore,
    onUndelivered: ignore,
    onNoise: ignore,
    onEnd: ignore,
  });
  connection.description = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: {},
    instructions: undefined,
  };
  return connection;
}

describe('a list that comes in pages', () => {
  async function fetch(kind: ListKind, onRequest: (cursor: unknown) => unknown) {
    let requests = 0;
    const connection = connectionTo((cursor) => {
      requests += 1;
      return onRequest(cursor);
    });
    const hold = new ListBudget().newList();
    await fetchList(connection, kind, 5000, hold);
    return { keys: hold.items.map(({ key }) => key), requests, cut: hold.cut };
  }

  test('is fetched to its end', async () => {
    const pages: Record<string, unknown> = {
      undefined: { tools: [{ name: 'a' }], nextCursor: 'p2' },
      p2: { tools: [{ name: 'b' }], nextCursor: '' },
      '': { tools: [{ name: 'c' }] },
    };
    const { keys, cut } = await fetch('tools', (cursor) => pages[String(cursor)]);
    expect([keys, cut]).toEqual([['a', 'b', 'c'], undefined]);
  });

  test('ends where a cursor comes again, however many others lie between', async () => {
    expect(await fetch('tools', () => ({ tools: [], nextCursor: 'same' }))).toMatchObject({
      requests: 2,
      cut: 'cycle',
    });
    let page = 0;
    const cyclic = await fetch('tools', () => {
      page += 1;
      return { tools: [{ name: `t${page}` }], nextCursor: `c${page % 7}` };
    });
    // The first page, and one for each of the seven cursors.
    expect(cyclic).toMatchObject({ requests: 8, cut: 'cycle' });
    expect(cyclic.keys).toHaveLength(8);
  });

  test('without an end is cut off after so many pages, or so many bytes of whatever is in them (FL1)', async () => {
    let page = 0;
    const empty = await fetch('tools', () => ({ tools: [], nextCursor: `${page++}` }));
    expect(empty).toMatchObject({ requests: MAX_PAGES, cut: 'too_many' });
    const garbage = 'x'.repeat(MAX_FETCHED_BYTES / 4);
    const wrapped = await fetch('tools', () => ({ garbage, tools: [], nextCursor: `${page++}` }));
    expect(wrapped).toMatchObject({ requests: 4, cut: 'too_large' });
    const long = await fetch('tools', () => ({ tools: [], nextCursor: `${page++}${'c'.repeat(100_000)}` }));
    expect(long).toMatchObject({ requests: 1, cut: 'too_large' });
  });

  test('of too many items, or of too long ones, keeps those that came first (LH1)', async () => {
    const many = Array.from({ length: 10 * MAX_ITEMS }, (_, i) => ({ name: `t${i}` }));
    const cut = await fetch('tools', () => ({ tools: many }));
    expect([cut.keys.length, cut.keys.at(-1), cut.cut]).toEqual([MAX_ITEMS, `t${MAX_ITEMS - 1}`, 'too_many']);
    const description = 'd'.repeat(1_000_000);
    const large = await fetch('tools', () => ({
      tools: Array.from({ length: 12 }, (_, i) => ({ name: `t${i}`, description })),
    }));
    expect([large.keys.length, large.cut]).toEqual([Math.floor(MAX_LIST_BYTES / 1_000_500), 'too_large']);
  });

  test('is gone over no further than it is taken, also where it is full of what is no item (LF2)', async () => {
    const walked = vi.spyOn(JsonScanner.prototype, 'object');
    const pages = {
      ofItems: Array.from({ length: 20 * MAX_ITEMS }, (_, i) => ({ name: `t${i}` })),
      ofNothing: Array.from({ length: 20 * MAX_ITEMS }, () => ({})),
    };
    for (const tools of Object.values(pages)) {
      walked.mockClear();
      const page = await fetch('tools', () => ({ tools, nextCursor: 'next' }));
      expect(page).toMatchObject({ requests: 1, cut: 'too_many' });
      // Whoever only checks a message does not look at the members of what is inside.
      const looked = walked.mock.calls.filter(([, onMember]) => onMember !== undefined);
      expect(looked.length).toBeLessThan(2 * MAX_ITEMS);
    }
    walked.mockRestore();
  });
});

describe('what is known of servers', () => {
  const ignore = () => {};
  const toolsOf = (count: number, length: number, mark = '') =>
    Array.from({ length: count }, (_, n) => ({
      name: `${mark}${n}`,
      inputSchema: { type: 'object' },
      d: 'd'.repeat(length),
    }));

  test('does not take more than there is for all of them, and the one that comes last has its part (LH3)', async () => {
    const budget = new Budget(100_000);
    const greedy = Array.from(
      { length: 3 },
      () => new ServerCache(undefined, ignore, ignore, ignore, new ListBudget(budget)),
    );
    for (const known of greedy)
      await known.learn(
        connectionTo(() => ({ tools: toolsOf(1000, 100) })),
        1000,
      );
    expect(greedy.map(({ cuts }) => cuts)).toEqual(Array(3).fill({ tools: 'gateway_full' }));
    const modest = new ServerCache(undefined, ignore, ignore, ignore, new ListBudget(budget));
    await modest.learn(
      connectionTo(() => ({ tools: toolsOf(5, 100) })),
      1000,
    );
    expect([modest.lists.tools?.length, modest.cuts]).toEqual([5, {}]);
    expect(budget.taken).toBeLessThanOrEqual(budget.total);
  });

  test('keeps the list it has where there is no room for another, and tells of that once (KN1)', async () => {
    const budget = new Budget(20_000);
    const told: string[] = [];
    const known = new ServerCache(
      undefined,
      ignore,
      (what) => told.push(what),
      ignore,
      new ListBudget(budget),
    );
    await known.learn(
      connectionTo(() => ({ tools: toolsOf(10, 10) })),
      1000,
    );
    const before = known.lists.tools;
    const grown = connectionTo(() => ({ tools: toolsOf(100, 10, 'new') }));
    expect(await known.refresh(grown, ['tools'], 1000)).toEqual([]);
    await known.refresh(grown, ['tools'], 1000);
    expect(known.lists.tools).toBe(before);
    expect(known.cuts).toEqual({ tools: 'gateway_full' });
    expect(told).toEqual([
      expect.stringMatching(/^tools\/list is cut off after 10 items \(gateway_full\): /),
    ]);
    await known.refresh(
      connectionTo(() => ({ tools: toolsOf(3, 10) })),
      ['tools'],
      1000,
    );
    expect([known.lists.tools?.length, known.cuts]).toEqual([3, {}]);
  });

  test('gives back what it took, whatever is fetched, fails, is cut off or closed in whatever order (LH2, KN2)', async () => {
    const step = fc.record({
      at: fc.nat(3),
      what: fc.constantFrom('learn', 'refresh', 'again', 'fail', 'late', 'close'),
      count: fc.nat(30),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const budget = new Budget(30_000);
        const all = Array.from(
          { length: 4 },
          () => new ServerCache(undefined, ignore, ignore, ignore, new ListBudget(budget)),
        );
        const running: Promise<unknown>[] = [];
        for (const { at, what, count } of steps) {
          const known = all[at] as ServerCache;
          if (what === 'close') known.close();
          let pages = 0;
          const connection = connectionTo(() => {
            pages += 1;
            if (what === 'fail' && pages === 2) return 7;
            const tools = toolsOf(count, 10, what === 'again' ? '' : `${pages}`);
            return { tools, ...(pages === 1 ? { nextCursor: 'c' } : {}) };
          });
          const done =
            what === 'learn' ? known.learn(connection, 1000) : known.refresh(connection, ['tools'], 1000);
          if (what === 'late') running.push(done);
          else await done;
          expect(budget.taken).toBeLessThanOrEqual(budget.total);
        }
        await Promise.all(running);
        const held = all.flatMap(({ lists }) => lists.tools ?? []);
        if (held.length === 0) expect(budget.taken).toBe(0);
        for (const known of all) known.close();
        expect(budget.taken).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
