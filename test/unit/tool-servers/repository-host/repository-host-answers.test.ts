// Answers of a host that are unlike the usual ones: fields that its published description leaves open, refusals that only
// their words tell apart, lists that are not what they should be. Each tool is run by itself, against a host on loopback.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { without } from '../../../../libs/rest/without-secrets.ts';
import { Host } from '../../../../tool-servers/repository-host/host.ts';
import { HostRefusal } from '../../../../tool-servers/repository-host/host-fault.ts';
import { protectedBranch } from '../../../../tool-servers/repository-host/protected-branch.ts';
import { fileTools } from '../../../../tool-servers/repository-host/tools/files.ts';
import { issueTools } from '../../../../tool-servers/repository-host/tools/issues.ts';
import { pullRequestChangeTools } from '../../../../tool-servers/repository-host/tools/pull-request-changes.ts';
import { pullRequestTools } from '../../../../tool-servers/repository-host/tools/pull-requests.ts';
import { repositoryTools } from '../../../../tool-servers/repository-host/tools/repositories.ts';
import { reviewTools } from '../../../../tool-servers/repository-host/tools/reviews.ts';
import type { ToolCall } from '../../../../tool-servers/tool.ts';
import { ToolError } from '../../../../tool-servers/tool-error.ts';
import { ReplayHost } from '../../../fixtures/rest-host/replay-host.ts';

const token = 'tok_0123456789';
const where = { owner: 'ann', repo: 'r' };
const sha = 'a'.repeat(40);
let host: ReplayHost;

beforeAll(async () => {
  host = await ReplayHost.start();
});

afterAll(() => host.stop());

beforeEach(() => host.forget());

const call: ToolCall = { signal: new AbortController().signal, report: () => {} };

/** Each time by a server that has written nothing yet. */
async function run(name: string, args: object) {
  const own = new Host({
    access: { apiUrl: host.url, token },
    maxWaitMs: 0,
    timeoutMs: 5_000,
    clean: without([token]),
  });
  const tools = [
    ...fileTools(own),
    ...issueTools(own),
    ...pullRequestChangeTools(own),
    ...pullRequestTools(own),
    ...repositoryTools(own),
    ...reviewTools(own),
  ];
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  const { text, structured } = await tool.run(tool.input.parse({ ...where, ...args }), call);
  const checked = tool.output === undefined ? {} : tool.output.parse(structured);
  return { text, structured: checked };
}

const structured = async (name: string, args: object = {}) => (await run(name, args)).structured;

async function refusal(name: string, args: object = {}): Promise<string> {
  const error = await run(name, args).then(
    ({ text }) => new Error(`it worked: ${text}`),
    (each: unknown) => each,
  );
  expect(error).toBeInstanceOf(ToolError);
  return (error as Error).message;
}

/** What the next request of that kind is answered with. */
function answers(when: RegExp, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  host.failNext({ when, status, body, headers });
}

const write = { path: 'a.txt', content: 'x', message: 'Say', branch: 'main' };
const push = { branch: 'main', message: 'Say', files: [{ path: 'a.txt', content: 'x' }] };

describe('what was written is told', () => {
  test.each<[object, object]>([
    [
      { content: null, commit: {} },
      { path: 'a.txt', branch: 'main', commit: { message: 'Say' } },
    ],
    [
      { content: { path: 'b.txt' }, commit: { sha } },
      { path: 'b.txt', branch: 'main', commit: { sha, message: 'Say' } },
    ],
  ])('of a file, where the host tells little of it: %j', async (body, told) => {
    answers(/^PUT/, body, 201);
    expect(await structured('create_or_update_file', write)).toEqual(told);
  });

  test.each<[number, unknown]>([
    [202, {}],
    [202, ''],
    [204, ''],
    [202, { message: null }],
  ])('of a branch that is updated, answered with %i and %j', async (status, body) => {
    answers(/^PUT/, body, status);
    expect(await structured('update_pull_request_branch', { pull_number: 1 })).toEqual({
      message: 'The host is updating the branch in the background.',
    });
  });
});

