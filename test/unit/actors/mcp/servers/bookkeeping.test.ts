// Per-server records: latencies, subscriptions, log levels and list items.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { Latency } from '../../../../../actors/mcp/servers/calls/latency.ts';
import {
  everyListKind,
  itemJson,
  itemsOf,
  listKinds,
} from '../../../../../actors/mcp/servers/lists/lists.ts';
import { SubscriptionBudget } from '../../../../../actors/mcp/servers/notifications/subscription-budget.ts';
import { logLevels, Subscriptions } from '../../../../../actors/mcp/servers/notifications/subscriptions.ts';
import { FakeOwner } from '../../../../fixtures/server/fake-server.ts';

describe('the latency percentiles of a server', () => {
  test('are null before the first call', () => {
    expect(new Latency().read()).toEqual({ p50: null, p95: null, p99: null });
  });

  test('are those of the last 1024 calls', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 2500 }),
        (list) => {
          const latency = new Latency();
          for (const ms of list) latency.note(ms);
          const sorted = list.slice(-1024).sort((a, b) => a - b);
          const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? null;
          expect(latency.read()).toEqual({ p50: at(0.5), p95: at(0.95), p99: at(0.99) });
        },
      ),
      { numRuns: 50 },
    );
  });
});

/** Subscription size for a one-character URI. */
const SUBSCRIPTION_BYTES = 258;

describe('the subscriptions at a server', () => {
  test('are the same as in a plain list of pairs after any sequence of changes', () => {
    const owners = ['a', 'b', 'c'].map((id) => new FakeOwner(id));
    const uris = ['u', 'v'];
    const change = fc.record({
      what: fc.constantFrom('add', 'add', 'remove', 'release', 'level'),
      owner: fc.constantFrom(...owners),
      uri: fc.constantFrom(...uris),
      level: fc.constantFrom(...logLevels),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (list) => {
        const budget = new SubscriptionBudget();
        const real = new Subscriptions(budget);
        let pairs: (readonly [string, FakeOwner])[] = [];
        const levels = new Map<FakeOwner, (typeof logLevels)[number]>();
        const others = (uri: string) => pairs.filter(([other]) => other === uri);
        for (const { what, owner, uri, level } of list) {
          if (what === 'add') {
            pairs = [...pairs.filter(([u, o]) => u !== uri || o !== owner), [uri, owner]];
            real.add(uri, owner);
          } else if (what === 'remove') {
            pairs = pairs.filter(([u, o]) => u !== uri || o !== owner);
            expect(real.remove(uri, owner)).toBe(others(uri).length === 0);
          } else if (what === 'level') {
            levels.set(owner, level);
            real.setLevel(owner, level);
          } else {
            const own = pairs.filter(([, o]) => o === owner).map(([u]) => u);
            pairs = pairs.filter(([, o]) => o !== owner);
            levels.delete(owner);
            const orphaned = own.filter((u) => others(u).length === 0);
            expect(real.release(owner).sort()).toEqual(orphaned.sort());
          }
          expect(real.isEmpty).toBe(pairs.length === 0);
          expect(budget.bytes).toBe(pairs.length * SUBSCRIPTION_BYTES);
          for (const u of uris)
            expect(new Set(real.subscribers(u))).toEqual(new Set(others(u).map(([, o]) => o)));
          for (const o of owners) {
            expect(real.uris((other) => other === o).sort()).toEqual(
              pairs.flatMap(([u, other]) => (other === o ? [u] : [])).sort(),
            );
            expect(real.levelOf(o)).toBe(levels.get(o));
            expect(real.has(o)).toBe(pairs.some(([, other]) => other === o));
            expect(real.some((other) => other === o)).toBe(real.has(o));
          }
          expect(real.owners()).toEqual(new Set(pairs.map(([, o]) => o)));
          const lowest = logLevels.find((each) => [...levels.values()].includes(each));
          expect(real.lowestLevel).toBe(lowest);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('of twenty thousand clients that disconnect together are removed quickly', () => {
    const real = new Subscriptions();
    const owners = Array.from({ length: 20_000 }, (_, n) => new FakeOwner(`o${n}`));
    for (const [n, owner] of owners.entries()) {
      real.add(`u${n}`, owner);
      real.setLevel(owner, 'info');
    }
    const since = performance.now();
    const lowest = new Set<unknown>();
    for (const owner of owners) {
      lowest.add(real.lowestLevel);
      real.release(owner);
    }
    // Searching all subscriptions per client would take fourteen seconds.
    expect(performance.now() - since).toBeLessThan(4_000);
    expect([...lowest, real.isEmpty, real.lowestLevel]).toEqual(['info', true, undefined]);
  });

  test('forward a log message to clients that set no log level, its level or a lower level', () => {
    expect(Subscriptions.passes('info', 'warning')).toBe(false);
    expect(Subscriptions.passes('warning', 'warning')).toBe(true);
    expect(Subscriptions.passes('emergency', 'debug')).toBe(true);
    expect(Subscriptions.passes('debug', undefined)).toBe(true);
    expect(Subscriptions.passes('a level of its own', 'emergency')).toBe(true);
  });
});

describe('the items of a server list', () => {
  const answer = (result: string) => readServerMessage(Buffer.from(`{"id":1,"result":${result}}`));

  test("keep the server's bytes, including numbers, order and notation", () => {
    const item =
      '{ "title":"\\u00fc \u{1f600}", "inputSchema":{"maximum":9007199254740993,"x":1.0,"y":1e400}, "name" : "read" ,"_meta":{"name":"inner"} }';
    const [only] = itemsOf(answer(`{"tools":[${item}],"nextCursor":"c"}`), 'tools');
    expect(only?.key).toBe('read');
    if (only === undefined) return;
    expect(itemJson(only)).toBe(item);
    expect(itemJson(only, 's__read')).toBe(item.replace('"read"', '"s__read"'));
  });

  test('without a key or that are not objects are omitted, and the others stay', () => {
    const list = '[null,1,"x",[],{},{"name":1},{"name":null},{"title":"t"},{"name":"good"}]';
    expect(itemsOf(answer(`{"tools":${list}}`), 'tools').map(({ key }) => key)).toEqual(['good']);
  });

  test.each([
    'null',
    '1',
    '[]',
    '{}',
    '{"tools":null}',
    '{"tools":{}}',
    '{"prompts":[{"name":"p"}]}',
    '"tools"',
  ])('are empty for a result of %s', (result) => {
    expect(itemsOf(answer(result), 'tools')).toEqual([]);
  });

  test('keep their JSON meaning for any content', () => {
    const kinds = fc.constantFrom(...everyListKind);
    const plain = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }), {
      maxKeys: 4,
    });
    fc.assert(
      fc.property(
        kinds,
        fc.array(fc.tuple(fc.string({ unit: 'binary' }), plain)),
        fc.string(),
        (kind, list, name) => {
          const { key } = listKinds[kind];
          const items = list.map(([text, others]) => ({ ...others, [key]: text }));
          const read = itemsOf(answer(JSON.stringify({ other: 1, [kind]: items })), kind);
          expect(read.map((item) => item.key)).toEqual(items.map((item) => item[key]));
          for (const [index, item] of read.entries()) {
            expect(itemJson(item)).toBe(JSON.stringify(items[index]));
            expect(JSON.parse(itemJson(item, name))).toEqual({
              ...JSON.parse(JSON.stringify(items[index])),
              [key]: name,
            });
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
