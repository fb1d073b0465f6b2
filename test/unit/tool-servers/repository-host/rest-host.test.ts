// The host that stands in for the real one, asked by Octokit: each route once, and what the refusals look like.

import { request as plainRequest } from 'node:http';
import { Octokit } from '@octokit/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { secondaryLimit } from '../../../fixtures/rest-host/fault.ts';
import type { Repository } from '../../../fixtures/rest-host/repository.ts';
import { RestHost } from '../../../fixtures/rest-host/rest-host.ts';

const TOKEN = 'host-token-of-ada';
let host: RestHost;
let ada: Octokit;
let bob: Octokit;
let nobody: Octokit;
let tools: Repository;

const where = { owner: 'ada', repo: 'tools' } as const;

beforeAll(async () => {
  host = await RestHost.start();
  host.addToken(TOKEN, 'ada');
  host.addToken('host-token-of-bob', 'bob');
  host.addToken('host-token-to-read', 'ada', true);
  host.world.addUser('club', { type: 'Organization', name: 'The club' });
  tools = host.world.addRepository('ada/tools', {
    description: 'Tools for everybody',
    collaborators: ['bob'],
    files: {
      'README.md': '# Tools\n',
      'src/index.ts': 'export const one = 1;\n',
      'src/deep/er.ts': 'export const two = 2;\n',
    },
  });
  host.world.addRepository('ada/hidden', { isPrivate: true, files: { 'secret.txt': 'ssh\n' } });
  host.world.addRepository('ada/empty');
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  ada = new Octokit({ baseUrl: host.url, auth: TOKEN, log });
  bob = new Octokit({ baseUrl: host.url, auth: 'host-token-of-bob', log });
  nobody = new Octokit({ baseUrl: host.url, log });
});

afterAll(() => host.stop());
beforeEach(() => host.forget());

interface Refused {
  readonly status: number;
  readonly response: {
    readonly data: {
      readonly message: string;
      readonly errors?: readonly unknown[];
      readonly status: string;
    };
    readonly headers: Record<string, string>;
  };
}

async function refusal(asked: Promise<unknown>): Promise<Refused> {
  return await asked.then(
    () => {
      throw new Error('it was expected to be refused');
    },
    (error) => error as Refused,
  );
}

async function message(asked: Promise<unknown>): Promise<string> {
  const { status, response } = await refusal(asked);
  expect(response.data.status).toBe(String(status));
  return `${status} ${response.data.message}`;
}

describe('repositories and people', () => {
  test('a repository is described in full', async () => {
    const { data } = await ada.request('GET /repos/{owner}/{repo}', where);
    expect(data).toMatchObject({
      full_name: 'ada/tools',
      default_branch: 'main',
      language: 'TypeScript',
      permissions: { push: true },
      owner: { login: 'ada', type: 'User' },
    });
  });

  test('a private repository is not there for others', async () => {
    const asked = { owner: 'ada', repo: 'hidden' };
    expect((await ada.request('GET /repos/{owner}/{repo}', asked)).data.private).toBe(true);
    expect(await message(bob.request('GET /repos/{owner}/{repo}', asked))).toBe('404 Not Found');
  });

  test('a repository is made for oneself and for an organisation, and its name is taken then', async () => {
    const made = await ada.request('POST /user/repos', { name: 'new one', auto_init: true, private: true });
    expect(made).toMatchObject({ status: 201, data: { full_name: 'ada/new-one', private: true } });
    const again = await refusal(ada.request('POST /user/repos', { name: 'new-one' }));
    expect(again.response.data).toMatchObject({
      message: 'Repository creation failed.',
      errors: [{ field: 'name', message: 'name already exists on this account' }],
    });
    const ours = await ada.request('POST /orgs/{org}/repos', { org: 'club', name: 'shared' });
    expect(ours.data.full_name).toBe('club/shared');
  });

  test('a copy belongs to who asked for it, knows its parent, and is listed', async () => {
    const copy = await bob.request('POST /repos/{owner}/{repo}/forks', where);
    expect(copy).toMatchObject({
      status: 202,
      data: { full_name: 'bob/tools', fork: true, parent: { full_name: 'ada/tools' } },
    });
    const forks = await ada.request('GET /repos/{owner}/{repo}/forks', where);
    expect(forks.data.map(({ full_name }) => full_name)).toEqual(['bob/tools']);
    expect(
      await message(bob.request('POST /repos/{owner}/{repo}/forks', { ...where, repo: 'empty' })),
    ).toMatch(/^403 .*no Git content/);
  });

  test('people are known by their name, oneself by the token', async () => {
    expect((await bob.request('GET /user')).data.login).toBe('bob');
    expect((await bob.request('GET /users/{username}', { username: 'club' })).data.type).toBe('Organization');
    expect(await message(nobody.request('GET /user'))).toBe('401 Requires authentication');
    expect(await message(bob.request('GET /users/{username}', { username: 'none' }))).toBe('404 Not Found');
  });
});