describe('the checks of a pull request', () => {
  const good = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      name: `run ${index}`,
      status: 'completed',
      conclusion: 'success',
    }));
  const okay = { context: 'ci', state: 'success' };
  const none = { state: 'pending', total_count: 0, statuses: [] };
  const noRuns = { total_count: 0, check_runs: [] };

  async function checks(statuses: object, ...runs: readonly object[]) {
    answers(/\/pulls\/1$/, { head: { sha } });
    answers(/\/status\?/, statuses);
    for (const [index, body] of runs.entries()) {
      const isLast = index === runs.length - 1;
      const link = `<https://h/x?page=${index + 2}>; rel="next"`;
      answers(/\/check-runs\?/, body, 200, isLast ? {} : { link });
    }
    return (await structured('get_pull_request_status', { pull_number: 1 })) as {
      state: string;
      total_count: number;
      checks: { name: string; state: string }[];
      notice?: string;
    };
  }

  test('of which there are none are none, though the host calls no statuses pending', async () => {
    expect(await checks(none, noRuns)).toEqual({ sha, state: 'none', total_count: 0, checks: [] });
  });

  test.each(['failure', 'pending', 'error'])('that the host sums up as %s are not good', async (state) => {
    const told = await checks({ state, total_count: 150, statuses: [okay] }, noRuns);
    expect(told.state).toBe(state === 'pending' ? 'pending' : 'failure');
    expect(told.notice).toBe('149 of 150 checks of one kind were not read.');
  });

  test('are read page by page, and a failure on the last page is one', async () => {
    const bad = { name: 'late', status: 'completed', conclusion: 'timed_out' };
    const total_count = 201;
    const told = await checks(
      none,
      { total_count, check_runs: good(100) },
      { total_count, check_runs: good(100) },
      { total_count, check_runs: [bad] },
    );
    expect(told).toMatchObject({ state: 'failure', total_count });
    expect(told.checks).toHaveLength(100);
    expect(told.checks[0]).toMatchObject({ name: 'late', state: 'timed_out' });
    expect(told.notice).toBe('Of 201 checks of one kind 100 are listed.');
  });

  test('are read up to a bound, and then it is not known whether they are good', async () => {
    const total_count = 2000;
    const pages = Array.from({ length: 11 }, () => ({ total_count, check_runs: good(100) }));
    const told = await checks(none, ...pages);
    expect(told.state).toBe('unknown');
    expect(told.notice).toBe('1000 of 2000 checks of one kind were not read.');
    expect(host.asked(/check-runs/)).toHaveLength(10);
  });

  test('of which the host keeps some back are not good', async () => {
    expect((await checks(none, { total_count: 3, check_runs: good(2) })).state).toBe('unknown');
    expect((await checks({ total_count: 2, statuses: [okay] }, noRuns)).state).toBe('unknown');
  });

  test('that may not be read are not good, nor none', async () => {
    for (const [statuses, state] of [
      [none, 'unknown'],
      [{ state: 'success', total_count: 1, statuses: [okay] }, 'unknown'],
      [{ state: 'failure', total_count: 1, statuses: [{ ...okay, state: 'failure' }] }, 'failure'],
    ] as const) {
      answers(/\/check-runs\?/, { message: 'Resource not accessible' }, 403);
      const told = await checks(statuses);
      expect(told.state).toBe(state);
      expect(told.notice).toMatch(/Check runs could not be read \(the host answered 403\)/);
    }
  });

  test('that ended without a conclusion are not good', async () => {
    const check_runs = [...good(1), { name: 'odd', status: 'completed', conclusion: null }];
    const told = await checks(none, { total_count: 2, check_runs });
    expect(told.state).toBe('unknown');
    expect(told.notice).toMatch(/does not say how they ended/);
    expect((await checks(none, { total_count: 1, check_runs: good(1) })).state).toBe('success');
  });
});

