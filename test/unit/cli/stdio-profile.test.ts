// The option --profile of gateway-stdio: profiles in a configuration or of a running gateway.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parseStdioOptions } from '../../../src/cli/stdio-options.ts';

const messages: string[] = [];
beforeEach(() => {
  messages.length = 0;
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => messages.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function targetOf(...args: string[]) {
  const parsed = parseStdioOptions(args);
  return parsed.do === 'exit' ? messages.join('') : parsed.options.target;
}

test.each([
  ['http://127.0.0.1:8080/mcp', 'http://127.0.0.1:8080/mcp/@work'],
  ['http://127.0.0.1:8080/mcp/', 'http://127.0.0.1:8080/mcp/@work'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/mcp/@work'],
  ['https://example.com/tools/mcp?tenant=a/b#c', 'https://example.com/tools/mcp/@work?tenant=a/b#c'],
  [`\${GATEWAY_URL}/mcp`, `\${GATEWAY_URL}/mcp/@work`],
])('the profile of a gateway at %s has the address %s', (url, address) => {
  expect(targetOf('--url', url, '--profile', 'work')).toMatchObject({ url: address });
});

test.each(['http://h/mcp/files', 'http://h/mcp/@home', 'http://h/other', 'h:8080'])(
  'a profile is refused for %s, which is not the address of a gateway',
  (url) => {
    expect(targetOf('--url', url, '--profile', 'work')).toContain('--profile requires a gateway address');
  },
);

test('the command `stdio` accepts --profile with a configuration, but not together with a server', () => {
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