describe('files', () => {
  test('a file comes in base64 with line ends, a folder as a list', async () => {
    tools.commit({ files: { 'long.txt': 'x'.repeat(100) } });
    const file = await ada.request('GET /repos/{owner}/{repo}/contents/{path}', {
      ...where,
      path: 'long.txt',
    });
    const { content, encoding } = file.data as { content: string; encoding: string };
    expect(encoding).toBe('base64');
    expect(content).toMatch(/^.{60}\n.{60}\n.{16}\n$/);
    expect(Buffer.from(content, 'base64').toString()).toBe('x'.repeat(100));
    const folder = await ada.request('GET /repos/{owner}/{repo}/contents/{path}', { ...where, path: 'src' });
    expect(folder.data).toMatchObject([
      { name: 'deep', type: 'dir', path: 'src/deep' },
      { name: 'index.ts', type: 'file', path: 'src/index.ts' },
    ]);
    const root = await ada.request('GET /repos/{owner}/{repo}/contents/{path}', { ...where, path: '' });
    expect((root.data as { name: string }[]).map(({ name }) => name)).toEqual([
      'README.md',
      'long.txt',
      'src',
    ]);
  });

  test('beyond a mebibyte a file has no content, but can be had raw and as a blob', async () => {
    const text = 'y'.repeat(1024 * 1024 + 1);
    tools.commit({ branch: 'big', files: { 'big.txt': text } });
    const asked = { ...where, path: 'big.txt', ref: 'big' };
    const file = await ada.request('GET /repos/{owner}/{repo}/contents/{path}', asked);
    expect(file.data).toMatchObject({ content: '', encoding: 'none', size: text.length });
    const raw = await ada.request('GET /repos/{owner}/{repo}/contents/{path}', {
      ...asked,
      mediaType: { format: 'raw' },
    });
    expect(String(raw.data)).toHaveLength(text.length);
    const { sha } = file.data as { sha: string };
    const blob = await ada.request('GET /repos/{owner}/{repo}/git/blobs/{file_sha}', {
      ...where,
      file_sha: sha,
    });
    expect(Buffer.from(blob.data.content, 'base64').toString()).toBe(text);
  });

  test('a link to a file gives the file, one to nowhere and a submodule tell what they are', async () => {
    tools.commit({ branch: 'odd', files: { 'real.txt': 'real\n' } });
    const link = (target: string) => ({
      mode: '120000' as const,
      sha: tools.objects.writeBlob(Buffer.from(target)),
    });
    tools.addEntry('src/link', link('../real.txt'), 'odd');
    tools.addEntry('lost', link('nowhere'), 'odd');
    tools.commit({
      branch: 'odd',
      files: { '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = https://host.test/a/b\n' },
    });
    tools.addEntry('sub', { mode: '160000', sha: 'a'.repeat(40) }, 'odd');
    const get = async (path: string) =>
      (await ada.request('GET /repos/{owner}/{repo}/contents/{path}', { ...where, path, ref: 'odd' })).data;
    expect(await get('src/link')).toMatchObject({ type: 'file', size: 5 });
    expect(await get('lost')).toMatchObject({ type: 'symlink', target: 'nowhere' });
    expect(await get('sub')).toMatchObject({ type: 'submodule', submodule_git_url: 'https://host.test/a/b' });
    const list = (await get('')) as { name: string; type: string }[];
    expect(list.find(({ name }) => name === 'sub')?.type).toBe('file');
  });

  test('what is not there, not a branch, or an empty repository is said in different words', async () => {
    const get = (more: object) =>
      message(ada.request('GET /repos/{owner}/{repo}/contents/{path}', { ...where, path: 'none', ...more }));
    expect(await get({})).toBe('404 Not Found');
    expect(await get({ ref: 'none' })).toBe('404 No commit found for the ref none');
    expect(await get({ repo: 'empty' })).toBe('404 This repository is empty.');
  });

  test('a write names the blob it replaces', async () => {
    const put = 'PUT /repos/{owner}/{repo}/contents/{path}';
    const one = {
      ...where,
      path: 'notes.md',
      message: 'Notes',
      content: Buffer.from('one').toString('base64'),
    };
    const made = await ada.request(put, one);
    expect(made.status).toBe(201);
    expect(await message(ada.request(put, one))).toBe('422 Invalid request.\n\n"sha" wasn\'t supplied.');
    expect(await message(ada.request(put, { ...one, sha: 'b'.repeat(40) }))).toBe(
      `409 notes.md does not match ${'b'.repeat(40)}`,
    );
    const changed = await ada.request(put, { ...one, content: 'dHdv', sha: made.data.content?.sha ?? '' });
    expect(changed.status).toBe(200);
    expect(tools.read('notes.md')).toBe('two');
    expect(await message(ada.request(put, { ...one, path: 'src' }))).toMatch(/"sha" wasn't supplied/);
    expect(await message(ada.request(put, { ...one, path: 'x', branch: 'none' }))).toBe(
      '404 Branch none not found',
    );
    expect(await message(ada.request(put, { ...one, path: 'x', content: '*' }))).toBe(
      '422 content is not valid Base64',
    );
    const first = await ada.request(put, { ...one, repo: 'empty' });
    expect(first.data.commit.parents).toEqual([]);
  });
});

describe('git data', () => {
  test('a commit is put together of its parts, and a branch moved onto it without force', async () => {
    const head = (
      await ada.request('GET /repos/{owner}/{repo}/git/ref/{ref}', { ...where, ref: 'heads/main' })
    ).data;
    const parent = await ada.request('GET /repos/{owner}/{repo}/git/commits/{commit_sha}', {
      ...where,
      commit_sha: head.object.sha,
    });
    const blob = await ada.request('POST /repos/{owner}/{repo}/git/blobs', {
      ...where,
      content: 'aGk=',
      encoding: 'base64',
    });
    const tree = await ada.request('POST /repos/{owner}/{repo}/git/trees', {
      ...where,
      base_tree: parent.data.tree.sha,
      tree: [
        { path: 'greetings/hi.txt', mode: '100644', type: 'blob', sha: blob.data.sha },
        { path: 'src/deep/er.ts', mode: '100644', type: 'blob', sha: null },
        { path: 'inline.txt', mode: '100644', type: 'blob', content: 'in line' },
      ],
    });
    const commit = await ada.request('POST /repos/{owner}/{repo}/git/commits', {
      ...where,
      message: 'By parts',
      tree: tree.data.sha,
      parents: [head.object.sha],
    });
    tools.refLog.length = 0;
    const moved = await ada.request('PATCH /repos/{owner}/{repo}/git/refs/{ref}', {
      ...where,
      ref: 'heads/main',
      sha: commit.data.sha,
    });
    expect(moved.data.object.sha).toBe(commit.data.sha);
    expect(tools.refLog).toEqual([
      { ref: 'refs/heads/main', before: head.object.sha, after: commit.data.sha, isForced: false },
    ]);
    expect(tools.read('greetings/hi.txt')).toBe('hi');
    expect(tools.read('inline.txt')).toBe('in line');
    expect(tools.read('src/deep/er.ts')).toBeUndefined();
    const listed = await ada.request('GET /repos/{owner}/{repo}/git/trees/{tree_sha}', {
      ...where,
      tree_sha: 'main',
      recursive: '1',
    });
    expect(listed.data.tree.map(({ path }) => path)).toContain('greetings/hi.txt');
    const back = { ...where, ref: 'heads/main', sha: head.object.sha };
    expect(await message(ada.request('PATCH /repos/{owner}/{repo}/git/refs/{ref}', back))).toBe(
      '422 Update is not a fast forward',
    );
  });

  test('references are made once, in good names, and end when they are removed', async () => {
    const sha = tools.head() ?? '';
    const make = (ref: string) => ada.request('POST /repos/{owner}/{repo}/git/refs', { ...where, ref, sha });
    expect((await make('refs/heads/topic/one')).status).toBe(201);
    expect(await message(make('refs/heads/topic/one'))).toBe('422 Reference already exists');
    expect(await message(make('refs/heads/a..b'))).toBe('422 refs/heads/a..b is not a valid ref name.');
    expect(await message(make('topic'))).toMatch(/^422 Reference name must start/);
    const found = await ada.request('GET /repos/{owner}/{repo}/git/matching-refs/{ref}', {
      ...where,
      ref: 'heads/topic',
    });
    expect(found.data).toHaveLength(1);
    const gone = await ada.request('DELETE /repos/{owner}/{repo}/git/refs/{ref}', {
      ...where,
      ref: 'heads/topic/one',
    });
    expect(gone.status).toBe(204);
    const get = ada.request('GET /repos/{owner}/{repo}/git/ref/{ref}', { ...where, ref: 'heads/topic/one' });
    expect(await message(get)).toBe('404 Not Found');
  });

  test('an empty repository takes no objects', async () => {
    host.world.addRepository('ada/void');
    const asked = ada.request('POST /repos/{owner}/{repo}/git/blobs', {
      owner: 'ada',
      repo: 'void',
      content: 'x',
    });
    expect(await message(asked)).toBe('409 Git Repository is empty.');
  });
});

describe('branches and commits', () => {
  test('branches are listed and described', async () => {
    const all = await ada.request('GET /repos/{owner}/{repo}/branches', where);
    expect(all.data.map(({ name }) => name)).toContain('main');
    const main = await ada.request('GET /repos/{owner}/{repo}/branches/{branch}', {
      ...where,
      branch: 'main',
    });
    expect(main.data.commit.sha).toBe(tools.head());
    const none = ada.request('GET /repos/{owner}/{repo}/branches/{branch}', { ...where, branch: 'no/ne' });
    expect(await message(none)).toBe('404 Branch not found');
  });

  test('commits come the newest first, in pages that name the next one', async () => {
    for (const number of [1, 2, 3, 4, 5])
      tools.commit({ branch: 'log', message: `No ${number}`, files: { n: `${number}` } });
    const first = await ada.request('GET /repos/{owner}/{repo}/commits', {
      ...where,
      sha: 'log',
      per_page: 2,
    });
    expect(first.data.map(({ commit }) => commit.message)).toEqual(['No 5', 'No 4']);
    expect(first.headers.link).toMatch(
      new RegExp(`<${host.url}/repositories/${tools.id}/commits\\?sha=log&per_page=2&page=2>; rel="next"`),
    );
    const second = await fetch(/<([^>]+)>; rel="next"/.exec(first.headers.link ?? '')?.[1] ?? '', {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(await second.json()).toMatchObject([
      { commit: { message: 'No 3' } },
      { commit: { message: 'No 2' } },
    ]);
  });

  test('a commit tells what it changed; its checks are summed up', async () => {
    const sha = tools.commit({ branch: 'log', files: { n: 'six\n', m: 'new\n' } });
    const one = await ada.request('GET /repos/{owner}/{repo}/commits/{ref}', { ...where, ref: sha });
    expect(one.data.files?.map(({ filename, status }) => [filename, status])).toEqual([
      ['m', 'added'],
      ['n', 'modified'],
    ]);
    const status = async () =>
      (await ada.request('GET /repos/{owner}/{repo}/commits/{ref}/status', { ...where, ref: sha })).data;
    expect(await status()).toMatchObject({ state: 'pending', total_count: 0 });
    tools.addStatus(sha, 'ci', 'success');
    expect(await status()).toMatchObject({ state: 'success', statuses: [{ context: 'ci' }] });
    tools.addStatus(sha, 'lint', 'failure');
    expect((await status()).state).toBe('failure');
    const runs = await ada.request('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', {
      ...where,
      ref: sha,
    });
    expect(runs.data.total_count).toBe(0);
    tools.addCheckRun(sha, 'build', null);
    const later = await ada.request('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', {
      ...where,
      ref: sha,
    });
    expect(later.data.check_runs).toMatchObject([{ name: 'build', status: 'in_progress', conclusion: null }]);
  });

  test('two branches are compared from where they parted', async () => {
    tools.commit({ branch: 'apart', files: { a: '1' } });
    const compared = await ada.request('GET /repos/{owner}/{repo}/compare/{basehead}', {
      ...where,
      basehead: 'log...apart',
    });
    expect(compared.data).toMatchObject({ status: 'diverged', ahead_by: 1 });
  });
});

describe('issues', () => {
  test('an issue lives: opened, labelled, spoken about, closed, listed', async () => {
    const opened = await ada.request('POST /repos/{owner}/{repo}/issues', {
      ...where,
      title: 'It breaks',
      body: 'Badly.',
      labels: ['bug', 'urgent'],
      assignees: ['bob'],
    });
    expect(opened).toMatchObject({
      status: 201,
      data: { number: 1, state: 'open', assignee: { login: 'bob' } },
    });
    const said = await bob.request('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', {
      ...where,
      issue_number: 1,
      body: 'Seen.',
    });
    expect(said.status).toBe(201);
    const comments = await bob.request('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', {
      ...where,
      issue_number: 1,
    });
    expect(comments.data.map(({ body }) => body)).toEqual(['Seen.']);
    const closed = await ada.request('PATCH /repos/{owner}/{repo}/issues/{issue_number}', {
      ...where,
      issue_number: 1,
      state: 'closed',
      labels: ['bug'],
    });
    expect(closed.data).toMatchObject({
      state: 'closed',
      state_reason: 'completed',
      closed_by: { login: 'ada' },
    });
    const seen = await nobody.request('GET /repos/{owner}/{repo}/issues/{issue_number}', {
      ...where,
      issue_number: 1,
    });
    expect(seen.data.labels).toMatchObject([{ name: 'bug' }]);
    const list = async (more: object) =>
      (await ada.request('GET /repos/{owner}/{repo}/issues', { ...where, ...more })).data.map(
        ({ number }) => number,
      );
    expect(await list({})).toEqual([]);
    expect(await list({ state: 'all', labels: 'bug' })).toEqual([1]);
    expect(await list({ state: 'all', labels: 'bug,urgent' })).toEqual([]);
    const labels = await ada.request('GET /repos/{owner}/{repo}/labels', where);
    expect(labels.data.map(({ name }) => name)).toEqual(['bug', 'urgent']);
    const again = ada.request('POST /repos/{owner}/{repo}/labels', { ...where, name: 'Bug' });
    expect((await refusal(again)).response.data.errors).toMatchObject([
      { code: 'already_exists', field: 'name' },
    ]);
  });

  test('what is wrong with an issue is told field by field', async () => {
    const open = (more: object) =>
      refusal(ada.request('POST /repos/{owner}/{repo}/issues', { ...where, title: 'T', ...more }));
    const errors = async (more: object) => (await open(more)).response.data.errors;
    expect(await errors({ title: '' })).toEqual([
      { resource: 'Issue', code: 'missing_field', field: 'title' },
    ]);
    expect(await errors({ assignees: ['nobody'] })).toMatchObject([{ field: 'assignees', value: 'nobody' }]);
    expect(await errors({ milestone: 9 })).toMatchObject([{ field: 'milestone', code: 'invalid' }]);
    expect(await errors({ body: 'x'.repeat(65_537) })).toMatchObject([{ field: 'body', code: 'custom' }]);
  });

  test('a deleted issue is gone, and so are all where they are switched off', async () => {
    tools.deletedIssues.add(77);
    const get = (more: object) =>
      message(
        ada.request('GET /repos/{owner}/{repo}/issues/{issue_number}', {
          ...where,
          issue_number: 77,
          ...more,
        }),
      );
    expect(await get({})).toBe('410 This issue was deleted');
    tools.deletedIssues.delete(77);
    host.world.addRepository('ada/silent').hasIssues = false;
    expect(await get({ repo: 'silent' })).toBe('410 Issues are disabled for this repo');
  });
});

describe('pull requests', () => {
  const at = (number: number) => ({ ...where, pull_number: number });

  function offered(branch: string, files: Record<string, string | null>): string {
    tools.moveRef(`refs/heads/${branch}`, tools.head());
    return tools.commit({ branch, message: `Work on ${branch}`, files });
  }

  async function open(head: string, more: object = {}): Promise<number> {
    const opened = await bob.request('POST /repos/{owner}/{repo}/pulls', {
      ...where,
      title: `Add ${head}`,
      head,
      base: 'main',
      ...more,
    });
    expect(opened.status).toBe(201);
    return opened.data.number;
  }

  test('it is opened once, and says what it brings', async () => {
    const head = offered('topic', { 'topic.txt': 'one\ntwo\n', 'README.md': '# Tools\n\nMore.\n' });
    const number = await open('topic', { body: 'Please.' });
    const { data } = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', at(number));
    expect(data).toMatchObject({
      mergeable: true,
      commits: 1,
      changed_files: 2,
      additions: 4,
      head: { sha: head },
    });
    const again = bob.request('POST /repos/{owner}/{repo}/pulls', {
      ...where,
      title: 'Twice',
      head: 'topic',
      base: 'main',
    });
    expect((await refusal(again)).response.data.errors).toMatchObject([
      { code: 'custom', message: 'A pull request already exists for ada:topic.' },
    ]);
    const files = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', at(number));
    expect(files.data.map(({ filename, status }) => [filename, status])).toEqual([
      ['README.md', 'modified'],
      ['topic.txt', 'added'],
    ]);
    expect(files.data[1]?.patch).toBe('@@ -0,0 +1,2 @@\n+one\n+two');
    const diff = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', {
      ...at(number),
      mediaType: { format: 'diff' },
    });
    expect(String(diff.data)).toContain('diff --git a/topic.txt b/topic.txt\nnew file mode 100644\n');
    const commits = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/commits', at(number));
    expect(commits.data.map(({ sha }) => sha)).toEqual([head]);
    const renamed = await ada.request('PATCH /repos/{owner}/{repo}/pulls/{pull_number}', {
      ...at(number),
      title: 'Better',
    });
    expect(renamed.data.title).toBe('Better');
    const listed = await ada.request('GET /repos/{owner}/{repo}/pulls', { ...where, head: 'ada:topic' });
    expect(listed.data.map((each) => each.number)).toEqual([number]);
  });

  test('no branch, or one without anything new, is refused', async () => {
    const errors = async (more: object) =>
      (
        await refusal(
          bob.request('POST /repos/{owner}/{repo}/pulls', {
            ...where,
            title: 'T',
            head: 'none',
            base: 'main',
            ...more,
          }),
        )
      ).response.data.errors;
    expect(await errors({})).toEqual([{ resource: 'PullRequest', field: 'head', code: 'invalid' }]);
    expect(await errors({ head: 'main', base: 'none' })).toMatchObject([{ field: 'base', code: 'invalid' }]);
    tools.moveRef('refs/heads/same', tools.head());
    expect(await errors({ head: 'same' })).toMatchObject([{ message: 'No commits between main and same' }]);
  });

  test('it is reviewed with comments on lines, never by its author', async () => {
    offered('reviewed', { 'r.txt': 'one\ntwo\nthree\n' });
    const number = await open('reviewed');
    const review = (octokit: Octokit, more: object) =>
      octokit.request('POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews', { ...at(number), ...more });
    const own = await refusal(review(bob, { event: 'APPROVE' }));
    expect(own.response.data).toMatchObject({
      message: 'Unprocessable Entity',
      errors: ['Can not approve your own pull request'],
    });
    const outside = await refusal(
      review(ada, { event: 'COMMENT', body: 'x', comments: [{ path: 'r.txt', line: 9, body: 'x' }] }),
    );
    expect(outside.response.data.errors).toEqual(['Line could not be resolved']);
    const done = await review(ada, {
      event: 'REQUEST_CHANGES',
      body: 'Not yet.',
      comments: [
        { path: 'r.txt', line: 2, side: 'RIGHT', body: 'Why two?' },
        { path: 'r.txt', position: 3, body: 'Why three?' },
      ],
    });
    expect(done.data).toMatchObject({ state: 'CHANGES_REQUESTED', user: { login: 'ada' } });
    const reviews = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', at(number));
    expect(reviews.data).toHaveLength(1);
    const comments = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/comments', at(number));
    expect(comments.data).toMatchObject([
      { line: 2, position: 2, body: 'Why two?', diff_hunk: '@@ -0,0 +1,3 @@\n+one\n+two' },
      { line: 3, position: 3, body: 'Why three?' },
    ]);
  });

  test('its branch takes in what is new in the base', async () => {
    offered('behind', { 'behind.txt': 'b\n' });
    const number = await open('behind');
    const update = (more: object = {}) =>
      bob.request('PUT /repos/{owner}/{repo}/pulls/{pull_number}/update-branch', { ...at(number), ...more });
    expect(await message(update())).toBe('422 There are no new commits on the base branch.');
    tools.commit({ files: { 'ahead.txt': 'a\n' } });
    expect(await message(update({ expected_head_sha: 'c'.repeat(40) }))).toMatch(/^422 expected head sha/);
    expect((await update()).status).toBe(202);
    expect(tools.read('ahead.txt', 'behind')).toBe('a\n');
  });

  test('it is merged in three ways, not twice, and not when its head is another one', async () => {
    for (const [method, parents] of [
      ['merge', 2],
      ['squash', 1],
      ['rebase', 1],
    ] as const) {
      const head = offered(`by-${method}`, { [`${method}.txt`]: 'x\n' });
      const number = await open(`by-${method}`);
      const merge = (more: object = {}) =>
        ada.request('PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge', {
          ...at(number),
          merge_method: method,
          ...more,
        });
      expect(await message(merge({ sha: 'd'.repeat(40) }))).toBe(
        '409 Head branch was modified. Review and try the merge again.',
      );
      const { data } = await merge({ sha: head });
      expect(data.merged).toBe(true);
      expect(tools.head()).toBe(data.sha);
      expect(tools.resolve('main')?.parents).toHaveLength(parents);
      expect(tools.read(`${method}.txt`)).toBe('x\n');
      expect(await message(merge())).toBe('405 Pull Request is not mergeable');
      const after = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', at(number));
      expect(after.data).toMatchObject({ merged: true, state: 'closed', changed_files: 1 });
    }
  });

  test('a conflict, a draft and a forbidden method are refused', async () => {
    offered('conflict', { 'README.md': '# Mine\n' });
    tools.commit({ files: { 'README.md': '# Yours\n' } });
    const number = await open('conflict');
    const merge = (pull: number, more: object = {}) =>
      message(ada.request('PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge', { ...at(pull), ...more }));
    expect(await merge(number)).toBe('405 Pull Request is not mergeable');
    offered('draft', { d: 'd' });
    expect(await merge(await open('draft', { draft: true }))).toBe('405 Pull Request is still a draft');
    tools.mergeMethods.delete('rebase');
    expect(await merge(number, { merge_method: 'rebase' })).toBe(
      '405 Rebase merges are not allowed on this repository.',
    );
    tools.mergeMethods.add('rebase');
  });

  test('it may come from a copy', async () => {
    const copy = host.world.repository('bob', 'tools');
    copy?.moveRef('refs/heads/from-afar', tools.head());
    copy?.commit({ branch: 'from-afar', files: { afar: 'x' } });
    const number = await open('bob:from-afar');
    const { data } = await ada.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', at(number));
    expect(data.head).toMatchObject({ label: 'bob:from-afar', repo: { full_name: 'bob/tools' } });
  });
});

describe('search', () => {
  test('it finds repositories, code, issues and people, as far as they may be seen', async () => {
    const repositories = await bob.request('GET /search/repositories', { q: 'tools user:ada' });
    expect(repositories.data).toMatchObject({ total_count: 1, items: [{ full_name: 'ada/tools' }] });
    expect((await bob.request('GET /search/repositories', { q: 'hidden' })).data.total_count).toBe(0);
    expect((await ada.request('GET /search/repositories', { q: 'hidden' })).data.total_count).toBe(1);
    const code = await ada.request('GET /search/code', { q: 'one repo:ada/tools extension:ts' });
    expect(code.data.items).toMatchObject([{ path: 'src/index.ts', repository: { full_name: 'ada/tools' } }]);
    const issues = await ada.request('GET /search/issues', {
      q: 'breaks repo:ada/tools is:issue state:closed',
    });
    expect(issues.data.items).toMatchObject([{ number: 1, score: 1 }]);
    const users = await ada.request('GET /search/users', { q: 'club type:org' });
    expect(users.data.items).toMatchObject([{ login: 'club', type: 'Organization' }]);
  });

  test('it refuses what it cannot search', async () => {
    const errors = async (asked: Promise<unknown>) => (await refusal(asked)).response.data.errors;
    expect(await errors(ada.request('GET /search/users', { q: '' }))).toMatchObject([
      { field: 'q', code: 'missing' },
    ]);
    expect(await errors(ada.request('GET /search/issues', { q: 'repo:no/such' }))).toMatchObject([
      { code: 'invalid' },
    ]);
    expect(await message(nobody.request('GET /search/code', { q: 'x' }))).toBe('401 Requires authentication');
    expect(await message(ada.request('GET /search/users', { q: 'a', page: 101, per_page: 100 }))).toBe(
      '422 Only the first 1000 search results are available',
    );
  });
});

describe('what every answer has', () => {
  test('a wrong token is refused, and one for reading may not write', async () => {
    const wrong = new Octokit({ baseUrl: host.url, auth: 'wrong-token' });
    expect(await message(wrong.request('GET /repos/{owner}/{repo}', where))).toBe('401 Bad credentials');
    const reader = new Octokit({ baseUrl: host.url, auth: 'host-token-to-read' });
    const write = reader.request('POST /repos/{owner}/{repo}/issues', { ...where, title: 'T' });
    expect(await message(write)).toBe('403 Resource not accessible by personal access token');
    const anonymous = nobody.request('POST /repos/{owner}/{repo}/issues', { ...where, title: 'T' });
    expect(await message(anonymous)).toBe('401 Requires authentication');
  });

  test('limits are counted down per kind, and refuse when they are used up', async () => {
    host.limits.use('bob', 'search', 2, 60_000);
    const search = () => bob.request('GET /search/users', { q: 'a' });
    const { headers } = await search();
    expect(headers).toMatchObject({
      'x-ratelimit-limit': '30',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-resource': 'search',
    });
    await search();
    const refused = await refusal(search());
    expect(refused.status).toBe(403);
    expect(refused.response.data.message).toMatch(/^API rate limit exceeded/);
    expect(refused.response.headers['x-ratelimit-remaining']).toBe('0');
    expect(Number(refused.response.headers['x-ratelimit-reset']) * 1000).toBeGreaterThan(Date.now());
    expect((await bob.request('GET /user')).headers['x-ratelimit-resource']).toBe('core');
  });

  test('a renamed repository is found by its old name: reads are redirected, writes told to be repeated', async () => {
    host.world.rename(host.world.addRepository('ada/old', { files: { f: 'x' } }), 'young');
    const read = await ada.request('GET /repos/{owner}/{repo}', { owner: 'ada', repo: 'old' });
    expect(read.data.full_name).toBe('ada/young');
    const raw = await fetch(`${host.url}/repos/ada/old/contents/f?ref=main`, {
      redirect: 'manual',
      headers: { authorization: `token ${TOKEN}` },
    });
    expect(raw.status).toBe(301);
    expect(raw.headers.get('location')).toMatch(/\/repositories\/\d+\/contents\/f\?ref=main$/);
    const write = await ada.request('POST /repos/{owner}/{repo}/issues', {
      owner: 'ada',
      repo: 'old',
      title: 'T',
    });
    expect(write.data.repository_url).toBe(`${host.url}/repos/ada/young`);
  });

  test('an answer that is known already is not sent again', async () => {
    const { headers } = await ada.request('GET /users/{username}', { username: 'club' });
    const again = await fetch(`${host.url}/users/club`, {
      headers: { authorization: `token ${TOKEN}`, 'if-none-match': headers.etag ?? '' },
    });
    expect(again.status).toBe(304);
  });

  test('names with odd characters stand for the files they name', async () => {
    const files = { 'a b?#.txt': '1', 'ünï/日本.md': '2', '100%.md': '3', 'plus+&=.txt': '4' };
    tools.commit({ branch: 'names', files });
    for (const [path, content] of Object.entries(files)) {
      const { data } = await ada.request(
        `GET /repos/{owner}/{repo}/contents/${path.split('/').map(encodeURIComponent).join('/')}`,
        {
          ...where,
          ref: 'names',
        },
      );
      expect(Buffer.from(data.content, 'base64').toString()).toBe(content);
    }
  });

  test('bad JSON, no user agent and unknown paths are refused', async () => {
    const bad = await fetch(`${host.url}/user/repos`, { method: 'POST', body: '{' });
    expect([bad.status, await bad.json()]).toMatchObject([400, { message: 'Problems parsing JSON' }]);
    const status = await new Promise((resolve) => {
      plainRequest(`${host.url}/user`, (response) => resolve(response.resume().statusCode)).end();
    });
    expect(status).toBe(403);
    expect((await fetch(`${host.url}/nothing`)).status).toBe(404);
  });

  test('faults strike the requests they were ordered for, and only as often', async () => {
    host.failNext({ ...secondaryLimit(403, 7), when: /^GET \/user$/ });
    expect((await nobody.request('GET /users/{username}', { username: 'ada' })).status).toBe(200);
    const refused = await refusal(ada.request('GET /user'));
    expect(refused.response.headers['retry-after']).toBe('7');
    expect((await ada.request('GET /user')).status).toBe(200);
    host.failNext({ isCut: 'after' });
    await expect(
      ada.request('POST /repos/{owner}/{repo}/labels', { ...where, name: 'cut' }),
    ).rejects.toThrow();
    expect(tools.labels.has('cut')).toBe(true);
    host.failNext({ isCut: 'before' });
    await expect(
      ada.request('POST /repos/{owner}/{repo}/labels', { ...where, name: 'uncut' }),
    ).rejects.toThrow();
    expect(tools.labels.has('uncut')).toBe(false);
    expect(host.asked(/^POST .*\/labels/).map(({ body }) => body)).toEqual([
      { name: 'cut' },
      { name: 'uncut' },
    ]);
    expect(host.requests.at(-1)?.headers.authorization).toBe(`token ${TOKEN}`);
  });
});
