// Merged lists of all servers, with tools named `server__tool`: order, equal names, and the server for each
// name.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Aggregate } from '../../../../../../actors/mcp/clients/aggregate/aggregate.ts';
import type { EncodedResult } from '../../../../../../actors/mcp/jsonrpc/compose.ts';
import { describedServer } from '../../../../../fixtures/server/described-server.ts';
import { aggregateOf, ListedServer } from '../../../../../fixtures/server/listed-server.ts';

const aggregateFrom = (...servers: ListedServer[]) =>
  aggregateOf(() => servers.map(({ asManaged }) => asManaged));
const parse = ({ raw }: EncodedResult) => JSON.parse(raw.toString('utf8'));
const names = (aggregate: Aggregate) =>
  parse(aggregate.list('tools')).tools.map(({ name }: { name: string }) => name);
const targetOfTool = (aggregate: Aggregate, name: string) => {
  const target = aggregate.find('tools', name);
  return target && `${target.server.id} ${target.key}`;
};

describe('the merged list of all servers', () => {
  test('follows the catalog order, then the order of each server, with the same bytes each time', () => {
    const make = () =>
      aggregateFrom(new ListedServer('b', { tools: ['z', 'a'] }), new ListedServer('a', { tools: ['ü'] }));
    expect(names(make())).toEqual(['b__z', 'b__a', expect.stringMatching(/^a_____?[0-9a-f]{8}$/)]);
    expect(make().list('tools').raw).toEqual(make().list('tools').raw);
  });

  test('keeps all bytes of an item except its name', () => {
    expect(
      aggregateFrom(new ListedServer('s', { tools: ['t'] }))
        .list('tools')
        .raw.toString(),
    ).toBe('{"tools":[{"name":"s__t","inputSchema":{"type":"object"},"x":1.0}]}');
  });

  test('omits disabled servers, denied tools and unknown servers', () => {
    const [off, some, unknown] = [
      new ListedServer('off', { tools: ['a'] }),
      new ListedServer('some', { tools: ['a', 'b'] }),
      new ListedServer('unknown'),
    ];
    off.entry.enabled = false;
    some.entry.tools.deny = ['b'];
    const aggregate = aggregateFrom(off, some, unknown);
    expect(names(aggregate)).toEqual(['some__a']);
    expect(targetOfTool(aggregate, 'some__b')).toBeUndefined();
    expect(targetOfTool(aggregate, 'off__a')).toBeUndefined();
  });

  test('includes changed server lists immediately', () => {
    const server = new ListedServer('s');
    const aggregate = aggregateFrom(server);
    expect(names(aggregate)).toEqual([]);
    server.learn({ tools: ['t'] });
    expect(names(aggregate)).toEqual(['s__t']);
    server.learn({ tools: [] });
    expect(targetOfTool(aggregate, 's__t')).toBeUndefined();
  });

  test('contains a tool once even if its server lists it twice', () => {
    const long = 'x'.repeat(80);
    const aggregate = aggregateFrom(new ListedServer('s', { tools: ['t', 't', long, long, 't'] }));
    expect(names(aggregate)).toHaveLength(2);
  });

  test('adds the server id to a URI that an earlier server has, or that looks like a URI with a server id', () => {
    const aggregate = aggregateFrom(
      new ListedServer('a', { resources: ['x://1', 'https://x/1', 'x://b~/2'] }),
      new ListedServer('b', { resources: ['x://1', 'https://x/1', 'x://2'] }),
    );
    const { resources } = parse(aggregate.list('resources'));
    expect(resources.map(({ uri }: { uri: string }) => uri)).toEqual([
      ...['x://1', 'https://x/1', 'x://a~/b~/2', 'x://b~/1', 'x://2'],
    ]);
    const found = (uri: string) => {
      const target = aggregate.findResource(uri);
      return target && `${target.server.id} ${target.key}`;
    };
    expect(['x://1', 'x://b~/1', 'x://2', 'x://b~/2', 'x://a~/b~/2', 'https://x/1'].map(found)).toEqual([
      ...['a x://1', 'b x://1', 'b x://2', 'b x://2', 'a x://b~/2', 'a https://x/1'],
    ]);
  });
});

