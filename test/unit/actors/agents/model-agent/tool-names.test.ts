import { expect, test } from 'vitest';
import { toolNames } from '../../../../../actors/agents/model-agent/tool-names.ts';

const namesOf = (...tools: string[]) =>
  toolNames(
    tools.map((path) => {
      const [server = '', ...tool] = path.split('/');
      return { server, tool: tool.join('/') };
    }),
    [],
  );

test('a tool keeps its own name if it is unique; otherwise its server id is prefixed', () => {
  expect(namesOf('files/read', 'shop/pay')).toEqual(['read', 'pay']);
  expect(namesOf('files/read', 'shop/read', 'shop/pay')).toEqual(['files__read', 'shop__read', 'pay']);
});

test('`server__tool` never leads to a tool of another server whose own name is `server__tool`', () => {
  expect(namesOf('bank/read', 'wiki/read', 'wiki/bank__read')).toEqual([
    'bank__read',
    'wiki__read',
    'wiki__bank__read',
  ]);
  // Also if `bank` is not a server, or the tool is missing there.
  expect(namesOf('bank/write', 'wiki/bank__read')).toEqual(['write', 'wiki__bank__read']);
  expect(namesOf('wiki/bank__read')).toEqual(['wiki__bank__read']);
  expect(namesOf('x/a__b', 'a/b', 'c/b')).toEqual(['x__a__b', 'a__b', 'c__b']);
  const names = namesOf('a/b__c', 'a__b/c', 'x/b__c', 'x/c');
  expect(new Set(names).size).toBe(4);
  expect(names[1]).toBe('a__b__c');
});

test('a server without tools reserves the names that begin with its id', () => {
  const [name] = toolNames([{ server: 'a', tool: 'b__c' }], ['a', 'a__b']);
  expect(name).toMatch(/^a__b__c_[0-9a-f]{32}$/);
});

test('a tool cannot have the same name as another tool whose name was shortened with a digest', () => {
  const long = 'x'.repeat(64);
  const [victim = ''] = namesOf(`${long}/read file`);
  expect(victim).toMatch(/^x{55}_[0-9a-f]{8}$/);
  const [again, chosen] = namesOf(`${long}/read file`, `evil/${victim}`);
  expect(again).toBe(victim);
  expect(chosen).not.toBe(victim);
});

test.each([
  ['characters that providers reject', 'files/read file', /^files__read_file_[0-9a-f]{8}$/],
  ['letters of other scripts', 'files/größe', /^files__gr__e_[0-9a-f]{8}$/],
  ['a leading digit', '1st/2nd', /^_1st__2nd_[0-9a-f]{8}$/],
  ['too many letters', `files/${'x'.repeat(65)}`, /^files__x{48}_[0-9a-f]{8}$/],
])('a tool name with %s is converted to the allowed characters', (_, tool, name) => {
  expect(namesOf(tool)[0]).toMatch(name);
});

test('a tool name that is too long only with its server id is shortened and remains unique', () => {
  const long = 'x'.repeat(63);
  const [one, other] = namesOf(`a/${long}`, `b/${long}`);
  expect(one).toMatch(/^a__x{52}_[0-9a-f]{8}$/);
  expect(other).toMatch(/^b__x{52}_[0-9a-f]{8}$/);
});
