// All tools of the repository-host tool server, called by an MCP client through the built program: requests
// sent to the host, and results for the published answers.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HostClient, textOf } from '../../fixtures/rest-host/host-client.ts';
import { ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const TOKEN = 'token-of-ada-7Qm2';
const repository = { owner: 'octocat', repo: 'Hello-World' };
const REPO = '/repos/octocat/Hello-World';
/** Path template in the description. */
const AT = '/repos/{owner}/{repo}';
const ISSUE = `${AT}/issues/{issue_number}`;
const PULL = `${AT}/pulls/{pull_number}`;
/** Head of the published pull request, which is also the listed commit. */
const HEAD = '6dcb09b5b57875f334f61aebed695e2e4193db5e';
/** The commit of the published ref. */
const REF_SHA = 'aa218f56b14c9653891f9e74264a383fa43fefbd';
const issue = { ...repository, issue_number: 1347 };
const pull = { ...repository, pull_number: 1347 };

/** The contract: required and optional parameters. */
const contract: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  create_or_update_file: [['owner', 'repo', 'path', 'content', 'message', 'branch'], ['sha']],
  search_repositories: [['query'], ['page', 'per_page']],
  create_repository: [['name'], ['description', 'private', 'auto_init']],
  get_file_contents: [['owner', 'repo', 'path'], ['branch']],
  push_files: [['owner', 'repo', 'branch', 'files', 'message'], []],
  create_issue: [
    ['owner', 'repo', 'title'],
    ['body', 'labels', 'assignees', 'milestone'],
  ],
  create_pull_request: [
    ['owner', 'repo', 'title', 'head', 'base'],
    ['body', 'draft', 'maintainer_can_modify'],
  ],
  fork_repository: [['owner', 'repo'], ['organization']],
  create_branch: [['owner', 'repo', 'branch'], ['from_branch']],
  list_commits: [
    ['owner', 'repo'],
    ['page', 'per_page', 'sha'],
  ],
  list_issues: [
    ['owner', 'repo'],
    ['state', 'labels', 'sort', 'direction', 'page', 'per_page', 'since'],
  ],
  update_issue: [
    ['owner', 'repo', 'issue_number'],
    ['title', 'body', 'state', 'labels', 'assignees', 'milestone'],
  ],
  add_issue_comment: [['owner', 'repo', 'issue_number', 'body'], []],
  search_code: [['query'], ['order', 'page', 'per_page']],
  search_issues: [['query'], ['sort', 'order', 'page', 'per_page']],
  search_users: [['query'], ['sort', 'order', 'page', 'per_page']],
  get_issue: [['owner', 'repo', 'issue_number'], []],
  get_pull_request: [['owner', 'repo', 'pull_number'], []],
  list_pull_requests: [
    ['owner', 'repo'],
    ['state', 'head', 'base', 'sort', 'direction', 'page', 'per_page'],
  ],
  create_pull_request_review: [
    ['owner', 'repo', 'pull_number', 'event'],
    ['body', 'comments', 'commit_id'],
  ],
  merge_pull_request: [
    ['owner', 'repo', 'pull_number'],
    ['commit_title', 'commit_message', 'merge_method'],
  ],
  get_pull_request_files: [['owner', 'repo', 'pull_number'], []],
  get_pull_request_diff: [['owner', 'repo', 'pull_number'], []],
  get_pull_request_status: [['owner', 'repo', 'pull_number'], []],
  get_pull_request_comments: [['owner', 'repo', 'pull_number'], []],
  get_pull_request_reviews: [['owner', 'repo', 'pull_number'], []],
  update_pull_request_branch: [['owner', 'repo', 'pull_number'], ['expected_head_sha']],
};

/** A valid value of each parameter. */
const sample: Readonly<Record<string, unknown>> = {
  ...repository,
  path: 'README.md',
  content: 'text',
  message: 'Message',
  branch: 'main',
  query: 'tools',
  name: 'new',
  files: [{ path: 'a', content: 'b' }],
  title: 'Title',
  head: 'topic',
  base: 'master',
  issue_number: 1,
  pull_number: 1,
  body: 'Body',
  event: 'APPROVE',
};

