// Paging with cursors through a merged list, while servers are added, removed, reordered or restarted, and
// while their lists change. No item of an unchanged server is lost or repeated.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Aggregate } from '../../../../../../actors/mcp/clients/aggregate/aggregate.ts';
import { RpcFault } from '../../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { everyListKind, type ListKind, listKinds } from '../../../../../../actors/mcp/servers/lists/lists.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';
import { aggregateOf, ListedServer } from '../../../../../fixtures/server/listed-server.ts';

interface Page {
  readonly items: readonly string[];
  readonly nextCursor: string | undefined;
}

function pageOf(aggregate: Aggregate, kind: ListKind, cursor?: string): Page {
  const raw = aggregate.list(kind, cursor).raw.toString('utf8');
  const { nextCursor, [kind]: items } = JSON.parse(raw) as Record<string, unknown>;
  const { key } = listKinds[kind];
  return {
    items: (items as Record<string, string>[]).map((item) => item[key] ?? ''),
    nextCursor: nextCursor as string | undefined,
  };
}

/** Returns the code of the error that `act` throws, if any. */
function codeOf(act: () => unknown): number | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof RpcFault) return error.code;
    throw error;
  }
}

/** Code of JSON-RPC for invalid parameters. */
const INVALID_PARAMS = -32602;

const arbKind = fc.constantFrom(...everyListKind);
/** Number of items by server. */
const arbItemCounts = fc.array(fc.nat(7), { minLength: 1, maxLength: 12 });
const arbPageSize = fc.integer({ min: 1, max: 9 });
const itemNames = (id: string, count: number) => Array.from({ length: count }, (_, n) => `${id}:é${n}`);
const serverOf = (id: string, names: readonly string[]) =>
  new ListedServer(id, { tools: names, prompts: names, resources: names, resourceTemplates: names });

describe('paging with cursors', () => {
  test('returns each item of the list once and in order, and every page but the last is full', () => {
    fc.assert(
      fc.property(arbKind, arbItemCounts, arbPageSize, (kind, sizes, pageItems) => {
        const servers = sizes.map((size, n) => serverOf(`s${n}`, itemNames(`s${n}`, size)).asManaged);
        const whole = pageOf(
          aggregateOf(() => servers),
          kind,
        );
        expect(whole.nextCursor).toBeUndefined();
        const aggregate = aggregateOf(() => servers, pageItems);
        const pages: Page[] = [];
        let cursor: string | undefined;
        do {
          const page = pageOf(aggregate, kind, cursor);
          pages.push(page);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(pages.flatMap(({ items }) => items)).toEqual(whole.items);
        expect(pages).toHaveLength(Math.max(1, Math.ceil(whole.items.length / pageItems)));
        for (const { items } of pages.slice(0, -1)) expect(items).toHaveLength(pageItems);
      }),
      { numRuns: runs(300) },
    );
  });

  test('neither loses nor repeats items of an unchanged server while other servers change', () => {
    // Changes between two pages. Servers are numbers; a relisted server gets a new number of items.
    const change = fc.record({
      sortRanks: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 24, maxLength: 24 }),
      removed: fc.array(fc.nat(11), { maxLength: 4 }),
      added: fc.array(fc.nat(5), { maxLength: 3 }),
      relisted: fc.array(fc.tuple(fc.nat(11), fc.nat(7)), { maxLength: 4 }),
      restarted: fc.array(fc.nat(11), { maxLength: 4 }),
    });
    /** True for each server whose list does not change. */
    const steady = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(
        arbKind,
        arbItemCounts,
        steady,
        arbPageSize,
        fc.array(change, { maxLength: 8 }),
        (kind, sizes, steadyFlags, pageItems, changes) => {
          let servers = sizes.map((size, n) => serverOf(`s${n}`, itemNames(`s${n}`, size)));
          const steadyServers = servers.filter((_, n) => steadyFlags[n]);
          const original = new Map(servers.map((server, n) => [n, server]));
          const aggregate = aggregateOf(() => servers.map(({ asManaged }) => asManaged), pageItems);
          const receivedItems: string[] = [];
          let count = sizes.length;
          let cursor: string | undefined;
          for (let step = 0; ; step += 1) {
            const page = pageOf(aggregate, kind, cursor);
            receivedItems.push(...page.items);
            cursor = page.nextCursor;
            if (cursor === undefined) break;
            const next = changes[step];
            if (next === undefined) continue;
            /** Returns the server with this number if its list may change. */
            const changeableServer = (n: number) => {
              const server = original.get(n);
              return server !== undefined && !steadyServers.includes(server) ? server : undefined;
            };
            for (const n of next.removed)
              servers = servers.filter((server) => server !== changeableServer(n));
            for (const [n, size] of next.relisted) {
              const names = itemNames(`s${n}`, size).reverse();
              changeableServer(n)?.learn({
                tools: names,
                prompts: names,
                resources: names,
                resourceTemplates: names,
              });
            }
            // An unchanged server may refetch the same list.
            for (const n of next.restarted) {
              const server = original.get(n);
              if (server !== undefined) server.cache.revision += 1;
            }
            for (const size of next.added) {
              servers.push(serverOf(`s${count}`, itemNames(`s${count}`, size)));
              count += 1;
            }
            // Reorders the servers.
            const rank = new Map(servers.map((server, at) => [server, next.sortRanks[at % 24] ?? 0]));
            servers = [...servers].sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
          }
          for (const server of steadyServers) {
            const { id, cache } = server;
            const own = pageOf(
              aggregateOf(() => [server.asManaged]),
              kind,
            ).items;
            expect(own).toHaveLength(cache.lists[kind]?.length ?? 0);
            expect(
              receivedItems.filter((item) => own.includes(item)),
              id,
            ).toEqual(own);
          }
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test('rejects cursors of another list and of another gateway', () => {
    const servers = [serverOf('s', itemNames('s', 5)).asManaged];
    const [aggregate, other] = [aggregateOf(() => servers, 2), aggregateOf(() => servers, 2)];
    const { nextCursor = '' } = pageOf(aggregate, 'tools');
    expect(codeOf(() => aggregate.list('tools', nextCursor))).toBeUndefined();
    for (const kind of everyListKind.filter((one) => one !== 'tools'))
      expect(codeOf(() => aggregate.list(kind, nextCursor))).toBe(INVALID_PARAMS);
    expect(codeOf(() => other.list('tools', nextCursor))).toBe(INVALID_PARAMS);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(codeOf(() => aggregate.list('tools', text))).toBe(INVALID_PARAMS);
      }),
    );
  });
});

