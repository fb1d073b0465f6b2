// Every tool of the repository host's server, called by a real client through the built program, against a host with real
// state: what is listed, what each call does over there, and what comes back.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HostClient, textOf } from '../../fixtures/rest-host/host-client.ts';
import { openIssue } from '../../fixtures/rest-host/issue.ts';
import type { Repository } from '../../fixtures/rest-host/repository.ts';
import { RestHost } from '../../fixtures/rest-host/rest-host.ts';

const TOKEN = 'token-of-ada-7Qm2';
const where = { owner: 'ada', repo: 'tools' };

/** The contract: required parameters, then those that may be left out. */
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

/** Some value each parameter takes. */
const sample: Readonly<Record<string, unknown>> = {
  ...where,
  path: 'README.md',
  content: 'text',
  message: 'Message',
  branch: 'main',
  query: 'tools',
  name: 'new',
  files: [{ path: 'a', content: 'b' }],
  title: 'Title',
  head: 'topic',
  base: 'main',
  issue_number: 1,
  pull_number: 1,
  body: 'Body',
  event: 'APPROVE',
};

interface Paged {
  readonly items: readonly Record<string, unknown>[];
  readonly page: number;
  readonly has_more: boolean;
  readonly next_page?: number;
  /** Of searches. */
  readonly total_count?: number;
}

let host: RestHost;
let tools: Repository;
let ada: HostClient;
let bob: HostClient;

beforeAll(async () => {
  host = await RestHost.start({ speed: 50 });
  host.addToken(TOKEN, 'ada');
  host.addToken('token-of-bob-5Xk9', 'bob');
  host.world.addUser('club', { type: 'Organization', name: 'The club' });
  tools = host.world.addRepository('ada/tools', {
    description: 'Tools for everybody',
    collaborators: ['bob'],
    files: { 'README.md': '# Tools\n', 'src/index.ts': 'export const answer = 42;\n' },
  });
  tools.milestones.set(3, 'Spring');
  [ada, bob] = await Promise.all([
    HostClient.start({ host, token: TOKEN }),
    HostClient.start({ host, token: 'token-of-bob-5Xk9' }),
  ]);
});

afterAll(async () => {
  // Nothing but messages came on stdout, and nothing was left to complain about.
  expect([ada.faults, ada.stderr, bob.faults, bob.stderr]).toEqual([[], '', [], '']);
  await Promise.all([ada.close(), bob.close()]);
  await host.stop();
});

/** A new branch with one commit on top of main. */
function branchWith(name: string, files: Record<string, string | null>): string {
  tools.moveRef(`refs/heads/${name}`, tools.head());
  return tools.commit({ branch: name, message: `Work on ${name}`, files });
}

async function opened(head: string, files: Record<string, string | null>): Promise<number> {
  branchWith(head, files);
  const { number } = await bob.give<{ number: number }>('create_pull_request', {
    ...where,
    title: `Add ${head}`,
    head,
    base: 'main',
  });
  return number;
}

