// Requests to the third repository host other than comments: write permissions and verdicts.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RepoHostCApi } from '../../../../../../actors/platforms/repository-hosts/repohostc/api.ts';
import { idOfUser } from '../../../../../fixtures/repositories/repohostc-payloads.ts';
import { RepoHostCPlatform } from '../../../../../fixtures/repositories/repohostc-platform.ts';

const place = { repository: 'acme/shop', sign: '!', number: 5 } as const;
const { signal } = new AbortController();
const search = { mark: '', createdAt: 0, signal };

let platform: RepoHostCPlatform;
let api: RepoHostCApi;
beforeEach(async () => {
  platform = await new RepoHostCPlatform().start();
  api = new RepoHostCApi(`${platform.url}/2.0`, 'the-token', 0);
});
afterEach(() => platform.stop());

describe('write permission', () => {
  const mayWrite = (name: string) => api.mayWrite('acme/shop', { name, id: idOfUser(name) }, signal);

  test("is granted to users in the host's list, on any page", async () => {
    platform.writers.add('ann').add('bob').add('carl');
    platform.rights.set('eve', 'read');
    platform.pageSize = 1;
    expect(await mayWrite('carl')).toBe(true);
    expect(await mayWrite('eve')).toBe(false);
    expect(await mayWrite('stranger')).toBe(false);
    const [request] = platform.requestsFor('GET', /permissions/);
    expect(request?.path).toBe('/2.0/workspaces/acme/permissions/repositories/shop');
    expect(request?.query.get('q')).toBe('permission>"read"');
  });

  test('is looked up by name if the list is forbidden; if not found, it is unknown', async () => {
    platform.mayAdministrate = false;
    platform.maySeeRights = true;
    platform.rights.set('ann', 'write').set('eve', 'read');
    expect(await mayWrite('ann')).toBe(true);
    for (const name of ['eve', 'stranger'])
      await expect(mayWrite(name)).rejects.toMatchObject({
        isFinal: true,
        platformCode: 403,
        message: expect.stringContaining('the token needs admin permission for acme/shop'),
      });
  });

  test.each([
    [{ status: 401 }, true, /answered 401.*the token is invalid/],
    [{ status: 404 }, true, /answered 404.*needs admin permission for acme\/shop/],
    [{ status: 502 }, false, /^the writers of acme\/shop: .* answered 502$/],
    [{ status: 429 }, false, /answered 429/],
  ])('is unknown after a refusal with %j', async (refusal, isFinal, message) => {
    void platform.refuse(/permissions/, refusal);
    await expect(mayWrite('ann')).rejects.toMatchObject({ isFinal, message: expect.stringMatching(message) });
  });

  test('is searched on a bounded number of pages', async () => {
    platform.pageSize = 1;
    for (let i = 0; i < 30; i += 1) platform.writers.add(`writer-${i}`);
    await expect(mayWrite('writer-29')).rejects.toMatchObject({ isFinal: true });
    expect(platform.requestsFor('GET', /permissions/)).toHaveLength(20);
  });
});

describe('the verdict on a pull request', () => {
  const verdicts = () => [...(platform.states.get('acme/shop!5') ?? [])];

  test.each([
    ['approve', 'approved'],
    ['request_changes', 'changes_requested'],
  ] as const)('is %s, and is set once', async (verdict, state) => {
    const id = await api.reviews.post(place, verdict, '', signal);
    expect(id).toBe(`${state} by ${idOfUser('the-bot')}`);
    expect(verdicts()).toEqual([['the-bot', state]]);
    expect(await api.reviews.find(place, verdict, search)).toBe(id);
    const other = verdict === 'approve' ? 'request_changes' : 'approve';
    expect(await api.reviews.find(place, other, search)).toBeUndefined();
  });

  test('that is already set is no failure', async () => {
    platform.states.set('acme/shop!5', new Map([['the-bot', 'approved']]));
    expect(await api.reviews.post(place, 'approve', '', signal)).toBe('approved');
  });

  test('by another user is not taken for that of the gateway', async () => {
    platform.states.set('acme/shop!5', new Map([['ann', 'approved']]));
    api.own.learn();
    await expect.poll(() => api.own.isName(idOfUser('the-bot'))).toBe(true);
    expect(await api.reviews.find(place, 'approve', search)).toBeUndefined();
  });

  test('fails permanently after the merge', async () => {
    platform.merged.add('acme/shop!5');
    await expect(api.reviews.post(place, 'request_changes', '', signal)).rejects.toMatchObject({
      isFinal: true,
      platformCode: 400,
    });
  });

  test('fails if the response is a web page instead of JSON', async () => {
    void platform.refuse(/^POST .*approve$/, { status: 200, message: 'a page' });
    await expect(api.reviews.post(place, 'approve', '', signal)).rejects.toMatchObject({ isFinal: true });
  });
});
