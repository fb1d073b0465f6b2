// Checks the fake issue tracker with an independent client.
// The invariants IT1 and IT2 are in test/fixtures/issue-tracker/issue-tracker.ts.

import { Version3Client } from 'jira.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IssueTracker } from '../fixtures/issue-tracker/issue-tracker.ts';
import { refusal } from '../fixtures/issue-tracker/refusal.ts';

const credentials = { email: 'agent@example.com', apiToken: 'token-of-the-tests' };
const person = { accountId: '5b10a2844c20165700ede21g', displayName: 'Mia' };
const documentOf = (...texts: readonly string[]) => ({
  version: 1 as const,
  type: 'doc' as const,
  content: texts.map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] })),
});

let tracker: IssueTracker;
let client: Version3Client;
beforeAll(async () => {
  tracker = await new IssueTracker(credentials).start();
  client = clientWith(credentials.apiToken);
});
afterAll(() => tracker.stop());

const clientWith = (apiToken: string) =>
  new Version3Client({
    host: tracker.url,
    authentication: { basic: { email: credentials.email, apiToken } },
  });

describe('the fake issue tracker', () => {
  test('accepts a comment with properties and returns them (IT1)', async () => {
    tracker.addIssue('OPS-1');
    const properties = [{ key: 'mark', value: { row: 'a' } }];
    const comment = await client.issueComments.addComment({
      issueIdOrKey: 'OPS-1',
      comment: documentOf('Hello.'),
      properties,
    });
    expect(comment).toMatchObject({ body: documentOf('Hello.'), author: tracker.user });
    const { comments } = await client.issueComments.getComments({
      issueIdOrKey: 'OPS-1',
      expand: 'properties',
    });
    expect(comments).toMatchObject([{ id: comment.id, properties }]);
    const list = await client.issueComments.getCommentsByIds({
      ids: [Number(comment.id)],
      expand: 'properties',
    });
    expect(list).toMatchObject({ values: [{ id: comment.id, properties }] });
    const commentId = comment.id ?? '';
    const keys = await client.issueCommentProperties.getCommentPropertyKeys({ commentId });
    expect(keys).toMatchObject({ keys: [{ key: 'mark' }] });
    const property = { commentId, propertyKey: 'mark' };
    expect(await client.issueCommentProperties.getCommentProperty(property)).toEqual(properties[0]);
    await expect(
      client.issueCommentProperties.getCommentProperty({ commentId, propertyKey: 'other' }),
    ).rejects.toMatchObject({ status: 404 });
  });

  test('returns comments in pages, newest first on request (IT2)', async () => {
    tracker.addIssue('OPS-2');
    for (const text of ['one', 'two', 'three']) tracker.addComment('OPS-2', documentOf(text), person);
    const query = { issueIdOrKey: 'OPS-2', orderBy: '-created' } as const;
    const page = await client.issueComments.getComments({ ...query, maxResults: 2 });
    expect(page).toMatchObject({ startAt: 0, maxResults: 2, total: 3 });
    expect(page.comments?.map(({ body }) => body)).toEqual([documentOf('three'), documentOf('two')]);
    expect(page.comments?.[0]?.properties).toBeUndefined();
    const next = await client.issueComments.getComments({ ...query, startAt: 2 });
    expect(next.comments?.map(({ body }) => body)).toEqual([documentOf('one')]);
    tracker.pageSize = 1;
    const small = await client.issueComments.getComments({ ...query, maxResults: 50 });
    tracker.pageSize = 100;
    expect(small).toMatchObject({ maxResults: 1, total: 3, comments: [{ body: documentOf('three') }] });
  });

  test('updates a comment', async () => {
    tracker.addIssue('OPS-3');
    const { id } = tracker.addComment('OPS-3', documentOf('before'), person, [{ key: 'mark', value: 1 }]);
    const changed = await client.issueComments.updateComment({
      issueIdOrKey: 'OPS-3',
      id,
      body: documentOf('after'),
    });
    expect(changed).toMatchObject({ id, body: documentOf('after') });
    expect(tracker.commentsOf('OPS-3')).toMatchObject([{ properties: [{ key: 'mark', value: 1 }] }]);
    tracker.deleteComment('OPS-3', id);
    await expect(
      client.issueComments.updateComment({ issueIdOrKey: 'OPS-3', id, body: documentOf('after') }),
    ).rejects.toMatchObject({ status: 404 });
  });

  test("returns the token's user, and the issues that match queries", async () => {
    expect(await client.myself.getCurrentUser()).toMatchObject(tracker.user);
    const id = Number(tracker.addIssue('OPS-4'));
    tracker.queries.set('project = OPS', (issue) => issue === id);
    tracker.queries.set('nonsense', 'The query is wrong.');
    const jqls = ['project = OPS', 'project = X', 'nonsense'];
    expect(await client.issueSearch.matchIssues({ issueIds: [id, 1], jqls })).toEqual({
      matches: [
        { matchedIssues: [id], errors: [] },
        { matchedIssues: [], errors: [] },
        { matchedIssues: [], errors: ['The query is wrong.'] },
      ],
    });
  });

  test.each([
    ['an unknown issue', { issueIdOrKey: 'OPS-999', comment: documentOf('x') }, 404],
    ['an empty text', { issueIdOrKey: 'OPS-5', comment: documentOf('') }, 400],
    ['a blank text', { issueIdOrKey: 'OPS-5', comment: documentOf(' ') }, 400],
    ['a text above the limit', { issueIdOrKey: 'OPS-5', comment: documentOf('x'.repeat(32_767)) }, 400],
  ])('refuses %s (IT1)', async (_, parameters, status) => {
    tracker.addIssue('OPS-5');
    await expect(client.issueComments.addComment(parameters)).rejects.toMatchObject({ status });
    expect(tracker.commentsOf('OPS-5')).toEqual([]);
  });

  test('refuses a wrong token, and returns the failures that a test requests', async () => {
    await expect(clientWith('another').myself.getCurrentUser()).rejects.toMatchObject({ status: 401 });
    tracker.fail({ kind: 'refuse', refusal: refusal(429, []) }, 'GET', /myself$/);
    await expect(client.myself.getCurrentUser()).rejects.toMatchObject({ status: 429 });
    tracker.addIssue('OPS-6');
    tracker.fail({ kind: 'cut', isTaken: true }, 'POST', /OPS-6\/comment$/);
    const comment = { issueIdOrKey: 'OPS-6', comment: documentOf('x') };
    await expect(client.issueComments.addComment(comment)).rejects.toThrow();
    expect(tracker.commentsOf('OPS-6')).toHaveLength(1);
  });
});
