import { expect, test } from 'vitest';
import type { Gateway } from '../../../../actors/gateway/gateway.ts';
import { banner } from '../../../../src/cli/views/banner.ts';

function gatewayOf(...args: string[]): Gateway {
  const entry = { runtime: 'stdio', enabled: true, command: 'node', args };
  const servers = { all: () => [{ id: 'a', entry }] };
  const redactor = { redact: (text: string) => text };
  return { version: '1', config: { api_key: '' }, mcp: { servers }, redactor } as unknown as Gateway;
}

const home = { host: '127.0.0.1', port: 80 };
const greeted = {
  address: home,
  kind: 'node:http',
  hasInspector: false,
  triggers: [],
  command: (words: string) => `actor-gateway ${words}`,
};

test('a server takes one line of the greeting, whatever its arguments', () => {
  const lines = banner(gatewayOf('-e', 'one\ntwo\u001b[2J'), greeted).split('\n');
  expect(lines).toEqual([
    'actor-gateway 1 at http://127.0.0.1:80 (node:http), 1 server:',
    '  a  starts on demand  node -e one two',
    'Try:',
    '  actor-gateway tools --server a',
    '  actor-gateway tools call a TOOL name=value',
  ]);
});

test.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', 'localhost'],
  ['::1', '[::1]'],
])('whoever listens at %s is reached by this machine at %s', (host, shown) => {
  const text = banner(gatewayOf(), { ...greeted, address: { host, port: 80 }, hasInspector: true });
  expect(text).toMatch(/\nOr open (\S+) in a browser\.$/);
  expect(text).toContain(`open http://${shown}:80/ in`);
});

test('whoever needs a key is told where commands look for it', () => {
  const gateway = { ...gatewayOf(), config: { api_key: 'hush-hush-4711' } } as unknown as Gateway;
  const text = banner(gateway, greeted);
  expect(text).toContain('\nTry, with the key in GATEWAY_API_KEY:\n');
  expect(text).not.toContain('hush');
});