describe('a list that changes between two pages', () => {
  /** Returns the merged list of these servers, with two items per page. */
  const pagesOfTwo = (servers: () => ListedServer[]) =>
    aggregateOf(() => servers().map(({ asManaged }) => asManaged), 2);

  test('continues after the last returned item if the item still exists', () => {
    const server = serverOf('s', ['a', 'b', 'c', 'd']);
    const aggregate = pagesOfTwo(() => [server]);
    const { nextCursor = '' } = pageOf(aggregate, 'resources');
    server.learn({ resources: ['new', 'a', 'b', 'c', 'd'] });
    expect(pageOf(aggregate, 'resources', nextCursor).items).toEqual(['c', 'd']);
    server.learn({ resources: ['b', 'c', 'd'] });
    expect(pageOf(aggregate, 'resources', nextCursor).items).toEqual(['c', 'd']);
    // The last returned item (`b`) is gone, so the list continues after its former position.
    server.learn({ resources: ['a', 'c', 'd'] });
    expect(pageOf(aggregate, 'resources', nextCursor).items).toEqual(['d']);
    server.learn({ resources: [] });
    expect(pageOf(aggregate, 'resources', nextCursor)).toEqual({ items: [], nextCursor: undefined });
  });

  test('includes the list of a server whose list became known after the first page', () => {
    const [late, known] = [new ListedServer('late'), serverOf('known', ['a', 'b', 'c'])];
    const aggregate = pagesOfTwo(() => [late, known]);
    const { items, nextCursor = '' } = pageOf(aggregate, 'resources');
    expect(items).toEqual(['a', 'b']);
    late.learn({ resources: ['x'] });
    expect(pageOf(aggregate, 'resources', nextCursor).items).toEqual(['c', 'x']);
  });

  test('ends if its only server was removed from the catalog', () => {
    let servers = [serverOf('s', ['a', 'b', 'c'])];
    const aggregate = pagesOfTwo(() => servers);
    const { nextCursor = '' } = pageOf(aggregate, 'resources');
    servers = [];
    expect(pageOf(aggregate, 'resources', nextCursor)).toEqual({ items: [], nextCursor: undefined });
  });
});

test('a cursor has less than 1,000 characters with 2,000 servers', () => {
  const servers = Array.from({ length: 2000 }, (_, n) => serverOf(`server-${n}`, ['t']).asManaged);
  const { items, nextCursor = '' } = pageOf(
    aggregateOf(() => servers),
    'tools',
  );
  // The maximum page size is 1,000 items.
  expect(items).toHaveLength(1000);
  expect(nextCursor.length).toBeGreaterThan(0);
  expect(nextCursor.length).toBeLessThan(1000);
});
