// Approvals of merge requests: given once, found again, and told from a token that is none.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/outbound/delivery-error.ts';
import { RepoHostBApi } from '../../../../../actors/sources/repohostb/repohostb-api.ts';
import {
  type Answer,
  type Asked,
  FakeRepoApi,
  jsonAnswer,
} from '../../../../fixtures/repositories/fake-repo-api.ts';

const place = { repository: 'acme/team/shop', sign: '!', number: 5 } as const;
const REQUEST = '/projects/acme%2Fteam%2Fshop/merge_requests/5';
const { signal } = new AbortController();
const search = { mark: 'no mark', madeAt: 1, signal };

/** As the host answers: 401 for who has approved, and for who may not. */
class Approvals extends FakeRepoApi {
  readonly approvedBy = ['ann'];
  mayApprove = true;

  protected override route({ method, path }: Asked): Answer {
    if (path === '/user') return jsonAnswer(200, { id: 1, username: this.login });
    if (path === `${REQUEST}/approvals`)
      return jsonAnswer(200, { approved_by: this.approvedBy.map((username) => ({ user: { username } })) });
    if (method !== 'POST' || path !== `${REQUEST}/approve`) return jsonAnswer(404, { message: '404' });
    if (!this.mayApprove || this.approvedBy.includes(this.login))
      return jsonAnswer(401, { message: '401 Unauthorized' });
    this.approvedBy.push(this.login);
    return jsonAnswer(201, { iid: 5 });
  }
}

let rest: Approvals;
let api: RepoHostBApi;
beforeEach(async () => {
  rest = new Approvals();
  await rest.start();
  api = new RepoHostBApi(rest.url, 'glpat-of-the-tests', 60_000);
});
afterEach(() => rest.stop());

const post = (of = api) => of.reviews.post(place, 'approve', '', signal);

test('an approval is given, and found again', async () => {
  expect(await api.reviews.find(place, 'approve', search)).toBeUndefined();
  expect(await post()).toBe('approved');
  expect(rest.approvedBy).toEqual(['ann', rest.login]);
  expect(await api.reviews.find(place, 'approve', search)).toBe('approved');
});

test('one that stands there already is as good as given', async () => {
  rest.approvedBy.push(rest.login);
  expect(await post()).toBe('approved');
});

test('who may not approve gives none', async () => {
  rest.mayApprove = false;
  expect(await post()).toBeUndefined();
});

test('a token that is none is told as that', async () => {
  void rest.refuse(/./, { status: 401 }, Number.POSITIVE_INFINITY);
  await expect(post()).rejects.toMatchObject({ isFinal: true, platformCode: 401 });
});

test.each([
  [{ status: 502 }, false],
  [{ status: 0, isCut: true }, false],
  [{ status: 403 }, true],
  [{ status: 200 }, true],
])('what else is answered is no approval: %j', async (refusal, isFinal) => {
  void rest.refuse(/approve$/, refusal);
  const error: unknown = await post().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error).toMatchObject({ isFinal });
});