interface Paged {
  readonly items: readonly Record<string, unknown>[];
  readonly next_page?: number;
}

let host: ReplayHost;
let ada: HostClient;

beforeAll(async () => {
  host = await ReplayHost.start({ speed: 50 });
  ada = await HostClient.start({ host, token: TOKEN });
});

afterAll(async () => {
  expect([ada.faults, ada.stderr]).toEqual([[], '']);
  await ada.close();
  await host.stop();
});

beforeEach(() => host.forget());

/** Recorded requests: line and body. */
const sentRequests = () => host.requests.map(({ method, url, body }) => [`${method} ${url}`, body]);

function refuse(when: RegExp, status: number, message: string, errors?: readonly unknown[]): void {
  host.failNext({ when, status, body: { message, errors, status: `${status}` } });
}

describe('the list of tools', () => {
  test('has the tools and parameters of the contract, and permits no other parameters', () => {
    expect(ada.tools.map(({ name }) => name).sort()).toEqual(Object.keys(contract).sort());
    for (const { name, inputSchema } of ada.tools) {
      const [required = [], optional = []] = contract[name] ?? [];
      expect([...(inputSchema.required ?? [])].sort(), name).toEqual([...required].sort());
      const names = Object.keys(inputSchema.properties ?? {});
      expect(names, name).toEqual(expect.arrayContaining([...required, ...optional]));
      expect(inputSchema.additionalProperties, name).toBe(false);
    }
  });

  test('has a title, a description and all hints for each tool, and a description for each parameter', () => {
    for (const { name, title, description, annotations, inputSchema } of ada.tools) {
      expect(title, name).toMatch(/^[A-Z].{4,}/);
      expect(description?.length, name).toBeGreaterThan(60);
      expect(annotations, name).toMatchObject({
        title,
        readOnlyHint: expect.any(Boolean),
        destructiveHint: expect.any(Boolean),
        idempotentHint: expect.any(Boolean),
        openWorldHint: true,
      });
      for (const [parameter, schema] of Object.entries(inputSchema.properties ?? {}))
        expect((schema as { description?: string }).description, `${name}.${parameter}`).toMatch(/\w{3}/);
    }
  });

  test('has an output schema for each tool except the one that returns plain text', () => {
    const without = ada.tools.filter(({ outputSchema }) => outputSchema === undefined);
    expect(without.map(({ name }) => name)).toEqual(['get_pull_request_diff']);
  });

  test('marks the reading tools, and --read-only offers only those', async () => {
    const reading = ada.tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
    expect(reading.every((name) => /^(get|list|search)_/.test(name))).toBe(true);
    const others = ada.tools.filter(({ annotations }) => !annotations?.readOnlyHint);
    expect(others.some(({ name }) => /^(get|list|search)_/.test(name))).toBe(false);
    const reader = await HostClient.start({ host, token: TOKEN, args: ['--read-only'] });
    expect(reader.tools.map(({ name }) => name).sort()).toEqual(reading.sort());
    expect(await reader.refusal('create_issue', { ...repository, title: 'T' })).toMatch(/create_issue/);
    expect(reader.client.getInstructions()).toContain('read-only');
    await reader.close();
  });
});

describe('arguments are refused before any request is sent', () => {
  test('if they are unknown, missing or of another type, by every tool', async () => {
    for (const [name, [required]] of Object.entries(contract)) {
      const args = Object.fromEntries(required.map((parameter) => [parameter, sample[parameter]]));
      expect(await ada.refusal(name, { ...args, unheard_of: 1 }), name).toContain('unheard_of');
      const [first = ''] = required;
      expect(await ada.refusal(name, { ...args, [first]: undefined }), name).toContain(first);
      expect(await ada.refusal(name, { ...args, [first]: { a: 1 } }), name).toContain(first);
    }
    expect(host.requests).toEqual([]);
  });

  test('if a parameter occurs in two spellings', async () => {
    expect(await ada.refusal('search_users', { query: 'a', q: 'b' })).toMatch(/\bq\b/);
    expect(await ada.refusal('list_commits', { ...repository, per_page: 1, perPage: 2 })).toContain(
      'perPage',
    );
    expect(host.requests).toEqual([]);
  });
});