describe('what is listed', () => {
  test('exactly the tools of the contract, each parameter as it says, and no unknown ones taken', () => {
    expect(ada.tools.map(({ name }) => name).sort()).toEqual(Object.keys(contract).sort());
    for (const { name, inputSchema } of ada.tools) {
      const [required = [], optional = []] = contract[name] ?? [];
      expect([...(inputSchema.required ?? [])].sort(), name).toEqual([...required].sort());
      const known = Object.keys(inputSchema.properties ?? {});
      expect(known, name).toEqual(expect.arrayContaining([...required, ...optional]));
      expect(inputSchema.additionalProperties, name).toBe(false);
    }
  });

  test('every tool has a title, a description, all hints, and words for each parameter', () => {
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

  test('every tool but the one that gives a text says the shape of its result', () => {
    const without = ada.tools.filter(({ outputSchema }) => outputSchema === undefined);
    expect(without.map(({ name }) => name)).toEqual(['get_pull_request_diff']);
  });

  test('what only reads is marked so, and what only reads alone is offered with --read-only', async () => {
    const reading = ada.tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
    expect(reading.every((name) => /^(get|list|search)_/.test(name))).toBe(true);
    const others = ada.tools.filter(({ annotations }) => !annotations?.readOnlyHint);
    expect(others.some(({ name }) => /^(get|list|search)_/.test(name))).toBe(false);
    const reader = await HostClient.start({ host, token: TOKEN, args: ['--read-only'] });
    expect(reader.tools.map(({ name }) => name).sort()).toEqual(reading.sort());
    expect(await reader.refusal('create_issue', { ...where, title: 'T' })).toMatch(/create_issue/);
    expect(reader.client.getInstructions()).toContain('read-only');
    await reader.close();
  });
});

describe('what is refused before anything is sent', () => {
  test('an unknown argument, a missing one, or one of another type, by every tool', async () => {
    host.requests.length = 0;
    for (const [name, [required]] of Object.entries(contract)) {
      const given = Object.fromEntries(required.map((parameter) => [parameter, sample[parameter]]));
      expect(await ada.refusal(name, { ...given, unheard_of: 1 }), name).toContain('unheard_of');
      const [first = ''] = required;
      expect(await ada.refusal(name, { ...given, [first]: undefined }), name).toContain(first);
      expect(await ada.refusal(name, { ...given, [first]: { a: 1 } }), name).toContain(first);
    }
    expect(host.requests).toEqual([]);
  });

  test('both spellings of one parameter at once', async () => {
    host.requests.length = 0;
    expect(await ada.refusal('search_users', { query: 'a', q: 'b' })).toMatch(/\bq\b/);
    expect(await ada.refusal('list_commits', { ...where, per_page: 1, perPage: 2 })).toContain('perPage');
    expect(host.requests).toEqual([]);
  });
});

describe('repositories', () => {
  test('create_repository makes one, and says when its name is taken', async () => {
    const made = await ada.give('create_repository', {
      name: 'fresh',
      description: 'New',
      private: true,
      autoInit: true,
    });
    expect(made).toMatchObject({ full_name: 'ada/fresh', private: true, default_branch: 'main' });
    expect(host.world.repository('ada', 'fresh')?.read('README.md')).toBe('# fresh\nNew');
    expect(await ada.refusal('create_repository', { name: 'fresh' })).toMatch(/422.*name already exists/);
  });

  test('fork_repository copies into the own account or an organisation, and tells that it takes time', async () => {
    const own = await bob.give('fork_repository', where);
    expect(own).toMatchObject({ repository: { full_name: 'bob/tools', fork: true } });
    expect(own.notice).toMatch(/copying/);
    const ours = await bob.give('fork_repository', { ...where, organization: 'club' });
    expect(ours).toMatchObject({ repository: { full_name: 'club/tools' } });
    expect(await bob.refusal('fork_repository', { ...where, organization: 'nobody' })).toContain('404');
  });

  test('create_branch begins at the default branch or at another one, and never moves one that is there', async () => {
    const main = tools.head();
    expect(await ada.give('create_branch', { ...where, branch: 'first' })).toEqual({
      branch: 'first',
      sha: main,
      from_branch: 'main',
    });
    const ahead = tools.commit({ branch: 'first', files: { 'first.txt': '1' } });
    await ada.give('create_branch', { ...where, branch: 'feature/second', from_branch: 'first' });
    expect(tools.head('feature/second')).toBe(ahead);
    const again = await ada.refusal('create_branch', { ...where, branch: 'first', from_branch: 'main' });
    expect(again).toMatch(/first exists already/);
    expect(tools.head('first')).toBe(ahead);
    const lost = await ada.refusal('create_branch', { ...where, branch: 'x', from_branch: 'nowhere' });
    expect(lost).toMatch(/no branch nowhere/);
    host.world.addRepository('ada/hollow');
    const hollow = await ada.refusal('create_branch', { owner: 'ada', repo: 'hollow', branch: 'x' });
    expect(hollow).toMatch(/empty/);
  });

  test('list_commits gives the log of a branch in pages', async () => {
    for (const number of [1, 2, 3, 4, 5])
      tools.commit({ branch: 'logged', message: `No ${number}`, files: { n: `${number}` } });
    const first = await ada.give<Paged>('list_commits', { ...where, sha: 'logged', per_page: 2 });
    expect(first).toMatchObject({ page: 1, has_more: true, next_page: 2 });
    expect(first.items.map(({ message }) => message)).toEqual(['No 5', 'No 4']);
    const last = await ada.give<Paged>('list_commits', { ...where, sha: 'logged', perPage: 2, page: 3 });
    expect(last.items.map(({ message }) => message)).toEqual(['No 1']);
    expect(last).toMatchObject({ page: 3, has_more: false });
    expect(last.next_page).toBeUndefined();
    expect(first.items[0]).toMatchObject({ sha: tools.head('logged'), author: 'ada' });
    expect(await ada.refusal('list_commits', { owner: 'ada', repo: 'hollow' })).toMatch(/empty/i);
  });
});

describe('issues', () => {
  test('an issue is created, read, changed, commented on and closed', async () => {
    const made = await ada.give<{ number: number }>('create_issue', {
      ...where,
      title: 'It breaks',
      body: 'Badly, since yesterday.',
      labels: ['bug', 'help wanted'],
      assignees: ['bob'],
      milestone: 3,
    });
    const issue = { ...where, issue_number: made.number };
    expect(await ada.give('get_issue', issue)).toMatchObject({
      title: 'It breaks',
      body: 'Badly, since yesterday.',
      state: 'open',
      labels: ['bug', 'help wanted'],
      assignees: ['bob'],
      milestone: { number: 3, title: 'Spring' },
      comments: 0,
      author: 'ada',
    });
    const said = await bob.give('add_issue_comment', { ...issue, body: 'Seen.' });
    expect(said).toMatchObject({ author: 'bob' });
    const changed = await ada.give('update_issue', {
      ...issue,
      title: 'It broke',
      body: '',
      state: 'closed',
      labels: [],
      assignees: [],
    });
    expect(changed).toMatchObject({ title: 'It broke', state: 'closed', comments: 1 });
    expect(tools.issues.get(made.number)).toMatchObject({
      title: 'It broke',
      body: '',
      state: 'closed',
      labels: [],
      assignees: [],
      milestone: 3,
      comments: [{ body: 'Seen.' }],
    });
    await ada.give('update_issue', { ...issue, state: 'open' });
    expect(tools.issues.get(made.number)).toMatchObject({ state: 'open', title: 'It broke' });
    const nothing = await ada.refusal('update_issue', issue);
    expect(nothing).toMatch(/at least one/);
  });

  test('labels may be a text or an array, numbers may be written as text', async () => {
    const made = await ada.give<{ number: number }>('create_issue', {
      ...where,
      title: 'Labelled',
      labels: 'red, dark green',
    });
    expect(made).toMatchObject({ labels: ['red', 'dark green'] });
    await ada.give('update_issue', { ...where, issue_number: String(made.number), labels: 'blue,red' });
    expect(tools.issues.get(made.number)?.labels).toEqual(['blue', 'red']);
    for (const labels of ['blue,red', ['blue', 'red']]) {
      const found = await ada.give<Paged>('list_issues', { ...where, labels });
      expect(found.items.map(({ number }) => number)).toEqual([made.number]);
    }
  });

  test('list_issues filters, sorts and pages; pull requests among them are marked', async () => {
    const list = host.world.addRepository('ada/lists', { collaborators: ['bob'], files: { a: '1' } });
    const at = { owner: 'ada', repo: 'lists' };
    list.moveRef('refs/heads/topic', list.head());
    list.commit({ branch: 'topic', files: { b: '2' } });
    for (const title of ['one', 'two', 'three', 'four']) await bob.give('create_issue', { ...at, title });
    await bob.give('create_pull_request', { ...at, title: 'five', head: 'topic', base: 'main' });
    await bob.give('update_issue', { ...at, issue_number: 2, state: 'closed' });
    const numbers = async (more: object) =>
      (await ada.give<Paged>('list_issues', { ...at, ...more })).items.map(({ number }) => number);
    expect(await numbers({})).toEqual([5, 4, 3, 1]);
    expect(await numbers({ state: 'closed' })).toEqual([2]);
    expect(await numbers({ state: 'all', direction: 'asc' })).toEqual([1, 2, 3, 4, 5]);
    expect((await numbers({ state: 'all', sort: 'updated' }))[0]).toBe(2);
    expect(await numbers({ since: '2030-01-01T00:00:00Z' })).toEqual([]);
    const { items, ...position } = await ada.give<Paged>('list_issues', { ...at, perPage: 2 });
    expect(position).toEqual({ page: 1, has_more: true, next_page: 2 });
    expect(items.map(({ is_pull_request }) => is_pull_request)).toEqual([true, undefined]);
    expect(await ada.refusal('list_issues', { ...at, state: 'opened' })).toContain('state');
  });

  test('a page of a hundred long issues stays short enough for a model', async () => {
    const many = host.world.addRepository('ada/many', { files: { a: '1' } });
    for (let index = 0; index < 101; index++)
      openIssue(host.world, many, { title: `Issue ${index}`, body: 'long text '.repeat(6_000) });
    const given = { owner: 'ada', repo: 'many', per_page: 100 };
    const page = await ada.give<Paged>('list_issues', given);
    expect(page.items).toHaveLength(100);
    expect(page.next_page).toBe(2);
    expect(JSON.stringify(page).length).toBeLessThan(100_000);
    const found = await ada.give<Paged>('search_issues', { query: 'repo:ada/many long', per_page: 100 });
    expect(found.total_count).toBe(101);
    expect(JSON.stringify(found).length).toBeLessThan(100_000);
    const whole = await ada.give<{ body: string }>('get_issue', {
      ...given,
      per_page: undefined,
      issue_number: 1,
    });
    expect(whole.body).toHaveLength(60_000);
    host.world.repositories.delete('ada/many');
  });

  test('what is wrong with an issue is told, and what is gone is said to be gone', async () => {
    const wrong = await ada.refusal('create_issue', { ...where, title: 'T', assignees: ['nobody'] });
    expect(wrong).toMatch(/422.*assignees/);
    expect(await ada.refusal('create_issue', { ...where, title: 'T', milestone: 99 })).toMatch(/milestone/);
    tools.deletedIssues.add(900);
    expect(await ada.refusal('get_issue', { ...where, issue_number: 900 })).toMatch(/410.*deleted/);
    tools.deletedIssues.delete(900);
    expect(await ada.refusal('get_issue', { ...where, issue_number: 901 })).toMatch(/404/);
  });
});

describe('pull requests', () => {
  test('one is created, found, and read with its files and its diff', async () => {
    const number = await opened('topic', {
      'README.md': '# Tools\n\nMore of them.\n',
      'docs/a b ü.md': 'one\ntwo\n',
    });
    const pull = { ...where, pull_number: number };
    expect(await ada.give('get_pull_request', pull)).toMatchObject({
      number,
      title: 'Add topic',
      state: 'open',
      is_merged: false,
      is_mergeable: true,
      mergeable_state: 'clean',
      author: 'bob',
      head: { ref: 'topic', sha: tools.head('topic') },
      base: { ref: 'main' },
      commits: 1,
      changed_files: 2,
      additions: 4,
      deletions: 0,
    });
    const files = await ada.give<Paged>('get_pull_request_files', pull);
    expect(files.items.map(({ path, filename, status }) => [path ?? filename, status])).toEqual([
      ['README.md', 'modified'],
      ['docs/a b ü.md', 'added'],
    ]);
    const first = await ada.give<Paged>('get_pull_request_files', { ...pull, per_page: 1 });
    expect(first).toMatchObject({ has_more: true, next_page: 2 });
    const diff = textOf(await ada.call('get_pull_request_diff', pull));
    expect(diff).toContain('diff --git a/README.md b/README.md\nindex ');
    expect(diff).toContain('"b/docs/a b \\303\\274.md"');
    expect(diff).toContain('@@ -0,0 +1,2 @@\n+one\n+two\n');
    for (const head of ['topic', 'ada:topic']) {
      const listed = await ada.give<Paged>('list_pull_requests', { ...where, head, base: 'main' });
      expect(listed.items.map((each) => each.number)).toEqual([number]);
    }
    expect((await ada.give<Paged>('list_pull_requests', { ...where, base: 'other' })).items).toEqual([]);
    const again = { ...where, title: 'Again', head: 'topic', base: 'main' };
    expect(await bob.refusal('create_pull_request', again)).toMatch(/already exists for ada:topic/);
    expect(await bob.refusal('create_pull_request', { ...again, head: 'none' })).toMatch(/head invalid/);
  });

  test('a long diff comes in parts that make up the whole', async () => {
    const lines = Array.from({ length: 9_000 }, (_, index) => `line ${index} of a long file\n`).join('');
    const number = await opened('long', { 'long.txt': lines });
    let diff = '';
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const text = textOf(await ada.call('get_pull_request_diff', { ...where, pull_number: number, offset }));
      const more = /\n\[The diff goes on: it has \d+ characters\. Call again with offset (\d+)\.\]$/.exec(
        text,
      );
      diff += more === null ? text : text.slice(0, more.index);
      offset = more === null ? undefined : Number(more[1]);
    }
    expect(diff.split('\n').filter((line) => line.startsWith('+line'))).toHaveLength(9_000);
    expect(diff.endsWith('+line 8999 of a long file\n')).toBe(true);
    const { items } = await ada.give<Paged>('get_pull_request_files', { ...where, pull_number: number });
    expect(JSON.stringify(items).length).toBeLessThan(10_000);
  });

  test('one from a fork is opened under its account, as a draft if so wanted', async () => {
    const copy = host.world.repository('bob', 'tools');
    copy?.moveRef('refs/heads/from-afar', tools.head());
    copy?.commit({ branch: 'from-afar', files: { 'afar.txt': 'x' } });
    const made = await bob.give<{ number: number }>('create_pull_request', {
      ...where,
      title: 'From afar',
      body: 'Please.',
      head: 'bob:from-afar',
      base: 'main',
      draft: true,
      maintainer_can_modify: false,
    });
    const read = await ada.give('get_pull_request', { ...where, pull_number: made.number });
    expect(read).toMatchObject({ is_draft: true, body: 'Please.', head: { repository: 'bob/tools' } });
    const merged = await ada.refusal('merge_pull_request', { ...where, pull_number: made.number });
    expect(merged).toMatch(/cannot be merged.*draft/);
  });

  test('a review is made with comments on lines, and read again', async () => {
    const number = await opened('reviewed', { 'r.txt': 'one\ntwo\nthree\nfour\n' });
    const pull = { ...where, pull_number: number };
    const review = await ada.give('create_pull_request_review', {
      ...pull,
      event: 'REQUEST_CHANGES',
      body: 'Not yet.',
      comments: [
        { path: 'r.txt', line: 2, side: 'RIGHT', body: 'Why two?' },
        { path: 'r.txt', start_line: 3, start_side: 'RIGHT', line: 4, body: 'And these?' },
        { path: 'r.txt', position: 1, body: 'By position.' },
      ],
    });
    expect(review).toMatchObject({ state: 'CHANGES_REQUESTED', author: 'ada' });
    const reviews = await bob.give<Paged>('get_pull_request_reviews', pull);
    expect(reviews.items).toMatchObject([{ state: 'CHANGES_REQUESTED', body: 'Not yet.', author: 'ada' }]);
    const comments = await bob.give<Paged>('get_pull_request_comments', pull);
    expect(comments.items.map(({ line, start_line, body }) => [line, start_line, body])).toEqual([
      [2, undefined, 'Why two?'],
      [4, 3, 'And these?'],
      [1, undefined, 'By position.'],
    ]);
    const approved = await ada.give('create_pull_request_review', { ...pull, event: 'APPROVE' });
    expect(approved.state).toBe('APPROVED');
    const seen = await ada.give('create_pull_request_review', {
      ...pull,
      event: 'COMMENT',
      comments: [{ path: 'r.txt', line: 1, body: 'Fine.' }],
    });
    expect(seen.state).toBe('COMMENTED');
  });

  test('a review that cannot be is refused with the reason', async () => {
    const number = await opened('refused', { 'r.txt': 'one\n' });
    const pull = { ...where, pull_number: number };
    host.requests.length = 0;
    const bare = await ada.refusal('create_pull_request_review', { ...pull, event: 'REQUEST_CHANGES' });
    expect(bare).toMatch(/needs a body/);
    expect(await ada.refusal('create_pull_request_review', { ...pull, event: 'COMMENT' })).toMatch(
      /COMMENT needs/,
    );
    const both = [{ path: 'r.txt', line: 1, position: 1, body: 'x' }];
    const unclear = await ada.refusal('create_pull_request_review', {
      ...pull,
      event: 'COMMENT',
      comments: both,
    });
    expect(unclear).toMatch(/line or position/);
    expect(host.requests).toEqual([]);
    const own = await bob.refusal('create_pull_request_review', { ...pull, event: 'APPROVE' });
    expect(own).toMatch(/own pull request/);
    const outside = [{ path: 'r.txt', line: 77, body: 'x' }];
    const lost = await ada.refusal('create_pull_request_review', {
      ...pull,
      event: 'COMMENT',
      comments: outside,
    });
    expect(lost).toMatch(/Line could not be resolved/);
    expect(tools.issues.get(number)?.pull?.reviews).toEqual([]);
  });

  test('its checks are summed up', async () => {
    const number = await opened('checked', { 'c.txt': 'c\n' });
    const pull = { ...where, pull_number: number };
    const sha = tools.head('checked') ?? '';
    const state = async () => (await ada.give('get_pull_request_status', pull)).state;
    expect(await state()).toBe('none');
    tools.addStatus(sha, 'ci/build', 'success', 'All green');
    expect(await state()).toBe('success');
    tools.addCheckRun(sha, 'tests', null);
    expect(await state()).toBe('pending');
    tools.addCheckRun(sha, 'docs', 'failure');
    const status = await ada.give<{ checks: object[] }>('get_pull_request_status', pull);
    expect(status).toMatchObject({ sha, state: 'failure', total_count: 3 });
    expect(status.checks).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'ci/build', state: 'success', description: 'All green' }),
        expect.objectContaining({ name: 'tests', state: 'pending' }),
        expect.objectContaining({ name: 'docs', state: 'failure' }),
      ]),
    );
  });

  test('its branch takes in what is new in the base', async () => {
    const number = await opened('behind', { 'behind.txt': 'b\n' });
    const pull = { ...where, pull_number: number };
    expect(await bob.refusal('update_pull_request_branch', pull)).toMatch(/no new commits/);
    tools.commit({ files: { 'ahead.txt': 'a\n' } });
    const expected_head_sha = 'c'.repeat(40);
    const stale = await bob.refusal('update_pull_request_branch', { ...pull, expected_head_sha });
    expect(stale).toMatch(/expected head sha/);
    await bob.give('update_pull_request_branch', { ...pull, expectedHeadSha: tools.head('behind') });
    expect(tools.read('ahead.txt', 'behind')).toBe('a\n');
  });

  test('it is merged in the way that was asked for, with the words that were given', async () => {
    const number = await opened('merged', { 'merged.txt': 'm\n' });
    const pull = { ...where, pull_number: number };
    const stale = await ada.refusal('merge_pull_request', { ...pull, sha: 'c'.repeat(40) });
    expect(stale).toMatch(/was not merged.*changed at the same time/);
    const done = await ada.give('merge_pull_request', {
      ...pull,
      merge_method: 'squash',
      commit_title: 'All of it',
      commit_message: 'In one.',
    });
    expect(done).toMatchObject({ merged: true, sha: tools.head() });
    expect(tools.resolve('main')).toMatchObject({ message: 'All of it\n\nIn one.' });
    expect(tools.resolve('main')?.parents).toHaveLength(1);
    expect(await ada.give('get_pull_request', pull)).toMatchObject({
      state: 'closed',
      is_merged: true,
      merge_commit_sha: done.sha,
    });
    expect(await ada.refusal('merge_pull_request', pull)).toMatch(/cannot be merged/);
    const ordinary = await opened('ordinary', { 'ordinary.txt': 'o\n' });
    await ada.give('merge_pull_request', { ...where, pull_number: ordinary });
    expect(tools.resolve('main')?.parents).toHaveLength(2);
  });

  test('a conflict is not merged, and is told', async () => {
    const number = await opened('conflict', { 'README.md': '# Mine\n' });
    const before = tools.commit({ files: { 'README.md': '# Yours\n' } });
    const pull = { ...where, pull_number: number };
    expect(await ada.give('get_pull_request', pull)).toMatchObject({
      is_mergeable: false,
      mergeable_state: 'dirty',
    });
    expect(await ada.refusal('merge_pull_request', pull)).toMatch(/cannot be merged.*not mergeable/);
    expect(tools.head()).toBe(before);
    tools.mergeMethods.delete('rebase');
    const way = await ada.refusal('merge_pull_request', { ...pull, merge_method: 'rebase' });
    tools.mergeMethods.add('rebase');
    expect(way).toMatch(/Rebase merges are not allowed/);
    host.failNext({
      when: /\/merge$/,
      status: 409,
      body: { message: 'Head branch was modified. Review and try the merge again.', status: '409' },
    });
    expect(await ada.refusal('merge_pull_request', pull)).toMatch(/not merged.*changed at the same time/);
  });
});

