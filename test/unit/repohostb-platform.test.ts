// Checks the fake repository host RepoHostB with an independent client. Quick actions are compared with
// independent knowledge of Markdown.

import { Gitlab } from '@gitbeaker/rest';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { quickActionsIn, RepoHostBPlatform } from '../fixtures/repositories/repohostb-platform.ts';

const PROJECT = 'acme/team/shop';

let host: RepoHostBPlatform;
let client: InstanceType<typeof Gitlab>;
beforeEach(async () => {
  host = await new RepoHostBPlatform().start();
  client = new Gitlab({ host: host.url, token: 'the-token' });
});
afterEach(() => host.stop());

describe('the fake repository host', () => {
  test("returns the token's user, with either header", async () => {
    expect(await client.Users.showCurrentUser()).toMatchObject({ username: 'the-bot' });
    const other = new Gitlab({ host: host.url, oauthToken: 'the-token' });
    expect(await other.Users.showCurrentUser()).toMatchObject({ username: 'the-bot' });
    const none = await fetch(`${host.apiUrl}/user`);
    expect(none.status).toBe(401);
  });

  test('keeps notes of merge requests and issues separate, and edits them', async () => {
    const note = await client.MergeRequestNotes.create(PROJECT, 5, 'one');
    await client.IssueNotes.create(PROJECT, 5, 'two');
    expect(note).toMatchObject({ body: 'one', author: { username: 'the-bot' }, system: false });
    await client.MergeRequestNotes.edit(PROJECT, 5, note.id, { body: 'three' });
    expect(await client.MergeRequestNotes.all(PROJECT, 5)).toMatchObject([{ id: note.id, body: 'three' }]);
    expect(await client.IssueNotes.all(PROJECT, 5)).toMatchObject([{ body: 'two' }]);
    expect(host.requests.every(({ path }) => !path.includes('acme/team'))).toBe(true);
  });

  test('returns notes in pages, newest first', async () => {
    for (let n = 1; n <= 5; n += 1) await client.IssueNotes.create(PROJECT, 1, `note ${n}`);
    host.pageSize = 2;
    const all = await client.IssueNotes.all(PROJECT, 1, { sort: 'desc', perPage: 2, maxPages: 9 });
    expect(all.map(({ body }) => body)).toEqual(['note 5', 'note 4', 'note 3', 'note 2', 'note 1']);
  });

  test('returns errors that the API client of the vendor understands', async () => {
    await expect(client.IssueNotes.edit(PROJECT, 1, 99, { body: 'x' })).rejects.toMatchObject({
      cause: { response: { status: 404 } },
    });
    host.refuse(/notes$/, { status: 403 });
    await expect(client.IssueNotes.create(PROJECT, 1, 'x')).rejects.toThrow('403');
    await expect(client.IssueNotes.create(PROJECT, 1, 'x'.repeat(1_000_001))).rejects.toMatchObject({
      cause: { response: { status: 400 } },
    });
  });

  test('returns members with their levels, and 404 for other users', async () => {
    host.levels.set('ann', 30);
    const id = host.idOf('ann');
    const options = { includeInherited: true };
    expect(await client.ProjectMembers.show(PROJECT, id, options)).toMatchObject({ id, access_level: 30 });
    await expect(client.ProjectMembers.show(PROJECT, host.idOf('eve'), options)).rejects.toMatchObject({
      cause: { response: { status: 404 } },
    });
  });

  test('accepts an approval of a merge request only once', async () => {
    await client.MergeRequestApprovals.approve(PROJECT, 5);
    expect(
      await client.MergeRequestApprovals.showConfiguration(PROJECT, { mergerequestIId: 5 }),
    ).toMatchObject({ approved_by: [{ user: { username: 'the-bot' } }] });
    await expect(client.MergeRequestApprovals.approve(PROJECT, 5)).rejects.toMatchObject({
      cause: { response: { status: 401 } },
    });
  });

  test('lists its hooks', async () => {
    host.addHook(PROJECT, 3, 'https://gateway.example/webhook/repohostb', 'disabled');
    expect(await client.ProjectHooks.all(PROJECT)).toMatchObject([{ id: 3, alert_status: 'disabled' }]);
    expect(await client.ProjectHooks.show(PROJECT, 3)).toMatchObject({ id: 3 });
  });

  test('runs the quick actions in a note, and stores the rest of its text', async () => {
    await client.MergeRequestNotes.create(PROJECT, 5, 'Done.\n/close\n/merge now');
    expect(host.carriedOut).toEqual([
      { place: `${PROJECT}!5`, action: 'close' },
      { place: `${PROJECT}!5`, action: 'merge' },
    ]);
    expect(host.comments.get(`${PROJECT}!5`)).toMatchObject([{ body: 'Done.\n' }]);
    const alone = await fetch(`${host.apiUrl}/projects/${encodeURIComponent(PROJECT)}/issues/1/notes`, {
      method: 'POST',
      headers: { authorization: 'Bearer t' },
      body: JSON.stringify({ body: '/close' }),
    });
    expect(alone.status).toBe(202);
  });
});

test.each([
  ['/close', ['close']],
  ['words\n/close\r\n', ['close']],
  ['words /close', []],
  ['  /close', []],
  ['\\/close', []],
  ['> /close', []],
  ['```\n/close\n```', []],
  // Not supported by all versions of the host.
  ['~~~\n/close\n~~~', ['close']],
  ['<div>\n\n/close\n\n</div>', ['close']],
  ['>>>\n```\n>>>\n/close\n```', ['close']],
])('quick actions in a note are found as in any version of the real host: %j', (text, actions) => {
  expect(quickActionsIn(text).actions).toEqual(actions);
});
