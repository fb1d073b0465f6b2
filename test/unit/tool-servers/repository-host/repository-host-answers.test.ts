// Unusual responses of a host: fields without a defined format, refusals that differ only in the text,
// malformed lists. Tools are called directly, with a host on loopback.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { secretRemover } from '../../../../libs/rest/without-secrets.ts';
import { Host } from '../../../../tool-servers/repository-host/host.ts';
import { HostRefusal } from '../../../../tool-servers/repository-host/host-error.ts';
import { protectedBranchError } from '../../../../tool-servers/repository-host/protected-branch.ts';
import { fileTools } from '../../../../tool-servers/repository-host/tools/files.ts';
import { issueTools } from '../../../../tool-servers/repository-host/tools/issues.ts';
import { pullRequestChangeTools } from '../../../../tool-servers/repository-host/tools/pull-request-changes.ts';
import { pullRequestTools } from '../../../../tool-servers/repository-host/tools/pull-requests.ts';
import { repositoryTools } from '../../../../tool-servers/repository-host/tools/repositories.ts';
import { reviewTools } from '../../../../tool-servers/repository-host/tools/reviews.ts';
import type { ServerToolCall } from '../../../../tool-servers/tool.ts';
import { ToolError } from '../../../../tool-servers/tool-error.ts';
import { ReplayHost } from '../../../fixtures/rest-host/replay-host.ts';

const token = 'tok_0123456789';
const repository = { owner: 'ann', repo: 'r' };
const sha = 'a'.repeat(40);
let host: ReplayHost;

beforeAll(async () => {
  host = await ReplayHost.start();
});

afterAll(() => host.stop());

beforeEach(() => host.forget());

const call: ServerToolCall = { signal: new AbortController().signal, report: () => {} };

