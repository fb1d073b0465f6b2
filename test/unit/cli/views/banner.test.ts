import { expect, test } from 'vitest';
import type { Gateway } from '../../../../actors/gateway/gateway.ts';
import { banner } from '../../../../src/cli/views/banner.ts';

function gatewayOf(...args: string[]): Gateway {
  const entry = { runtime: 'stdio', enabled: true, command: 'node', args };
  const servers = { all: () => [{ id: 'a', entry }] };
  const redactor = { redact: (text: string) => text };
  return { version: '1', config: { api_key: '' }, servers, redactor } as unknown as Gateway;
}

const home = { host: '127.0.0.1', port: 80 };

test('a server takes one line of the greeting, whatever its arguments', () => {
  const lines = banner(gatewayOf('-e', 'one\ntwo\u001b[2J'), home, 'node:http', []).split('\n');
  expect(lines.slice(0, 3)).toEqual([
    'actor-gateway 1 at http://127.0.0.1:80 (node:http), 1 server:',
    '  a  starts on demand  node -e one two',
    'Try:',
  ]);
});

test.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', 'localhost'],
  ['::1', '[::1]'],
])('whoever listens at %s is reached by this machine at %s', (host, shown) => {
  expect(banner(gatewayOf(), { host, port: 80 }, 'node:http', [])).toContain(
    `curl -s http://${shown}:80/servers`,
  );
});