/** Tool, arguments, requests (line and optional body), expected members of the result. */
const exchanges: readonly (readonly [string, object, readonly (readonly [string, unknown?])[], object])[] = [
  [
    'create_repository',
    { name: 'fresh', description: 'New', private: true, autoInit: true },
    [['POST /user/repos', { name: 'fresh', description: 'New', private: true, auto_init: true }]],
    {
      full_name: 'octocat/Hello-World',
      private: false,
      fork: false,
      default_branch: 'master',
      license: 'MIT',
    },
  ],
  [
    'fork_repository',
    repository,
    [[`POST ${REPO}/forks`]],
    { repository: { full_name: 'octocat/Hello-World' }, notice: expect.stringMatching(/copying/) },
  ],
  [
    'fork_repository',
    { ...repository, organization: 'club' },
    [[`POST ${REPO}/forks`, { organization: 'club' }]],
    { repository: { full_name: 'octocat/Hello-World' } },
  ],
  [
    'create_branch',
    { ...repository, branch: 'first' },
    [
      [`GET ${REPO}`],
      [`GET ${REPO}/git/ref/heads/master`],
      [`POST ${REPO}/git/refs`, { ref: 'refs/heads/first', sha: REF_SHA }],
    ],
    { branch: 'first', sha: REF_SHA, from_branch: 'master' },
  ],
  [
    'create_branch',
    { ...repository, branch: 'feature/second', from_branch: 'some/first' },
    [
      [`GET ${REPO}/git/ref/heads/some/first`],
      [`POST ${REPO}/git/refs`, { ref: 'refs/heads/feature/second', sha: REF_SHA }],
    ],
    { branch: 'feature/second', sha: REF_SHA, from_branch: 'some/first' },
  ],
  [
    'list_commits',
    { ...repository, sha: 'feature/second', perPage: 2, page: 1 },
    [[`GET ${REPO}/commits?sha=feature%2Fsecond&page=1&per_page=2`]],
    {
      items: [{ sha: HEAD, message: 'Fix all the bugs', author: 'octocat', date: '2011-04-14T16:00:49Z' }],
      page: 1,
      has_more: false,
    },
  ],
  [
    'create_issue',
    {
      ...repository,
      title: 'It breaks',
      body: 'Badly.',
      labels: ['bug', 'help wanted'],
      assignees: ['bob'],
      milestone: 3,
    },
    [
      [
        `POST ${REPO}/issues`,
        {
          title: 'It breaks',
          body: 'Badly.',
          labels: ['bug', 'help wanted'],
          assignees: ['bob'],
          milestone: 3,
        },
      ],
    ],
    { number: 1347, title: 'Found a bug', url: 'https://github.com/octocat/Hello-World/issues/1347' },
  ],
  [
    'get_issue',
    issue,
    [[`GET ${REPO}/issues/1347`]],
    {
      number: 1347,
      title: 'Found a bug',
      state: 'open',
      state_reason: 'completed',
      repository: 'octocat/Hello-World',
      is_locked: true,
      author: 'octocat',
      labels: ['bug'],
      assignees: ['octocat'],
      milestone: { number: 1, title: 'v1.0' },
      comments: 0,
      created_at: '2011-04-22T13:33:48Z',
      body: "I'm having a problem with this.",
    },
  ],
  [
    'list_issues',
    {
      ...repository,
      state: 'all',
      labels: ['blue', 'red'],
      sort: 'updated',
      direction: 'asc',
      since: '2030-01-01T00:00:00Z',
      per_page: 5,
    },
    [
      [
        `GET ${REPO}/issues?state=all&labels=blue%2Cred&sort=updated&direction=asc&since=2030-01-01T00%3A00%3A00Z&page=1&per_page=5`,
      ],
    ],
    { items: [{ number: 1347, title: 'Found a bug', is_pull_request: true }], page: 1, has_more: false },
  ],
  [
    'update_issue',
    { ...issue, title: 'It broke', body: '', state: 'closed', labels: [], assignees: [], milestone: 1 },
    [
      [
        `PATCH ${REPO}/issues/1347`,
        { title: 'It broke', body: '', state: 'closed', labels: [], assignees: [], milestone: 1 },
      ],
    ],
    { number: 1347 },
  ],
  [
    'update_issue',
    { ...repository, issue_number: '1347', labels: 'red, dark green' },
    [[`PATCH ${REPO}/issues/1347`, { labels: ['red', 'dark green'] }]],
    { number: 1347 },
  ],
  [
    'add_issue_comment',
    { ...issue, body: 'Seen.' },
    [[`POST ${REPO}/issues/1347/comments`, { body: 'Seen.' }]],
    { author: 'octocat', created_at: '2011-04-14T16:00:49Z' },
  ],
  [
    'create_pull_request',
    {
      ...repository,
      title: 'From afar',
      body: 'Please.',
      head: 'bob:from-afar',
      base: 'main',
      draft: true,
      maintainer_can_modify: false,
    },
    [
      [
        `POST ${REPO}/pulls`,
        {
          title: 'From afar',
          body: 'Please.',
          head: 'bob:from-afar',
          base: 'main',
          draft: true,
          maintainer_can_modify: false,
        },
      ],
    ],
    { number: 1347, title: 'Amazing new feature' },
  ],
  [
    'get_pull_request',
    pull,
    [[`GET ${REPO}/pulls/1347`]],
    {
      number: 1347,
      title: 'Amazing new feature',
      state: 'open',
      is_merged: false,
      is_mergeable: true,
      mergeable_state: 'clean',
      author: 'octocat',
      head: { ref: 'new-topic', sha: HEAD },
      base: { ref: 'master', sha: HEAD },
      labels: ['bug'],
      assignees: ['octocat', 'hubot'],
      requested_reviewers: ['other_user'],
      commits: 3,
      changed_files: 5,
      additions: 100,
      deletions: 3,
      comments: 10,
      body: 'Please pull these awesome changes in!',
    },
  ],
  // The host ignores a head if it names no account.
  ...(['topic', 'octocat:topic'] as const).map(
    (head) =>
      [
        'list_pull_requests',
        { ...repository, state: 'all', head, base: 'main', sort: 'popularity' },
        [[`GET ${REPO}/pulls?state=all&head=octocat%3Atopic&base=main&sort=popularity&page=1&per_page=30`]],
        { items: [{ number: 1347, title: 'Amazing new feature' }] },
      ] as const,
  ),
  [
    'get_pull_request_files',
    { ...pull, per_page: 1 },
    [[`GET ${REPO}/pulls/1347/files?page=1&per_page=1`]],
    { items: [{ filename: 'file1.txt', status: 'added', additions: 103, deletions: 21 }] },
  ],
  [
    'create_pull_request_review',
    {
      ...pull,
      event: 'REQUEST_CHANGES',
      body: 'Not yet.',
      comments: [
        { path: '/r.txt', line: 2, side: 'RIGHT', body: 'Why two?' },
        { path: 'r.txt', start_line: 3, start_side: 'RIGHT', line: 4, body: 'And these?' },
        { path: 'r.txt', position: 1, body: 'By position.' },
      ],
      commit_id: HEAD,
    },
    [
      [
        `POST ${REPO}/pulls/1347/reviews`,
        {
          event: 'REQUEST_CHANGES',
          body: 'Not yet.',
          comments: [
            { path: 'r.txt', line: 2, side: 'RIGHT', body: 'Why two?' },
            { path: 'r.txt', start_line: 3, start_side: 'RIGHT', line: 4, body: 'And these?' },
            { path: 'r.txt', position: 1, body: 'By position.' },
          ],
          commit_id: HEAD,
        },
      ],
    ],
    { id: 80, state: 'CHANGES_REQUESTED', author: 'octocat' },
  ],
  [
    'create_pull_request_review',
    { ...pull, event: 'APPROVE' },
    [[`POST ${REPO}/pulls/1347/reviews`, { event: 'APPROVE' }]],
    { id: 80 },
  ],
  [
    'create_pull_request_review',
    { ...pull, event: 'COMMENT', comments: [{ path: 'r.txt', line: 1, body: 'Fine.' }] },
    [
      [
        `POST ${REPO}/pulls/1347/reviews`,
        { event: 'COMMENT', comments: [{ path: 'r.txt', line: 1, body: 'Fine.' }] },
      ],
    ],
    { id: 80 },
  ],
  [
    'get_pull_request_reviews',
    pull,
    [[`GET ${REPO}/pulls/1347/reviews?page=1&per_page=30`]],
    { items: [{ id: 80, author: 'octocat', state: 'APPROVED', body: 'Here is the body for the review.' }] },
  ],
  [
    'get_pull_request_comments',
    pull,
    [[`GET ${REPO}/pulls/1347/comments?page=1&per_page=30`]],
    {
      items: [
        {
          id: 10,
          in_reply_to: 8,
          author: 'octocat',
          path: 'file1.txt',
          start_line: 1,
          line: 2,
          side: 'RIGHT',
        },
      ],
    },
  ],
  [
    'get_pull_request_status',
    pull,
    [
      [`GET ${REPO}/pulls/1347`],
      [`GET ${REPO}/commits/${HEAD}/status?per_page=100`],
      [`GET ${REPO}/commits/${HEAD}/check-runs?per_page=100&page=1`],
    ],
    {
      sha: HEAD,
      state: 'success',
      total_count: 3,
      checks: [
        {
          name: 'continuous-integration/jenkins',
          state: 'success',
          description: 'Build has completed successfully',
        },
        { name: 'security/brakeman', state: 'success' },
        { name: 'mighty_readme', state: 'neutral' },
      ],
    },
  ],
  [
    'update_pull_request_branch',
    { ...pull, expectedHeadSha: HEAD },
    [[`PUT ${REPO}/pulls/1347/update-branch`, { expected_head_sha: HEAD }]],
    { message: 'Updating pull request branch.' },
  ],
  [
    'merge_pull_request',
    { ...pull, merge_method: 'squash', commit_title: 'All of it', commit_message: 'In one.', sha: HEAD },
    [
      [
        `PUT ${REPO}/pulls/1347/merge`,
        { merge_method: 'squash', commit_title: 'All of it', commit_message: 'In one.', sha: HEAD },
      ],
    ],
    { merged: true, sha: HEAD, message: 'Pull Request successfully merged' },
  ],
  ['merge_pull_request', pull, [[`PUT ${REPO}/pulls/1347/merge`]], { merged: true }],
  ...(['query', 'q'] as const).flatMap(
    (name) =>
      [
        [
          'search_repositories',
          { [name]: 'c++ "a & b" #1 ünï 100% in:name', sort: 'stars', order: 'desc', page: 1, perPage: 5 },
          [
            [
              'GET /search/repositories?q=c%2B%2B+%22a+%26+b%22+%231+%C3%BCn%C3%AF+100%25+in%3Aname&sort=stars&order=desc&page=1&per_page=5',
            ],
          ],
          {
            total_count: 40,
            items: [{ full_name: 'dtrupenn/Tetris', archived: true, language: 'Assembly' }],
          },
        ],
        [
          'search_code',
          { [name]: 'answer repo:ada/tools' },
          [['GET /search/code?q=answer+repo%3Aada%2Ftools&page=1&per_page=30']],
          { total_count: 7, items: [{ repository: 'jquery/jquery', path: 'src/attributes/classes.js' }] },
        ],
        [
          'search_users',
          { [name]: 'club type:org' },
          [['GET /search/users?q=club+type%3Aorg&page=1&per_page=30']],
          { total_count: 12, items: [{ login: 'mojombo', type: 'User', url: 'https://github.com/mojombo' }] },
        ],
        [
          'search_issues',
          { [name]: 'broke repo:ada/tools' },
          [['GET /search/issues?q=broke+repo%3Aada%2Ftools&page=1&per_page=30']],
          { total_count: 280, items: [{ number: 132, repository: 'batterseapower/pinyin-toolkit' }] },
        ],
      ] as const,
  ),
];

