import { expect, test } from 'vitest';
import { toolNames } from '../../../../../actors/agents/model-agent/tool-names.ts';

const named = (...tools: string[]) =>
  toolNames(
    tools.map((path) => {
      const [server = '', ...tool] = path.split('/');
      return { server, tool: tool.join('/') };
    }),
    [],
  );

test('a tool keeps its own name where no other has it, and else has that of its server before it', () => {
  expect(named('files/read', 'shop/pay')).toEqual(['read', 'pay']);
  expect(named('files/read', 'shop/read', 'shop/pay')).toEqual(['files__read', 'shop__read', 'pay']);
});

test('`server__tool` is never the name of a tool that has it as its own name (ATN2)', () => {
  expect(named('bank/read', 'wiki/read', 'wiki/bank__read')).toEqual([
    'bank__read',
    'wiki__read',
    'wiki__bank__read',
  ]);
  // Also if `bank` has no such tool, or is no server.
  expect(named('bank/write', 'wiki/bank__read')).toEqual(['write', 'wiki__bank__read']);
  expect(named('wiki/bank__read')).toEqual(['wiki__bank__read']);
  expect(named('x/a__b', 'a/b', 'c/b')).toEqual(['x__a__b', 'a__b', 'c__b']);
  const names = named('a/b__c', 'a__b/c', 'x/b__c', 'x/c');
  expect(new Set(names).size).toBe(4);
  expect(names[1]).toBe('a__b__c');
});

test('a server without tools keeps the names that begin with its id', () => {
  const [name] = toolNames([{ server: 'a', tool: 'b__c' }], ['a', 'a__b']);
  expect(name).toMatch(/^a__b__c_[0-9a-f]{32}$/);
});

test('a tool cannot choose the name with a digest of another one', () => {
  const long = 'x'.repeat(64);
  const [victim = ''] = named(`${long}/read file`);
  expect(victim).toMatch(/^x{55}_[0-9a-f]{8}$/);
  const [again, chosen] = named(`${long}/read file`, `evil/${victim}`);
  expect(again).toBe(victim);
  expect(chosen).not.toBe(victim);
});

test.each([
  ['signs that providers refuse', 'files/read file', /^files__read_file_[0-9a-f]{8}$/],
  ['letters of other scripts', 'files/größe', /^files__gr__e_[0-9a-f]{8}$/],
  ['a digit before everything else', '1st/2nd', /^_1st__2nd_[0-9a-f]{8}$/],
  ['too many letters', `files/${'x'.repeat(65)}`, /^files__x{48}_[0-9a-f]{8}$/],
])('a name with %s is written in those that they take', (_, tool, name) => {
  expect(named(tool)[0]).toMatch(name);
});

test('a name that is only too long with its server is shortened, and stays its own', () => {
  const long = 'x'.repeat(63);
  const [one, other] = named(`a/${long}`, `b/${long}`);
  expect(one).toMatch(/^a__x{52}_[0-9a-f]{8}$/);
  expect(other).toMatch(/^b__x{52}_[0-9a-f]{8}$/);
});
