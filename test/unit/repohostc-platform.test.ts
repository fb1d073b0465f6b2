// Checks the fake repository host RepoHostC with an independent client.

import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RepoHostCPlatform } from '../fixtures/repositories/repohostc-platform.ts';

interface Page {
  readonly values?: readonly Members[];
}
interface Members extends Page {
  // biome-ignore lint/suspicious/noExplicitAny: the tests inspect the host's shapes.
  readonly [name: string]: any;
}
type Call = (parameters: object) => Promise<{ readonly status: number; readonly data: Members }>;
interface Client {
  readonly pullrequests: Readonly<
    Record<
      | 'createApproval'
      | 'createComment'
      | 'deleteComment'
      | 'get'
      | 'getComment'
      | 'listComments'
      | 'updateComment',
      Call
    >
  >;
  readonly user: { readonly get: Call };
  readonly workspaces: { readonly listPermissionsForRepository: Call };
  hasNextPage(page: Page): boolean;
  readonly getNextPage: Call;
}

// Loaded with require, because the types of the client do not compile with our options.
const require = createRequire(import.meta.url);
const { Bitbucket } = require('bitbucket') as {
  readonly Bitbucket: new (options: object) => Client;
};

const at = { workspace: 'acme', repo_slug: 'shop' };
const request = { ...at, pull_request_id: 7 };

let host: RepoHostCPlatform;
let client: ReturnType<typeof clientWith>;
beforeEach(async () => {
  host = await new RepoHostCPlatform().start();
  client = clientWith({ token: 'the-token' });
});
afterEach(() => host.stop());

function clientWith(
  auth: { readonly token: string } | { readonly username: string; readonly password: string },
) {
  return new Bitbucket({ baseUrl: `${host.url}/2.0`, auth, notice: false });
}

const comment = (raw: string) => ({ type: 'pullrequest_comment', content: { raw } });

describe('the fake repository host', () => {
  test('creates, returns, updates and deletes a comment, which it keeps marked as deleted', async () => {
    const { data, status } = await client.pullrequests.createComment({
      ...request,
      _body: comment('Hello.'),
    });
    expect(status).toBe(201);
    expect(data).toMatchObject({ content: { raw: 'Hello.' }, user: { nickname: 'the-bot' }, deleted: false });
    const commentRequest = { ...request, comment_id: data.id ?? 0 };
    await client.pullrequests.updateComment({ ...commentRequest, _body: comment('Bye.') });
    expect((await client.pullrequests.getComment(commentRequest)).data).toMatchObject({
      content: { raw: 'Bye.' },
    });
    expect((await client.pullrequests.deleteComment(commentRequest)).status).toBe(204);
    expect((await client.pullrequests.getComment(commentRequest)).data).toMatchObject({
      deleted: true,
      content: { raw: '' },
    });
    await expect(
      client.pullrequests.updateComment({ ...commentRequest, _body: comment('Again.') }),
    ).rejects.toMatchObject({ status: 404 });
  });

  test('returns comments in pages with a link to the next page, in the requested order', async () => {
    host.elsewhere = host.url;
    for (const raw of ['one', 'two', 'three'])
      await client.pullrequests.createComment({ ...request, _body: comment(raw) });
    const sorted = { ...request, sort: '-created_on', pagelen: 2 };
    const { data: first } = await client.pullrequests.listComments(sorted);
    expect(first.values?.map(({ content }) => content?.raw)).toEqual(['three', 'two']);
    expect(client.hasNextPage(first)).toBe(true);
    const { data: last } = await client.getNextPage(first);
    expect(last.values?.map(({ content }) => content?.raw)).toEqual(['one']);
    expect(client.hasNextPage(last)).toBe(false);
  });

  test("returns the token's user, except for an access token", async () => {
    const user = clientWith({ username: 'ann@example.com', password: 'an-api-token' });
    expect((await user.user.get({})).data).toMatchObject({ nickname: 'the-bot', uuid: '{user-the-bot}' });
    expect(host.requests.at(-1)?.authorization).toMatch(/^Basic /);
    host.isAccessToken = true;
    await expect(client.user.get({})).rejects.toMatchObject({
      status: 403,
      error: { type: 'error', error: { message: expect.any(String) } },
    });
  });

  test('accepts an approval once and shows it in the request', async () => {
    const { data } = await client.pullrequests.createApproval(request);
    expect(data).toMatchObject({ approved: true, user: { uuid: '{user-the-bot}' } });
    await expect(client.pullrequests.createApproval(request)).rejects.toMatchObject({ status: 409 });
    expect((await client.pullrequests.get(request)).data.participants).toContainEqual(
      expect.objectContaining({ state: 'approved', user: expect.objectContaining({ nickname: 'the-bot' }) }),
    );
  });

  test('returns write permissions to administrators', async () => {
    host.writers.add('ann');
    host.rights.set('bob', 'read');
    const { data } = await client.workspaces.listPermissionsForRepository(at);
    expect(data.values?.map(({ permission, user }) => [user?.nickname, permission])).toEqual([
      ['bob', 'read'],
      ['ann', 'write'],
    ]);
    host.mayAdministrate = false;
    await expect(client.workspaces.listPermissionsForRepository(at)).rejects.toMatchObject({ status: 403 });
  });

  test('refuses blank comments, and requests without a token', async () => {
    await expect(
      client.pullrequests.createComment({ ...request, _body: comment('  ') }),
    ).rejects.toMatchObject({ status: 400 });
    const anonymousClient = new Bitbucket({ baseUrl: `${host.url}/2.0`, notice: false });
    await expect(anonymousClient.user.get({})).rejects.toMatchObject({ status: 401 });
  });
});