describe('search', () => {
  test('each kind of search finds what it is for, under both names of its parameter', async () => {
    for (const name of ['query', 'q']) {
      const repositories = await bob.give<Paged>('search_repositories', { [name]: 'tools user:ada' });
      expect(repositories).toMatchObject({ total_count: 1, items: [{ full_name: 'ada/tools' }] });
      const code = await bob.give<Paged>('search_code', { [name]: 'answer repo:ada/tools' });
      expect(code.items).toMatchObject([{ repository: 'ada/tools', path: 'src/index.ts' }]);
      const users = await bob.give<Paged>('search_users', { [name]: 'club type:org' });
      expect(users.items).toMatchObject([{ login: 'club', type: 'Organization' }]);
      const issues = await bob.give<Paged>('search_issues', {
        [name]: 'broke repo:ada/tools',
      });
      expect(issues.items).toMatchObject([{ title: 'It broke', repository: 'ada/tools' }]);
    }
  });

  test('search_issues finds pull requests too, tells them apart, and pages', async () => {
    const all = await ada.give<Paged>('search_issues', { query: 'repo:ada/lists', per_page: 3 });
    expect(all).toMatchObject({ total_count: 5, has_more: true, next_page: 2 });
    const pulls = await ada.give<Paged>('search_issues', { query: 'repo:ada/lists is:pr' });
    expect(pulls.items).toMatchObject([{ title: 'five', is_pull_request: true }]);
  });

  test('a query arrives as it was written', async () => {
    host.requests.length = 0;
    const query = 'c++ "a & b" #1 ünï 100% in:name';
    await ada.give('search_repositories', { query, sort: 'stars', order: 'desc', page: 2, perPage: 5 });
    const url = new URL(host.requests[0]?.url ?? '', host.url);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      q: query,
      sort: 'stars',
      order: 'desc',
      page: '2',
      per_page: '5',
    });
  });

  test('what cannot be searched is said', async () => {
    expect(await ada.refusal('search_issues', { query: 'repo:no/such x' })).toMatch(
      /422.*cannot be searched/,
    );
    expect(await ada.refusal('search_users', { query: 'a', page: 101, per_page: 100 })).toMatch(/first 1000/);
  });
});