describe('a branch that is protected', () => {
  const words = [
    'Could not update file: Required status check "ci" is expected.',
    'Repository rule violations found\n\nChanges must be made through a pull request.',
    'Reference update failed',
    'Protected branch update failed for refs/heads/main.',
    'At least 1 approving review is required by reviewers with write access.',
  ];
  const told =
    /^Nothing was written: the branch is protected \(.*\)\. Write to another branch and use create_pull_request\.$/s;

  test.each(words)('is known by the words of the host: %s', (said) => {
    for (const status of [409, 422])
      expect(protectedBranch(new HostRefusal(status, said, ''))?.message).toMatch(told);
    expect(protectedBranch(new HostRefusal(500, said, ''))).toBeUndefined();
  });

  test('is no race that helps to call again', async () => {
    answers(/^PUT/, { message: words[0] }, 409);
    expect(await refusal('create_or_update_file', { ...write, path: 'a' })).toMatch(told);
    answers(/^PATCH/, { message: words[1] }, 422);
    expect(await refusal('push_files', push)).toMatch(told);
  });

  test('is not one whose file has a name like that', async () => {
    const path = 'protected/review.md';
    answers(/^PUT/, { message: `${path} does not match ${sha}` }, 409);
    answers(/^GET/, { message: 'Not Found' }, 404);
    expect(await refusal('create_or_update_file', { ...write, path, sha })).toMatch(/there is no file/);
  });

  test.each([
    `protected/review.md does not match ${sha}`,
    `review is at ${sha} but expected ${sha}`,
    'Update is not a fast forward: protected',
  ])('is not taken for one because of a name: %s', (said) => {
    expect(protectedBranch(new HostRefusal(409, said, ''))).toBeUndefined();
  });

  test('is not one that is gone', async () => {
    answers(/^PATCH/, { message: 'Reference does not exist' }, 422);
    expect(await refusal('push_files', push)).toMatch(/was moved at the same time/);
  });

  test('is not one for which the host has other reasons', async () => {
    answers(/^PATCH/, { message: 'Validation Failed: expected something else' }, 422);
    expect(await refusal('push_files', push)).toMatch(/^The host answered 422/);
  });
});

describe('a write', () => {
  test('never puts a file in the place of a link', async () => {
    const tree = [{ path: 'link', mode: '120000' }];
    host.on('GET /repos/{owner}/{repo}/git/trees/{tree_sha}', { body: { truncated: false, tree } });
    const files = [{ path: 'link', content: 'x' }];
    expect(await refusal('push_files', { ...push, files })).toMatch(/link is a symbolic link/);
    expect(host.asked(/^(POST|PATCH|PUT)/)).toHaveLength(0);
  });

  test('that was refused for its sha does not call a file missing that only cannot be read', async () => {
    answers(/^PUT/, { message: 'a.txt does not match' }, 409);
    answers(/^GET/, { message: 'No' }, 403);
    const said = await refusal('create_or_update_file', { ...write, sha });
    expect(said).toMatch(/^Nothing was written: .* could not be read: The host answered 403/);
    expect(said).not.toMatch(/no file|without sha/);
  });

  test.each<[string, object, RegExp]>([
    ['create_or_update_file', { ...write, content: 'x\ud800y' }, /half of a character/],
    ['push_files', { ...push, files: [{ path: 'a', content: '\udc00' }] }, /half of a character/],
    ['create_branch', { branch: 'refs/heads/new' }, /full name of a ref/],
    ['create_issue', { title: 'T', assignees: ['a b[bot]'] }, /not a login/],
  ])('by %s of what cannot be meant is not sent: %j', async (name, args, told) => {
    await expect(run(name, args)).rejects.toThrow(told);
    expect(host.requests).toHaveLength(0);
  });

  test('assigns apps too', async () => {
    answers(/^POST/, { number: 1, title: 'T', state: 'open', created_at: '', html_url: '' }, 201);
    await run('create_issue', { title: 'T', assignees: ['helper[bot]'] });
    expect(host.requests[0]?.body).toMatchObject({ assignees: ['helper[bot]'] });
  });
});

