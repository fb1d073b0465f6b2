import { expect, test } from 'vitest';
import type { GatewayRuntime } from '../../../../actors/gateway/gateway.ts';
import { banner } from '../../../../src/cli/views/banner.ts';

function gatewayOf(...args: string[]): GatewayRuntime {
  const entry = { runtime: 'stdio', enabled: true, command: 'node', args };
  const servers = { all: () => [{ id: 'a', entry }] };
  const redactor = { redact: (text: string) => text };
  return { version: '1', config: { api_key: '' }, mcp: { servers }, redactor } as unknown as GatewayRuntime;
}

const home = { host: '127.0.0.1', port: 80 };
const bannerInput = {
  address: home,
  kind: 'node:http',
  hasInspector: false,
  triggers: [],
  targets: { agents: [], fleets: [], flows: [] },
  command: (commandLine: string) => `actor-gateway ${commandLine}`,
};

test('a server has one line in the banner, whatever its arguments', () => {
  const lines = banner(gatewayOf('-e', 'one\ntwo\u001b[2J'), bannerInput).split('\n');
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
])('a listener on %s is shown with the local address %s', (host, address) => {
  const text = banner(gatewayOf(), { ...bannerInput, address: { host, port: 80 }, hasInspector: true });
  expect(text).toMatch(/\nOr open (\S+) in a browser\.$/);
  expect(text).toContain(`open http://${address}:80/ in`);
});

test('the banner of a gateway with an API key names the variable of the key, and does not show the key', () => {
  const gateway = { ...gatewayOf(), config: { api_key: 'hush-hush-4711' } } as unknown as GatewayRuntime;
  const text = banner(gateway, bannerInput);
  expect(text).toContain('\nTry, with the key in GATEWAY_API_KEY:\n');
  expect(text).not.toContain('hush');
});

test('the banner of a gateway without servers lists its agents and fleets, with a command to try', () => {
  const gateway = { ...gatewayOf(), mcp: { servers: { all: () => [] } } } as unknown as GatewayRuntime;
  const targets = {
    agents: [
      { name: 'helper', model: 'google:x', runtime: { kind: 'model' } },
      { name: 'desk', model: undefined, runtime: { kind: 'http' } },
    ],
    fleets: [{ name: 'review' }],
    flows: [],
  } as unknown as typeof bannerInput.targets;
  expect(banner(gateway, { ...bannerInput, targets }).split('\n')).toEqual([
    'actor-gateway 1 at http://127.0.0.1:80 (node:http), 2 agents, 1 fleet:',
    '  helper  Agent  google:x',
    '  desk    Agent  http',
    '  review  Fleet',
    'Try:',
    '  actor-gateway agents run helper --input "hello"',
  ]);
});
