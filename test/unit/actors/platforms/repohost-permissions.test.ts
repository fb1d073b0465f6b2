// Write permission of users, from the host's API.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RepoHostApi } from '../../../../actors/platforms/repository-hosts/repohost/api.ts';
import { RepoRestHost } from '../../../fixtures/repositories/repo-rest-host.ts';

const REPOSITORY = 'acme/shop';
const { signal } = new AbortController();

let repoHost: RepoRestHost;
let api: RepoHostApi;
beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
  api = new RepoHostApi(repoHost.url, 'ghp_the_token', 60_000);
});
afterEach(() => repoHost.stop());

const mayWrite = (name: string) => api.mayWrite(REPOSITORY, { name, id: name }, signal);

test.each([
  ['admin', true],
  ['maintain', true],
  ['write', true],
  ['triage', false],
  ['read', false],
  ['none', false],
])('a user with the permission %s may write: %s', async (permission, expected) => {
  repoHost.permissions.set('ada', permission);
  expect(await mayWrite('ada')).toBe(expected);
});

test('unknown users, apps and bots may not write', async () => {
  for (const name of ['nobody', 'dependabot[bot]', 'a/../b?c']) expect(await mayWrite(name)).toBe(false);
  expect(repoHost.requests.map(({ path }) => path).filter((path) => path.endsWith('/permission'))).toEqual([
    '/repos/acme/shop/collaborators/nobody/permission',
    '/repos/acme/shop/collaborators/dependabot%5Bbot%5D/permission',
    '/repos/acme/shop/collaborators/a%2F..%2Fb%3Fc/permission',
  ]);
});

test.each(['..', '.', ''])('the user name %j is rejected before any request', async (name) => {
  await expect(mayWrite(name)).rejects.toThrow(RangeError);
  expect(repoHost.requests).toEqual([]);
});

describe('the API token of a repository host', () => {
  test.each([
    [401, 'the token is invalid or expired'],
    [403, 'the token needs write access to acme/shop (fine-grained: Metadata, read)'],
  ])(
    'that is refused with status %i is a permanent error that names the missing right',
    async (status, right) => {
      void repoHost.refuse(/permission$/, { status });
      await expect(mayWrite('ada')).rejects.toMatchObject({
        isFinal: true,
        platformCode: status,
        message: expect.stringContaining(right),
      });
    },
  );

  test('without access to the repository is a permanent error', async () => {
    repoHost.hidden.add(REPOSITORY);
    await expect(mayWrite('ada')).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('Metadata, read'),
    });
  });
});

test.each([
  [{ status: 502 }, { isFinal: false, isRateLimited: false }],
  [
    { status: 429, headers: { 'retry-after': '7' } },
    { isRateLimited: true, retryAfterMs: 7_000 },
  ],
  [
    { status: 403, headers: { 'retry-after': '7' } },
    { isRateLimited: true, isFinal: false },
  ],
  [{ status: 0, isCut: true }, { isFinal: false }],
])('a temporary failure of a permission check does not count as a denial: %j', async (refusal, expected) => {
  void repoHost.refuse(/permission$/, refusal);
  await expect(mayWrite('ada')).rejects.toMatchObject(expected);
});

test('a response to a permission check that contains no permission is an error', async () => {
  void repoHost.refuse(/permission$/, { status: 200 });
  await expect(mayWrite('ada')).rejects.toMatchObject({
    isFinal: false,
    message: expect.stringContaining('contains no permission'),
  });
});
