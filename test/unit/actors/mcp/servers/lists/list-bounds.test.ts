// Limits of fetched lists: finite lists are fetched completely, endless lists are cut.

import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Budget } from '../../../../../../actors/base/bounds/budget.ts';
import { JsonScanner } from '../../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { ServerCache } from '../../../../../../actors/mcp/servers/cache/cache.ts';
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

describe('a paged list', () => {
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
      p2: { tools: [{ name: 'b' }], nextCursor: 'p3' },
      p3: { tools: [{ name: 'c' }] },
    };
    const { keys, cut } = await fetch('tools', (cursor) => pages[String(cursor)]);
    expect([keys, cut]).toEqual([['a', 'b', 'c'], undefined]);
  });

  test.each([
    ['empty', ''],
    ['null', null],
    ['a number', 7],
  ])('ends at a cursor that is %s', async (_, nextCursor) => {
    const list = await fetch('tools', () => ({ tools: [{ name: 'a' }], nextCursor }));
    expect(list).toEqual({ keys: ['a'], requests: 1, cut: undefined });
  });

  test('ends if a cursor repeats, after any number of other cursors', async () => {
    expect(await fetch('tools', () => ({ tools: [], nextCursor: 'same' }))).toMatchObject({
      requests: 2,
      cut: 'cycle',
    });
    let page = 0;
    const cyclic = await fetch('tools', () => {
      page += 1;
      return { tools: [{ name: `t${page}` }], nextCursor: `c${page % 7}` };
    });
    // The first page and seven cursors.
    expect(cyclic).toMatchObject({ requests: 8, cut: 'cycle' });
    expect(cyclic.keys).toHaveLength(8);
  });

  test('without an end is cut after a number of pages or bytes', async () => {
    let page = 0;
    const empty = await fetch('tools', () => ({ tools: [], nextCursor: `${page++}` }));
    expect(empty).toMatchObject({ requests: MAX_PAGES, cut: 'too_many' });
    const garbage = 'x'.repeat(MAX_FETCHED_BYTES / 4);
    const wrapped = await fetch('tools', () => ({ garbage, tools: [], nextCursor: `${page++}` }));
    expect(wrapped).toMatchObject({ requests: 4, cut: 'too_large' });
    const long = await fetch('tools', () => ({ tools: [], nextCursor: `${page++}${'c'.repeat(100_000)}` }));
    expect(long).toMatchObject({ requests: 1, cut: 'too_large' });
  });

  test('with too many or too long items keeps the first items', async () => {
    const many = Array.from({ length: 10 * MAX_ITEMS }, (_, i) => ({ name: `t${i}` }));
    const cut = await fetch('tools', () => ({ tools: many }));
    expect([cut.keys.length, cut.keys.at(-1), cut.cut]).toEqual([MAX_ITEMS, `t${MAX_ITEMS - 1}`, 'too_many']);
    const description = 'd'.repeat(1_000_000);
    const large = await fetch('tools', () => ({
      tools: Array.from({ length: 12 }, (_, i) => ({ name: `t${i}`, description })),
    }));
    expect([large.keys.length, large.cut]).toEqual([Math.floor(MAX_LIST_BYTES / 1_000_500), 'too_large']);
  });

  test('is parsed only as far as its items are used, even if it is full of invalid items', async () => {
    const walked = vi.spyOn(JsonScanner.prototype, 'object');
    const pages = {
      ofItems: Array.from({ length: 20 * MAX_ITEMS }, (_, i) => ({ name: `t${i}` })),
      ofNothing: Array.from({ length: 20 * MAX_ITEMS }, () => ({})),
    };
    for (const tools of Object.values(pages)) {
      walked.mockClear();
      const page = await fetch('tools', () => ({ tools, nextCursor: 'next' }));
      expect(page).toMatchObject({ requests: 1, cut: 'too_many' });
      // A syntax check does not visit members.
      const looked = walked.mock.calls.filter(([, onMember]) => onMember !== undefined);
      expect(looked.length).toBeLessThan(2 * MAX_ITEMS);
    }
    walked.mockRestore();
  });
});

describe('the cached lists of servers', () => {
  const ignore = () => {};
  const toolsOf = (count: number, length: number, mark = '') =>
    Array.from({ length: count }, (_, n) => ({
      name: `${mark}${n}`,
      inputSchema: { type: 'object' },
      d: 'd'.repeat(length),
    }));

  test('stay within the shared budget, and a small list gets its share even if large lists came first', async () => {
    const budget = new Budget(100_000);
    const greedy = Array.from(
      { length: 3 },
      () => new ServerCache(undefined, ignore, ignore, ignore, new ListBudget(budget)),
    );
    for (const cache of greedy)
      await cache.learn(
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
    expect(budget.used).toBeLessThanOrEqual(budget.total);
  });

  test('keep the old list if there is no memory for a new list, and report that once', async () => {
    const budget = new Budget(20_000);
    const warnings: string[] = [];
    const cache = new ServerCache(
      undefined,
      ignore,
      (what) => warnings.push(what),
      ignore,
      new ListBudget(budget),
    );
    await cache.learn(
      connectionTo(() => ({ tools: toolsOf(10, 10) })),
      1000,
    );
    const before = cache.lists.tools;
    const grown = connectionTo(() => ({ tools: toolsOf(100, 10, 'new') }));
    expect(await cache.refresh(grown, ['tools'], 1000)).toEqual([]);
    await cache.refresh(grown, ['tools'], 1000);
    expect(cache.lists.tools).toBe(before);
    expect(cache.cuts).toEqual({ tools: 'gateway_full' });
    expect(warnings).toEqual([
      expect.stringMatching(/^tools\/list is cut off after 10 items \(gateway_full\): /),
    ]);
    await cache.refresh(
      connectionTo(() => ({ tools: toolsOf(3, 10) })),
      ['tools'],
      1000,
    );
    expect([cache.lists.tools?.length, cache.cuts]).toEqual([3, {}]);
  });

  test('release their memory after any order of fetches, failures, cuts and closes', async () => {
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
          const cache = all[at] as ServerCache;
          if (what === 'close') cache.close();
          let pages = 0;
          const connection = connectionTo(() => {
            pages += 1;
            if (what === 'fail' && pages === 2) return 7;
            const tools = toolsOf(count, 10, what === 'again' ? '' : `${pages}`);
            return { tools, ...(pages === 1 ? { nextCursor: 'c' } : {}) };
          });
          const done =
            what === 'learn' ? cache.learn(connection, 1000) : cache.refresh(connection, ['tools'], 1000);
          if (what === 'late') running.push(done);
          else await done;
          expect(budget.used).toBeLessThanOrEqual(budget.total);
        }
        await Promise.all(running);
        const items = all.flatMap(({ lists }) => lists.tools ?? []);
        if (items.length === 0) expect(budget.used).toBe(0);
        for (const cache of all) cache.close();
        expect(budget.used).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
