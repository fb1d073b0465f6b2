import { describe, expect, test } from 'vitest';
import { CommandLineError } from '../../../../src/cli/api/target-options.ts';
import { type EndpointOptions, withEndpoint } from '../../../../src/cli/mcp/endpoint.ts';

const placeFor = (options: EndpointOptions, server?: string) =>
  withEndpoint(options, server, async ({ url }) => url.href);
const url = 'http://127.0.0.1:8080/behind/';

describe('the address of MCP requests', () => {
  test('depends on the target: all servers, one server, or a profile', async () => {
    expect(await placeFor({ url })).toBe(`${url}mcp`);
    expect(await placeFor({ url }, 'my files')).toBe(`${url}mcp/my%20files`);
    expect(await placeFor({ url, profile: 'work' })).toBe(`${url}mcp/@work`);
    expect(await placeFor({ url, profile: 'work' }, 'files')).toBe(`${url}mcp/@work`);
  });

  test('refuses an invalid profile name', async () => {
    await expect(placeFor({ url, profile: '../x' })).rejects.toBeInstanceOf(CommandLineError);
  });
});