/** Runs a tool on a new server, without earlier writes. */
async function run(name: string, args: object) {
  const own = new Host({
    access: { apiUrl: host.url, token },
    maxWaitMs: 0,
    timeoutMs: 5_000,
    clean: secretRemover([token]),
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
  const { text, structured } = await tool.run(tool.input.parse({ ...repository, ...args }), call);
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

/** Sets the next response to requests of this kind. */
function answers(when: RegExp, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  host.failNext({ when, status, body, headers });
}

const write = { path: 'a.txt', content: 'x', message: 'Say', branch: 'main' };
const push = { branch: 'main', message: 'Say', files: [{ path: 'a.txt', content: 'x' }] };

describe('a write', () => {
  test.each<[object, object]>([
    [
      { content: null, commit: {} },
      { path: 'a.txt', branch: 'main', commit: { message: 'Say' } },
    ],
    [
      { content: { path: 'b.txt' }, commit: { sha } },
      { path: 'b.txt', branch: 'main', commit: { sha, message: 'Say' } },
    ],
  ])('to a file reports what the host returned: %j', async (body, expectedText) => {
    answers(/^PUT/, body, 201);
    expect(await structured('create_or_update_file', write)).toEqual(expectedText);
  });

  test.each<[number, unknown]>([
    [202, {}],
    [202, ''],
    [204, ''],
    [202, { message: null }],
  ])('to a branch update with response %i and %j reports a background update', async (status, body) => {
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

  test('have state "none" if there are none, even if the host reports pending', async () => {
    expect(await checks(none, noRuns)).toEqual({ sha, state: 'none', total_count: 0, checks: [] });
  });

  test.each(['failure', 'pending', 'error'])(
    'that the host summarizes as %s are not successful',
    async (state) => {
      const expectedText = await checks({ state, total_count: 150, statuses: [okay] }, noRuns);
      expect(expectedText.state).toBe(state === 'pending' ? 'pending' : 'failure');
      expect(expectedText.notice).toBe('149 of 150 checks of one kind were not read.');
    },
  );

  test('are read page by page, including a failure on the last page', async () => {
    const bad = { name: 'late', status: 'completed', conclusion: 'timed_out' };
    const total_count = 201;
    const expectedText = await checks(
      none,
      { total_count, check_runs: good(100) },
      { total_count, check_runs: good(100) },
      { total_count, check_runs: [bad] },
    );
    expect(expectedText).toMatchObject({ state: 'failure', total_count });
    expect(expectedText.checks).toHaveLength(100);
    expect(expectedText.checks[0]).toMatchObject({ name: 'late', state: 'timed_out' });
    expect(expectedText.notice).toBe('100 of 201 checks of one kind are listed.');
  });

  test('are read up to a limit, and are unknown beyond it', async () => {
    const total_count = 2000;
    const pages = Array.from({ length: 11 }, () => ({ total_count, check_runs: good(100) }));
    const expectedText = await checks(none, ...pages);
    expect(expectedText.state).toBe('unknown');
    expect(expectedText.notice).toBe('1000 of 2000 checks of one kind were not read.');
    expect(host.requestsMatching(/check-runs/)).toHaveLength(10);
  });

  test('have state unknown if the host returns only some of them', async () => {
    expect((await checks(none, { total_count: 3, check_runs: good(2) })).state).toBe('unknown');
    expect((await checks({ total_count: 2, statuses: [okay] }, noRuns)).state).toBe('unknown');
  });

  test('that cannot be read have state unknown or failure, not success or none', async () => {
    for (const [statuses, state] of [
      [none, 'unknown'],
      [{ state: 'success', total_count: 1, statuses: [okay] }, 'unknown'],
      [{ state: 'failure', total_count: 1, statuses: [{ ...okay, state: 'failure' }] }, 'failure'],
    ] as const) {
      answers(/\/check-runs\?/, { message: 'Resource not accessible' }, 403);
      const expectedText = await checks(statuses);
      expect(expectedText.state).toBe(state);
      expect(expectedText.notice).toMatch(/Check runs could not be read \(status 403\)/);
    }
  });

  test('have state unknown if a completed check has no conclusion', async () => {
    const check_runs = [...good(1), { name: 'odd', status: 'completed', conclusion: null }];
    const expectedText = await checks(none, { total_count: 2, check_runs });
    expect(expectedText.state).toBe('unknown');
    expect(expectedText.notice).toMatch(/have no conclusion/);
    expect((await checks(none, { total_count: 1, check_runs: good(1) })).state).toBe('success');
  });
});

describe('branch protection', () => {
  const messages = [
    'Could not update file: Required status check "ci" is expected.',
    'Repository rule violations found\n\nChanges must be made through a pull request.',
    'Reference update failed',
    'Protected branch update failed for refs/heads/main.',
    'At least 1 approving review is required by reviewers with write access.',
  ];
  const expectedText =
    /^Nothing was written: the branch is protected \(.*\)\. Write to another branch and use create_pull_request\.$/s;

  test.each(messages)("is recognized by the host's message: %s", (message) => {
    for (const status of [409, 422])
      expect(protectedBranchError(new HostRefusal(status, message, ''))?.message).toMatch(expectedText);
    expect(protectedBranchError(new HostRefusal(500, message, ''))).toBeUndefined();
  });

  test('is not a conflict that a retry could resolve', async () => {
    answers(/^PUT/, { message: messages[0] }, 409);
    expect(await refusal('create_or_update_file', { ...write, path: 'a' })).toMatch(expectedText);
    answers(/^PATCH/, { message: messages[1] }, 422);
    expect(await refusal('push_files', push)).toMatch(expectedText);
  });

  test('is not assumed because of a file name', async () => {
    const path = 'protected/review.md';
    answers(/^PUT/, { message: `${path} does not match ${sha}` }, 409);
    answers(/^GET/, { message: 'Not Found' }, 404);
    expect(await refusal('create_or_update_file', { ...write, path, sha })).toMatch(/does not exist on/);
  });

  test.each([
    `protected/review.md does not match ${sha}`,
    `review is at ${sha} but expected ${sha}`,
    'Update is not a fast forward: protected',
  ])('is not assumed because of a name in the message: %s', (message) => {
    expect(protectedBranchError(new HostRefusal(409, message, ''))).toBeUndefined();
  });

  test('is not assumed for a missing branch', async () => {
    answers(/^PATCH/, { message: 'Reference does not exist' }, 422);
    expect(await refusal('push_files', push)).toMatch(/was moved concurrently/);
  });

  test('is not assumed if the host refuses a write for another reason', async () => {
    answers(/^PATCH/, { message: 'Validation Failed: expected something else' }, 422);
    expect(await refusal('push_files', push)).toMatch(/^The host responded with 422/);
  });
});

describe('a write with special input', () => {
  test('never replaces a symbolic link by a file', async () => {
    const tree = [{ path: 'link', mode: '120000' }];
    host.on('GET /repos/{owner}/{repo}/git/trees/{tree_sha}', { body: { truncated: false, tree } });
    const files = [{ path: 'link', content: 'x' }];
    expect(await refusal('push_files', { ...push, files })).toMatch(/link is a symbolic link/);
    expect(host.requestsMatching(/^(POST|PATCH|PUT)/)).toHaveLength(0);
  });

  test('that is refused because of its sha does not report an unreadable file as missing', async () => {
    answers(/^PUT/, { message: 'a.txt does not match' }, 409);
    answers(/^GET/, { message: 'No' }, 403);
    const message = await refusal('create_or_update_file', { ...write, sha });
    expect(message).toMatch(/^Nothing was written: .* could not be read: The host responded with 403/);
    expect(message).not.toMatch(/does not exist|without sha/);
  });

  test.each<[string, object, RegExp]>([
    ['create_or_update_file', { ...write, content: 'x\ud800y' }, /incomplete character/],
    ['push_files', { ...push, files: [{ path: 'a', content: '\udc00' }] }, /incomplete character/],
    ['create_branch', { branch: 'refs/heads/new' }, /full ref name/],
    ['create_issue', { title: 'T', assignees: ['a b[bot]'] }, /not a login/],
  ])('by %s with invalid arguments is not sent: %j', async (name, args, expectedText) => {
    await expect(run(name, args)).rejects.toThrow(expectedText);
    expect(host.requests).toHaveLength(0);
  });

  test('can assign an issue to an app', async () => {
    answers(/^POST/, { number: 1, title: 'T', state: 'open', created_at: '', html_url: '' }, 201);
    await run('create_issue', { title: 'T', assignees: ['helper[bot]'] });
    expect(host.requests[0]?.body).toMatchObject({ assignees: ['helper[bot]'] });
  });
});

describe('a list from the repository host', () => {
  test('with very many invalid entries is refused quickly', async () => {
    const body = `[${'{},'.repeat(500_000)}{}]`;
    answers(/\/issues\?/, body);
    const startedAt = performance.now();
    expect(await refusal('list_issues')).toMatch(
      /^The response of the host \(200\) does not match its API\./,
    );
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    answers(/\/issues\/1$/, `{"number":1,"labels":${body}}`);
    expect(await refusal('get_issue', { issue_number: 1 })).toMatch(/does not match its API/);
  });

  test('has long texts cut between characters, not inside a surrogate pair', async () => {
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

  test('of comments contains no invented ids, and is refused if an id is missing', async () => {
    const comment = { id: 5, in_reply_to_id: null, path: 'a', body: 'b', created_at: '', html_url: '' };
    answers(/\/comments\?/, [comment]);
    const { items } = (await structured('get_pull_request_comments', { pull_number: 1 })) as {
      items: object[];
    };
    expect(items).toEqual([{ id: 5, path: 'a', body: 'b', created_at: '', url: '' }]);
    answers(/\/comments\?/, [{ ...comment, id: null }]);
    expect(await refusal('get_pull_request_comments', { pull_number: 1 })).toMatch(/does not match its API/);
    answers(/\/comments\?/, JSON.stringify([comment]).replace('5', '90071992547409930'));
    expect(await structured('get_pull_request_comments', { pull_number: 1 })).toMatchObject({
      items: [{ id: Number('90071992547409930') }],
    });
  });

  test('of a folder may contain unknown kinds', async () => {
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
  test('that is a pointer of Git LFS has a notice', async () => {
    const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 5\n`;
    const content = Buffer.from(text).toString('base64');
    const entry = { type: 'file', name: 'a', path: 'a', sha, size: text.length, encoding: 'base64', content };
    answers(/\/contents/, entry);
    expect(await structured('get_file_contents', { path: 'a' })).toMatchObject({
      content: text,
      notice: expect.stringMatching(/^Git LFS pointer/),
    });
  });

  test('that is too large for the host API is reported as too large, not as forbidden', async () => {
    const errors = [{ resource: 'Blob', field: 'data', code: 'too_large' }];
    answers(/\/contents/, { message: 'This API returns blobs up to 1 MB in size.', errors }, 403);
    const message = await refusal('get_file_contents', { path: 'a' });
    expect(message).toMatch(/^a is too large for this API/);
    expect(message).not.toMatch(/token/);
  });
});

describe('a diff', () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' };

  test('is refused if the host returns an HTML page instead', async () => {
    answers(/\/pulls\/1$/, '<!doctype html><html>', 200, headers);
    expect(await refusal('get_pull_request_diff', { pull_number: 1 })).toMatch(/does not match its API/);
    answers(/\/pulls\/1$/, 'diff --git a/a b/a\n', 200, headers);
    expect((await run('get_pull_request_diff', { pull_number: 1 })).text).toBe('diff --git a/a b/a\n');
  });
});