describe('the tool, its request and its result:', () => {
  test.each(exchanges)('%s %j', async (name, args, requests, result) => {
    expect(await ada.callTool(name, { ...args })).toMatchObject(result);
    expect(sentRequests()).toEqual(requests.map(([line, body]) => [line, body]));
  });
});

describe('repositories', () => {
  test('create_repository reports a name that is taken', async () => {
    const conflict = {
      resource: 'Repository',
      code: 'custom',
      message: 'name already exists on this account',
    };
    refuse(/^POST/, 422, 'Repository creation failed.', [conflict]);
    expect(await ada.refusal('create_repository', { name: 'fresh' })).toMatch(/422.*name already exists/);
  });

  test('fork_repository reports a missing organization', async () => {
    refuse(/^POST/, 404, 'Not Found');
    expect(await ada.refusal('fork_repository', { ...repository, organization: 'none' })).toContain('404');
  });

  test('create_branch keeps an existing branch and reports a missing or empty source', async () => {
    refuse(/^POST/, 422, 'Reference already exists');
    const secondResponse = await ada.refusal('create_branch', {
      ...repository,
      branch: 'first',
      from_branch: 'main',
    });
    expect(secondResponse).toMatch(/first already exists/);
    expect(host.requestsMatching(/^(PATCH|PUT|DELETE)/)).toEqual([]);
    refuse(/\/git\/ref\//, 404, 'Not Found');
    const missing = await ada.refusal('create_branch', {
      ...repository,
      branch: 'x',
      from_branch: 'nowhere',
    });
    expect(missing).toMatch(/branch nowhere does not exist/);
    refuse(/\/git\/ref\//, 409, 'Git Repository is empty.');
    expect(await ada.refusal('create_branch', { ...repository, branch: 'x' })).toMatch(/empty/);
  });

  test('list_commits pages through the log and reports an empty repository', async () => {
    const commits = [5, 4, 3, 2, 1].map((number) => ({ commit: { message: `No ${number}` } }));
    host.on(`GET ${AT}/commits`, { body: commits });
    const first = await ada.callTool<Paged>('list_commits', { ...repository, per_page: 2 });
    expect(first).toMatchObject({ page: 1, has_more: true, next_page: 2 });
    expect(first.items.map(({ message }) => message)).toEqual(['No 5', 'No 4']);
    const last = await ada.callTool<Paged>('list_commits', { ...repository, perPage: 2, page: 3 });
    expect(last.items.map(({ message }) => message)).toEqual(['No 1']);
    expect(last).toMatchObject({ page: 3, has_more: false });
    expect(last.next_page).toBeUndefined();
    refuse(/commits/, 409, 'Git Repository is empty.');
    expect(await ada.refusal('list_commits', repository)).toMatch(/empty/i);
  });
});

describe('issues', () => {
  test('are marked as pull requests only if they are pull requests', async () => {
    host.on(`GET ${AT}/issues`, { body: [{ number: 5 }, { number: 4, pull_request: undefined }] });
    host.on('GET /search/issues', { body: { items: [{ pull_request: undefined }] } });
    host.on(`GET ${ISSUE}`, { body: { state_reason: null, milestone: null, closed_at: null, labels: [] } });
    const { items } = await ada.callTool<Paged>('list_issues', repository);
    expect(items.map(({ is_pull_request }) => is_pull_request)).toEqual([true, undefined]);
    const page = await ada.callTool<Paged>('search_issues', { query: 'x' });
    expect(page.items.map(({ is_pull_request }) => is_pull_request)).toEqual([undefined]);
    const bare = await ada.callTool('get_issue', issue);
    for (const name of ['state_reason', 'milestone', 'closed_at', 'labels'])
      expect(bare).not.toHaveProperty(name);
  });

  test('a page of a hundred long issues is short enough for a model', async () => {
    const body = Array.from({ length: 101 }, (_, index) => ({
      number: index,
      body: 'long text '.repeat(6_000),
    }));
    host.on(`GET ${AT}/issues`, { body });
    host.on('GET /search/issues', { body: { total_count: 101, items: body } });
    const page = await ada.callTool<Paged>('list_issues', { ...repository, per_page: 100 });
    expect(page.items).toHaveLength(100);
    expect(page.next_page).toBe(2);
    expect(JSON.stringify(page).length).toBeLessThan(100_000);
    const longPage = await ada.callTool<Paged>('search_issues', { query: 'long', per_page: 100 });
    expect(longPage).toMatchObject({ total_count: 101, has_more: true, next_page: 2 });
    expect(JSON.stringify(longPage).length).toBeLessThan(100_000);
    host.on(`GET ${ISSUE}`, { body: body[0] });
    expect((await ada.callTool<{ body: string }>('get_issue', issue)).body).toHaveLength(60_000);
  });

  test('refusals, deleted issues and empty updates are reported', async () => {
    const errors = [{ resource: 'Issue', field: 'assignees', code: 'invalid', value: 'nobody' }];
    refuse(/^POST/, 422, 'Validation Failed', errors);
    expect(await ada.refusal('create_issue', { ...repository, title: 'T' })).toMatch(/422.*assignees/);
    refuse(/^GET/, 410, 'This issue was deleted');
    expect(await ada.refusal('get_issue', issue)).toMatch(/410.*deleted/);
    expect(await ada.refusal('list_issues', { ...repository, state: 'opened' })).toContain('state');
    host.forget();
    expect(await ada.refusal('update_issue', issue)).toMatch(/at least one/);
    expect(host.requests).toEqual([]);
  });
});

describe('pull requests', () => {
  test('a draft from a fork names the fork; a merged pull request has a merge commit', async () => {
    const fork = { ref: 'from-afar', repo: { full_name: 'bob/tools' } };
    host.on(`GET ${PULL}`, { body: { draft: true, head: fork, merged_at: null } });
    const draft = await ada.callTool('get_pull_request', pull);
    expect(draft).toMatchObject({ is_draft: true, head: { ref: 'from-afar', repository: 'bob/tools' } });
    // The host reports a trial merge for an open pull request.
    expect(draft).not.toHaveProperty('merge_commit_sha');
    host.on(`GET ${PULL}`, {
      body: { state: 'closed', merged: true, mergeable: null, merge_commit_sha: REF_SHA },
    });
    const merged = await ada.callTool('get_pull_request', pull);
    expect(merged).toMatchObject({ state: 'closed', is_merged: true, merge_commit_sha: REF_SHA });
    expect(merged).not.toHaveProperty('is_mergeable');
    host.on(`GET ${PULL}`, { body: { mergeable: false, mergeable_state: 'dirty' } });
    expect(await ada.callTool('get_pull_request', pull)).toMatchObject({
      is_mergeable: false,
      mergeable_state: 'dirty',
    });
  });

  test('a long diff is split into parts, which together equal the diff', async () => {
    const lines = Array.from({ length: 9_000 }, (_, index) => `+line ${index} of a long file\n`).join('');
    const diff = `diff --git "a/a \\303\\274.md" "b/a \\303\\274.md"\n@@ -0,0 +1,9000 @@\n${lines}`;
    host.on(`GET ${PULL}`, { body: diff });
    let whole = '';
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const text = textOf(await ada.call('get_pull_request_diff', { ...pull, offset }));
      const more = /\n\[The diff continues: it has \d+ characters\. Call again with offset (\d+)\.\]$/.exec(
        text,
      );
      whole += more === null ? text : text.slice(0, more.index);
      offset = more === null ? undefined : Number(more[1]);
    }
    expect(whole).toBe(diff);
    for (const { headers } of host.requests) expect(headers.accept).toBe('application/vnd.github.diff');
    host.on(`GET ${PULL}/files`, { body: [{ patch: lines }, { filename: 'b' }] });
    const files = await ada.callTool<Paged>('get_pull_request_files', { ...pull, per_page: 1 });
    expect(files).toMatchObject({ items: [{ is_patch_cut: true }], has_more: true, next_page: 2 });
    expect(JSON.stringify(files).length).toBeLessThan(10_000);
    refuse(/^GET/, 406, 'Sorry, the diff exceeded the maximum number of lines (20000)');
    expect(await ada.refusal('get_pull_request_diff', pull)).toMatch(/get_pull_request_files/);
  });

  test('refused pull requests and reviews have the reason of the host', async () => {
    const opening = { ...repository, title: 'Again', head: 'topic', base: 'main' };
    refuse(/^POST/, 422, 'Validation Failed', [{ message: 'A pull request already exists for ada:topic.' }]);
    expect(await ada.refusal('create_pull_request', opening)).toMatch(/already exists for ada:topic/);
    refuse(/^POST/, 422, 'Validation Failed', [{ resource: 'PullRequest', field: 'head', code: 'invalid' }]);
    expect(await ada.refusal('create_pull_request', opening)).toMatch(/head invalid/);
    refuse(/^POST/, 422, 'Unprocessable Entity', ['Can not approve your own pull request']);
    const review = (more: object) => ada.refusal('create_pull_request_review', { ...pull, ...more });
    expect(await review({ event: 'APPROVE' })).toMatch(/own pull request/);
    host.forget();
    expect(await review({ event: 'REQUEST_CHANGES' })).toMatch(/requires a body/);
    expect(await review({ event: 'COMMENT' })).toMatch(/COMMENT requires/);
    const both = [{ path: 'r.txt', line: 1, position: 1, body: 'x' }];
    expect(await review({ event: 'COMMENT', comments: both })).toMatch(/line or position/);
    const backwards = [{ path: 'r.txt', start_line: 2, line: 1, body: 'x' }];
    expect(await review({ event: 'COMMENT', comments: backwards })).toMatch(/start_line/);
    expect(host.requests).toEqual([]);
  });

  test('checks of both kinds are combined', async () => {
    const state = async () => (await ada.callTool('get_pull_request_status', pull)).state;
    const runs = (check_runs: readonly object[]) =>
      host.on(`GET ${AT}/commits/{ref}/check-runs`, { body: { total_count: check_runs.length, check_runs } });
    host.on(`GET ${AT}/commits/{ref}/status`, { body: { state: 'pending', total_count: 0, statuses: [] } });
    runs([]);
    expect(await state()).toBe('none');
    runs([{ name: 'tests', status: 'in_progress', conclusion: null }]);
    expect(await state()).toBe('pending');
    runs([{ name: 'tests' }, { name: 'docs', status: 'completed', conclusion: 'failure' }]);
    const status = await ada.callTool<{ checks: object[] }>('get_pull_request_status', pull);
    expect(status).toMatchObject({ state: 'failure', total_count: 2 });
    expect(status.checks[0]).toMatchObject({ name: 'docs', state: 'failure' });
  });

  test('a refused merge or branch update names the cause', async () => {
    const merge = () => ada.refusal('merge_pull_request', pull);
    for (const reason of ['Pull Request is not mergeable', 'Pull Request is still a draft']) {
      refuse(/\/merge$/, 405, reason);
      expect(await merge()).toMatch(new RegExp(`cannot be merged.*${reason}`));
    }
    refuse(/\/merge$/, 409, 'Head branch was modified. Review and try the merge again.');
    expect(await merge()).toMatch(/was not merged.*changed concurrently/);
    refuse(/^PUT/, 422, 'expected head sha didn’t match current head ref.');
    const stale = { ...pull, expected_head_sha: 'c'.repeat(40) };
    expect(await ada.refusal('update_pull_request_branch', stale)).toMatch(/expected head sha/);
  });
});

test('a search that the repository host refuses fails with the message of the host', async () => {
  refuse(/search/, 422, 'Only the first 1000 search results are available');
  const args = { query: 'a', page: 101, per_page: 100 };
  expect(await ada.refusal('search_users', args)).toMatch(/first 1000/);
});