test('a page of the merged list is limited in size, except for a single item above the limit', () => {
  const mega = 1024 * 1024;
  const tool = (name: string, length: number) => ({ name, description: 'd'.repeat(length) });
  const few = describedServer('few', [tool('a', mega), tool('b', 2 * mega), tool('c', 2 * mega)]);
  const aggregate = aggregateFrom(few, describedServer('one', [tool('d', 6 * mega), tool('e', 1)]));
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = parse(aggregate.list('tools', cursor));
    pages.push(page.tools.map(({ name }: { name: string }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(pages).toEqual([['few__a', 'few__b'], ['few__c'], ['one__d'], ['one__e']]);
});

describe('a merged tool name that starts with the ids of two servers', () => {
  test('belongs to the server with the longer id, regardless of the tools of both servers', () => {
    const [short, long] = [new ListedServer('a'), new ListedServer('a__b')];
    for (const servers of [
      [short, long],
      [long, short],
    ]) {
      const aggregate = aggregateFrom(...servers);
      long.learn({ tools: ['c'] });
      short.learn({ tools: [] });
      expect(targetOfTool(aggregate, 'a__b__c')).toBe('a__b c');
      // Clients cache names, so a tool of another server must not get a used name.
      short.learn({ tools: ['b__c'] });
      expect(targetOfTool(aggregate, 'a__b__c')).toBe('a__b c');
      expect(
        names(aggregate)
          .map((name: string) => targetOfTool(aggregate, name))
          .sort(),
      ).toEqual(['a b__c', 'a__b c']);
      short.learn({ tools: [] });
      long.learn({ tools: [] });
    }
  });

  test('is unique even if the first server id ends with the separator', () => {
    const aggregate = aggregateFrom(
      new ListedServer('a', { tools: ['_b'] }),
      new ListedServer('a_', { tools: ['b'] }),
    );
    expect(
      names(aggregate)
        .map((name: string) => targetOfTool(aggregate, name))
        .sort(),
    ).toEqual(['a _b', 'a_ b']);
    expect(targetOfTool(aggregate, 'a___b')).toBe('a_ b');
  });

  test('is unique in the merged list, and resolves to the tool that is listed under it', () => {
    const id = fc.oneof(
      fc.constantFrom('a', 'a_', 'a__', 'a__b', '_', 'a.b', 'a-b'),
      fc.string({ unit: fc.constantFrom('a', '_', '.'), minLength: 1, maxLength: 4 }),
    );
    const tool = fc.oneof(
      fc.constantFrom('b', '_b', '__b', 'b__c', 'c', 'x'.repeat(64)),
      fc.string({ unit: fc.constantFrom('a', '_', '.', 'é'), maxLength: 4 }),
    );
    const servers = fc.uniqueArray(fc.tuple(id, fc.array(tool, { maxLength: 6 })), {
      selector: ([one]) => one,
      maxLength: 5,
    });
    fc.assert(
      fc.property(servers, (list) => {
        const aggregate = aggregateFrom(...list.map(([one, tools]) => new ListedServer(one, { tools })));
        const listedNames: string[] = names(aggregate);
        expect(new Set(listedNames).size).toBe(listedNames.length);
        for (const name of listedNames) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        const expected = list.flatMap(([one, tools]) => [...new Set(tools)].map((name) => `${one} ${name}`));
        expect(listedNames.map((name) => targetOfTool(aggregate, name))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a resource', () => {
  const files = new ListedServer('files', {
    resources: ['file:///a'],
    resourceTemplates: ['file:///{path}'],
  });
  const rows = new ListedServer('rows', { resourceTemplates: ['db://{table}/{row}'] });

  test('belongs to the server that lists it, then to the first matching template', () => {
    const aggregate = aggregateFrom(rows, files);
    expect(aggregate.findResource('file:///a')?.server.id).toBe('files');
    expect(aggregate.findResource('file:///other')).toEqual({ server: files, key: 'file:///other' });
    expect(aggregate.findResource('db://t/1')?.server.id).toBe('rows');
    expect(aggregate.findResource('http://x')).toBeUndefined();
    expect(aggregate.findTemplate('db://{table}/{row}')?.server.id).toBe('rows');
  });

  test('that no server lists belongs to the only server with resources', () => {
    const tools = new ListedServer('tools', { tools: ['t'] }, { tools: {} });
    expect(aggregateFrom(tools, files).findResource('odd://x')?.server.id).toBe('files');
    expect(aggregateFrom(tools).findResource('odd://x')).toBeUndefined();
  });
});

test('the merged capabilities contain those of all servers, and all capabilities if those of one server are unknown', () => {
  const plain = new ListedServer('plain', {}, {});
  const logs = new ListedServer('logs', {}, { logging: {} });
  const has = (...servers: ListedServer[]) => Object.keys(aggregateFrom(...servers).capabilities()).sort();
  expect(has(plain)).toEqual(['prompts', 'resources', 'tools']);
  expect(has(plain, logs)).toEqual(['logging', 'prompts', 'resources', 'tools']);
  expect(has(plain, new ListedServer('unknown'))).toEqual([
    'completions',
    'logging',
    'prompts',
    'resources',
    'tools',
  ]);
});

test('the merged capabilities include subscribe if one server has it, and extensions, but not experimental or tasks', () => {
  const login = 'io.modelcontextprotocol/oauth-client-credentials';
  const extensions = { 'example.com/x': { a: 1, flag: true }, [login]: {} };
  const capabilities = { extensions, experimental: { y: {} }, tasks: {} };
  const plain = new ListedServer('plain', {}, { ...capabilities, resources: { listChanged: true } });
  const watched = new ListedServer('watched', {}, { resources: { subscribe: true } });
  const can = (...servers: ListedServer[]) => aggregateFrom(...servers).capabilities();
  const none = {
    tools: { listChanged: true },
    resources: { listChanged: true },
    prompts: { listChanged: true },
  };
  const declared = { 'example.com/x': { a: 1, flag: true } };
  expect(can(plain)).toEqual({ ...none, extensions: declared });
  expect(can()).toEqual(none);
  expect(can(watched)).toEqual({ ...none, resources: { listChanged: true, subscribe: true } });
  const first = new ListedServer('first', {}, { extensions: { 'example.com/x': { flag: false, b: 2 } } });
  expect(can(first, plain).extensions).toEqual({ 'example.com/x': { flag: true, b: 2, a: 1 } });
  expect(can(plain, new ListedServer('unknown')).resources).toEqual({ listChanged: true, subscribe: true });
});

describe('the cache hint of a merged list', () => {
  const tools = { tools: {} };
  const hinted = (id: string, ttlMs: number, scope: 'public' | 'private') => {
    const server = new ListedServer(id, { tools: ['a'] }, tools);
    Object.assign(server.cache, { hints: { tools: { ttlMs, scope } } });
    return server;
  };
  const hint = (...servers: ListedServer[]) => aggregateFrom(...servers).cacheHint('tools');
  const long = hinted('long', 60_000, 'public');
  const stale = { ttlMs: 0, scope: 'private' };

  test('has the shortest TTL, and is private if one server gives a private hint', () => {
    expect(hint(long)).toEqual({ ttlMs: 60_000, scope: 'public' });
    expect(hint(long, hinted('short', 500, 'public'))).toEqual({ ttlMs: 500, scope: 'public' });
    expect(hint(long, hinted('own', 90_000, 'private'))).toEqual({ ttlMs: 60_000, scope: 'private' });
  });

  test('is a TTL of 0 if a server gives no hint or its list is unknown', () => {
    const silent = new ListedServer('silent', { tools: ['a'] }, tools);
    Object.assign(silent.cache, { hints: {} });
    const failed = hinted('failed', 500, 'public');
    failed.cache.lists = {};
    for (const other of [silent, failed, new ListedServer('unknown')])
      expect(hint(long, other)).toEqual(stale);
  });

  test('ignores disabled servers and servers without such a list', () => {
    const other = new ListedServer('other', {}, { prompts: {} });
    other.cache.lists = {};
    const off = new ListedServer('off');
    off.entry.enabled = false;
    expect(hint(long, other, off)).toEqual({ ttlMs: 60_000, scope: 'public' });
  });
});

describe('the encoded merged list', () => {
  test('is cached until a server list changes', () => {
    const servers = [new ListedServer('a', { tools: ['x'] }), new ListedServer('b', { tools: ['y'] })];
    const aggregate = aggregateFrom(...servers);
    const [first, stamp] = [aggregate.list('tools'), aggregate.stamp];
    expect(aggregate.list('tools')).toBe(first);
    expect(aggregate.stamp).toBe(stamp);
    servers[1]?.learn({ tools: ['y', 'z'] });
    expect(names(aggregate)).toEqual(['a__x', 'b__y', 'b__z']);
    expect(aggregate.stamp).not.toBe(stamp);
  });

  test('contains added servers and no removed servers', () => {
    const servers = [new ListedServer('a', { tools: ['x'] }), new ListedServer('b', { tools: ['y'] })];
    const aggregate = aggregateOf(() => servers.map(({ asManaged }) => asManaged));
    expect(names(aggregate)).toEqual(['a__x', 'b__y']);
    servers.pop();
    expect(names(aggregate)).toEqual(['a__x']);
    servers.unshift(new ListedServer('c', { tools: ['z'] }));
    expect(names(aggregate)).toEqual(['c__z', 'a__x']);
  });
});