describe('a list', () => {
  test('of very many bad entries is refused in no time', async () => {
    const body = `[${'{},'.repeat(500_000)}{}]`;
    answers(/\/issues\?/, body);
    const startedAt = performance.now();
    expect(await refusal('list_issues')).toMatch(/^The host's answer \(200\) is not what its API promises\./);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    answers(/\/issues\/1$/, `{"number":1,"labels":${body}}`);
    expect(await refusal('get_issue', { issue_number: 1 })).toMatch(/not what its API promises/);
  });

  test('is cut between characters', async () => {
    const issue = { number: 1, title: 'T', state: 'open', created_at: '', html_url: '' };
    answers(/\/issues\?/, [{ ...issue, body: `${'x'.repeat(499)}😀tail` }]);
    expect(await structured('list_issues')).toMatchObject({ items: [{ body: `${'x'.repeat(499)}…` }] });
    const file = { filename: 'f', status: 'modified', additions: 1, deletions: 0 };
    answers(/\/files\?/, [{ ...file, patch: `${'x'.repeat(5_999)}😀tail` }]);
    expect(await structured('get_pull_request_files', { pull_number: 1 })).toMatchObject({
      items: [{ patch: 'x'.repeat(5_999), is_patch_cut: true }],
    });
    const comment = { id: 1, path: 'a', body: 'b', created_at: '', html_url: '' };
    answers(/\/comments\?/, [{ ...comment, diff_hunk: `start😀${'x'.repeat(599)}` }]);
    expect(await structured('get_pull_request_comments', { pull_number: 1 })).toMatchObject({
      items: [{ diff_hunk: 'x'.repeat(599) }],
    });
  });

  test('of comments has no ids that the host did not give', async () => {
    const comment = { id: 5, in_reply_to_id: null, path: 'a', body: 'b', created_at: '', html_url: '' };
    answers(/\/comments\?/, [comment]);
    const { items } = (await structured('get_pull_request_comments', { pull_number: 1 })) as {
      items: object[];
    };
    expect(items).toEqual([{ id: 5, path: 'a', body: 'b', created_at: '', url: '' }]);
    answers(/\/comments\?/, [{ ...comment, id: null }]);
    expect(await refusal('get_pull_request_comments', { pull_number: 1 })).toMatch(/not what its API/);
    answers(/\/comments\?/, JSON.stringify([comment]).replace('5', '90071992547409930'));
    expect(await structured('get_pull_request_comments', { pull_number: 1 })).toMatchObject({
      items: [{ id: Number('90071992547409930') }],
    });
  });

  test('of a folder may hold kinds that are not known here', async () => {
    const entry = { name: 'a', path: 'a', sha, size: 1 };
    answers(/\/contents/, [
      { ...entry, type: 'file' },
      { ...entry, type: 'portal' },
    ]);
    expect(await structured('get_file_contents', { path: '' })).toMatchObject({
      entries: [{ type: 'file' }, { type: 'portal' }],
    });
    answers(/\/contents/, { ...entry, type: 'portal' });
    expect(await structured('get_file_contents', { path: 'a' })).toMatchObject({ type: 'portal', path: 'a' });
  });
});

describe('a file', () => {
  test('that is a pointer of large file storage says so', async () => {
    const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 5\n`;
    const content = Buffer.from(text).toString('base64');
    const entry = { type: 'file', name: 'a', path: 'a', sha, size: text.length, encoding: 'base64', content };
    answers(/\/contents/, entry);
    expect(await structured('get_file_contents', { path: 'a' })).toMatchObject({
      content: text,
      notice: expect.stringMatching(/^A pointer of Git LFS/),
    });
  });

  test('that the host will not give for its size is not called forbidden', async () => {
    const errors = [{ resource: 'Blob', field: 'data', code: 'too_large' }];
    answers(/\/contents/, { message: 'This API returns blobs up to 1 MB in size.', errors }, 403);
    const said = await refusal('get_file_contents', { path: 'a' });
    expect(said).toMatch(/^a is larger than the host gives this way/);
    expect(said).not.toMatch(/token/);
  });
});

describe('a diff', () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' };

  test('is no page for people', async () => {
    answers(/\/pulls\/1$/, '<!doctype html><html>', 200, headers);
    expect(await refusal('get_pull_request_diff', { pull_number: 1 })).toMatch(/not what its API promises/);
    answers(/\/pulls\/1$/, 'diff --git a/a b/a\n', 200, headers);
    expect((await run('get_pull_request_diff', { pull_number: 1 })).text).toBe('diff --git a/a b/a\n');
  });
});
