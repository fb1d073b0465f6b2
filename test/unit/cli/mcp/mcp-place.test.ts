import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../../src/cli/api/target-options.ts';
import { type PlaceOptions, withPlace } from '../../../../src/cli/mcp/mcp-place.ts';

const placed = (options: PlaceOptions, server?: string) =>
  withPlace(options, server, async ({ url, nameOf }) => [url.href, nameOf('read')]);
const url = 'http://127.0.0.1:8080/behind/';

describe('where servers are found', () => {
  test('is the address of all, of one or of a profile, with the names that tools have there', async () => {
    expect(await placed({ url })).toEqual([`${url}mcp`, 'read']);
    expect(await placed({ url }, 'my files')).toEqual([`${url}mcp/my%20files`, 'read']);
    expect(await placed({ url, profile: 'work' })).toEqual([`${url}mcp/@work`, 'read']);
    expect(await placed({ url, profile: 'work' }, 'files')).toEqual([`${url}mcp/@work`, 'files__read']);
  });

  test('is one place: a catalog of its own goes with no other, and a profile has a name', async () => {
    await expect(placed({ catalog: 'catalog.yaml', url })).rejects.toBeInstanceOf(UsageError);
    await expect(placed({ url, profile: '../x' })).rejects.toBeInstanceOf(UsageError);
  });
});
