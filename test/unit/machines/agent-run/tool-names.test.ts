import { expect, test } from 'vitest';
import { toolNames } from '../../../../machines/agent-run/tool-names.ts';

const named = (...tools: string[]) =>
  toolNames(
    tools.map((path) => {
      const [server = '', ...tool] = path.split('/');
      return { server, tool: tool.join('/') };
    }),
  );

test('a tool keeps its own name where no other has it, and else has that of its server before it', () => {
  expect(named('files/read', 'shop/pay')).toEqual(['read', 'pay']);
  expect(named('files/read', 'shop/read', 'shop/pay')).toEqual(['files__read', 'shop__read', 'pay']);
});

test('a tool that is called what another would be called with its server takes nothing from it (TN1)', () => {
  const [own, first, second] = named('x/a__b', 'a/b', 'c/b');
  expect([own, second]).toEqual(['a__b', 'c__b']);
  expect(first).toMatch(/^a__b_[0-9a-f]{8}$/);
  const names = named('a/b__c', 'a__b/c', 'x/b__c', 'x/c');
  expect(new Set(names).size).toBe(4);
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
