import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../../src/cli/api/target-options.ts';
import { type PlaceOptions, withPlace } from '../../../../src/cli/mcp/mcp-place.ts';

const placed = (options: PlaceOptions, server?: string) =>
  withPlace(options, server, async ({ url }) => url.href);
const url = 'http://127.0.0.1:8080/behind/';

describe('where servers are found', () => {
  test('is the address of all, of one or of a profile', async () => {
    expect(await placed({ url })).toBe(`${url}mcp`);
    expect(await placed({ url }, 'my files')).toBe(`${url}mcp/my%20files`);
    expect(await placed({ url, profile: 'work' })).toBe(`${url}mcp/@work`);
    expect(await placed({ url, profile: 'work' }, 'files')).toBe(`${url}mcp/@work`);
  });

  test('refuses a profile that is no name', async () => {
    await expect(placed({ url, profile: '../x' })).rejects.toBeInstanceOf(UsageError);
  });
});
