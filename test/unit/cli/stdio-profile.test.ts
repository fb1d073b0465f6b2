// --profile of gateway-stdio: which profile of a configuration, and where a gateway that runs has it.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parseStdioOptions } from '../../../src/cli/stdio-options.ts';

const said: string[] = [];
beforeEach(() => {
  said.length = 0;
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function targetOf(...args: string[]) {
  const parsed = parseStdioOptions(args);
  return parsed.do === 'exit' ? said.join('') : parsed.options.target;
}

test.each([
  ['http://127.0.0.1:8080/mcp', 'http://127.0.0.1:8080/mcp/@work'],
  ['http://127.0.0.1:8080/mcp/', 'http://127.0.0.1:8080/mcp/@work'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/mcp/@work'],
  ['https://example.com/tools/mcp?tenant=a/b#c', 'https://example.com/tools/mcp/@work?tenant=a/b#c'],
  [`\${GATEWAY_URL}/mcp`, `\${GATEWAY_URL}/mcp/@work`],
])('of a gateway at %s it is at %s', (url, address) => {
  expect(targetOf('--url', url, '--profile', 'work')).toMatchObject({ url: address });
});

test.each(['http://h/mcp/files', 'http://h/mcp/@home', 'http://h/other', 'h:8080'])(
  'of what is no address of a gateway, as %s, there is none',
  (url) => {
    expect(targetOf('--url', url, '--profile', 'work')).toContain(
      '--profile goes with the address of a gateway',
    );
  },
);

test('of a configuration it goes on as it is, and not beside a server', () => {
  const config = ['--config', 'gateway.yaml'];
  expect(targetOf(...config, '--profile', 'work')).toEqual({
    config: 'gateway.yaml',
    server: undefined,
    profile: 'work',
  });
  expect(targetOf(...config, '--profile', 'work', '--server', 'files')).toContain(
    "'--server <id>' cannot be used with option '--profile <name>'",
  );
});
