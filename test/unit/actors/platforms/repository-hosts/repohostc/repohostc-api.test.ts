// What the third repository host is asked besides comments: who may write, and what is said of a request.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RepoHostCApi } from '../../../../../../actors/platforms/repository-hosts/repohostc/api.ts';
import { idOfUser } from '../../../../../fixtures/repositories/repohostc-payloads.ts';
import { RepoHostCPlatform } from '../../../../../fixtures/repositories/repohostc-platform.ts';

const place = { repository: 'acme/shop', sign: '!', number: 5 } as const;
const { signal } = new AbortController();
const search = { mark: '', madeAt: 0, signal };

let platform: RepoHostCPlatform;
let api: RepoHostCApi;
beforeEach(async () => {
  platform = await new RepoHostCPlatform().start();
  api = new RepoHostCApi(`${platform.url}/2.0`, 'the-token', 0);
});
afterEach(() => platform.stop());

describe('who may write', () => {
  const mayWrite = (name: string) => api.mayWrite('acme/shop', { name, id: idOfUser(name) }, signal);

  test('is whom the host lists, on whatever page', async () => {
    platform.writers.add('ann').add('bob').add('carl');
    platform.rights.set('eve', 'read');
    platform.pageSize = 1;
    expect(await mayWrite('carl')).toBe(true);
    expect(await mayWrite('eve')).toBe(false);
    expect(await mayWrite('stranger')).toBe(false);
    const [asked] = platform.askedFor('GET', /permissions/);
    expect(asked?.path).toBe('/2.0/workspaces/acme/permissions/repositories/shop');
    expect(asked?.query.get('q')).toBe('permission>"read"');
  });

  test('is by name, where the token may not see the list; that somebody has no right by name proves nothing', async () => {
    platform.mayAdministrate = false;
    platform.maySeeRights = true;
    platform.rights.set('ann', 'write').set('eve', 'read');
    expect(await mayWrite('ann')).toBe(true);
    for (const name of ['eve', 'stranger'])
      await expect(mayWrite(name)).rejects.toMatchObject({
        isFinal: true,
        platformCode: 403,
        message: expect.stringContaining('the token must be one that may administrate acme/shop'),
      });
  });

  test.each([
    [{ status: 401 }, true, /answered 401 .*the token is not valid/],
    [{ status: 404 }, true, /answered 404 .*must be one that may administrate acme\/shop/],
    [{ status: 502 }, false, /answered 502 to who may write to acme\/shop$/],
    [{ status: 429 }, false, /answered 429/],
  ])('is not known to a token that is refused with %j', async (refusal, isFinal, message) => {
    void platform.refuse(/permissions/, refusal);
    await expect(mayWrite('ann')).rejects.toMatchObject({ isFinal, message: expect.stringMatching(message) });
  });

  test('is not looked for without end', async () => {
    platform.pageSize = 1;
    for (let i = 0; i < 30; i += 1) platform.writers.add(`writer-${i}`);
    await expect(mayWrite('writer-29')).rejects.toMatchObject({ isFinal: true });
    expect(platform.askedFor('GET', /permissions/)).toHaveLength(20);
  });
});

describe('what is said of a request', () => {
  const said = () => [...(platform.states.get('acme/shop!5') ?? [])];

  test.each([
    ['approve', 'approved'],
    ['request_changes', 'changes_requested'],
  ] as const)('is %s, once', async (verdict, state) => {
    const id = await api.reviews.post(place, verdict, '', signal);
    expect(id).toBe(`${state} by ${idOfUser('the-bot')}`);
    expect(said()).toEqual([['the-bot', state]]);
    expect(await api.reviews.find(place, verdict, search)).toBe(id);
    const other = verdict === 'approve' ? 'request_changes' : 'approve';
    expect(await api.reviews.find(place, other, search)).toBeUndefined();
  });

  test('that the host has taken already is no failure', async () => {
    platform.states.set('acme/shop!5', new Map([['the-bot', 'approved']]));
    expect(await api.reviews.post(place, 'approve', '', signal)).toBe('approved');
  });

  test('by others is none of ours', async () => {
    platform.states.set('acme/shop!5', new Map([['ann', 'approved']]));
    api.own.learn();
    await expect.poll(() => api.own.is(idOfUser('the-bot'))).toBe(true);
    expect(await api.reviews.find(place, 'approve', search)).toBeUndefined();
  });

  test('is refused for good once it is merged', async () => {
    platform.merged.add('acme/shop!5');
    await expect(api.reviews.post(place, 'request_changes', '', signal)).rejects.toMatchObject({
      isFinal: true,
      platformCode: 400,
    });
  });

  test('is not said by whatever answers in the name of the host', async () => {
    void platform.refuse(/^POST .*approve$/, { status: 200, message: 'a page' });
    await expect(api.reviews.post(place, 'approve', '', signal)).rejects.toMatchObject({ isFinal: true });
  });
});
