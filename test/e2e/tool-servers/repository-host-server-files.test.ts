// Files through the repository-host tool server: all kinds of entries, names with special characters,
// attempts to reach a different address, and writes that conflict with changes of others.

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HostClient, textOf } from '../../fixtures/rest-host/host-client.ts';
import { ReplayHost } from '../../fixtures/rest-host/replay-host.ts';

const repository = { owner: 'ada', repo: 'files' };
const PREFIX = '/api/v3';
/** Path template in the description. */
const AT = '/repos/{owner}/{repo}';
const CONTENTS = `GET ${AT}/contents/{path}`;
const TREE = `GET ${AT}/git/trees/{tree_sha}`;
/** Published commit and tree. */
const HEAD = 'aa218f56b14c9653891f9e74264a383fa43fefbd';
const BASE = '691272480426f78a0138979dd3ce63b77f706feb';
const BLOB = 'b'.repeat(40);

interface Content {
  readonly type: string;
  readonly content?: string;
  readonly next_offset?: number;
  readonly sha?: string;
  readonly entries?: readonly { readonly name: string; readonly type: string }[];
}

let host: ReplayHost;
let ada: HostClient;

beforeAll(async () => {
  host = await ReplayHost.start({ speed: 50, prefix: PREFIX });
  ada = await HostClient.start({ host, token: 'token-of-ada-7Qm2' });
});

afterAll(async () => {
  expect([ada.faults, ada.stderr]).toEqual([[], '']);
  await ada.close();
  await host.stop();
});

beforeEach(() => host.forget());

/** Returns a file in the format of the host, in lines of 60 characters. */
function fileOf(path: string, bytes: Buffer | string) {
  const content = Buffer.from(bytes).toString('base64').replace(/.{60}/g, '$&\n');
  return { path, name: path.split('/').at(-1), size: Buffer.byteLength(bytes), content };
}

function refuse(when: RegExp, status: number, message: string): void {
  host.failNext({ when, status, body: { message, status: `${status}` } });
}

/** Recorded requests: method, decoded path below the repository, query, body. */
const sentRequests = () =>
  host.requests.map(({ method, url, body }) => {
    const [path = '', query = ''] = url.slice(`${PREFIX}/repos/ada/files`.length).split('?');
    return [method, decodeURIComponent(path), Object.fromEntries(new URLSearchParams(query)), body];
  });

function read(path: string, more: object = {}): Promise<Content> {
  return ada.callTool<Content>('get_file_contents', { ...repository, path, ...more });
}

describe('the content of a path', () => {
  test('is returned unchanged for texts with any line endings, byte order marks and letters', async () => {
    const texts: Record<string, string> = {
      plain: 'one\ntwo',
      empty: '',
      windows: 'one\r\ntwo\r\n',
      marked: '\ufeffwith a mark\n',
      wide: 'ünï — 日本語 🙂\n',
      json: '{"n": 12345678901234567890, "a": "\\u0000"}',
    };
    host.on(CONTENTS, ({ parameters: { path = '' } }) => ({ body: fileOf(path, texts[path] ?? '') }));
    for (const [path, content] of Object.entries(texts))
      expect(await read(path)).toMatchObject({
        type: 'file',
        path,
        content,
        size: Buffer.byteLength(content),
        sha: '3d21ec53a331a6f037a91c368710b99387d012c1',
      });
  });

  test('of a file above a mebibyte is returned completely, in parts by several calls', async () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `${index} — a line with 🙂 in it\n`).join('');
    expect(Buffer.byteLength(text)).toBeGreaterThan(1024 * 1024);
    const { content, ...file } = fileOf('large.txt', text);
    host.on(CONTENTS, { body: { ...file, sha: BLOB, encoding: 'none', content: '' } });
    host.on(`GET ${AT}/git/blobs/{file_sha}`, { body: { content, encoding: 'base64' } });
    let whole = '';
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const part: Content = await read('large.txt', { offset });
      expect(part.content?.length).toBeLessThanOrEqual(100_000);
      whole += part.content;
      offset = part.next_offset;
    }
    expect(whole).toBe(text);
    expect(sentRequests()[1]).toEqual(['GET', `/git/blobs/${BLOB}`, {}, undefined]);
  });

  test('is an image for pictures, a blob for other binary files, and omitted for files with too many bytes', async () => {
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(50, 7)]);
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
    const call = async (path: string, content: Buffer) => {
      host.on(CONTENTS, { body: fileOf(path, content) });
      return ada.call('get_file_contents', { ...repository, path });
    };
    const picture = await call('p.png', png);
    expect(picture.content[1]).toEqual({
      type: 'image',
      data: png.toString('base64'),
      mimeType: 'image/png',
    });
    const blob = await call('b.bin', bytes);
    expect(blob.content[1]).toMatchObject({ type: 'resource', resource: { blob: bytes.toString('base64') } });
    const large = await call('large.bin', Buffer.alloc(1024 * 1024 + 1));
    expect(large.content).toHaveLength(1);
    expect(textOf(large)).toMatch(/binary/i);
    expect(large.isError).not.toBe(true);
  });

  test('is a list for folders, and a description for links and submodules', async () => {
    const entry = (name: string, more: object = {}) => ({ name, path: name, type: 'file', ...more });
    host.on(CONTENTS, {
      example: 'response-if-content-is-a-directory',
      body: [
        entry('dir', { type: 'dir' }),
        entry('link', { type: 'symlink' }),
        entry('real.txt', { git_url: 'https://api.host.test/repos/a/b/git/blobs/1' }),
        // The host lists a submodule as a file.
        entry('sub', { git_url: 'https://api.host.test/repos/a/b/git/trees/1' }),
        entry('other', { git_url: null }),
      ],
    });
    for (const top of ['', '/', '.']) {
      const { type, entries } = await read(top, { branch: 'kinds' });
      expect(type).toBe('dir');
      expect(entries?.map((each) => [each.name, each.type])).toEqual([
        ['dir', 'dir'],
        ['link', 'symlink'],
        ['real.txt', 'file'],
        ['sub', 'submodule'],
        ['other', 'submodule'],
      ]);
    }
    await read('dir/');
    expect(sentRequests().map(([, path]) => path)).toEqual([
      '/contents',
      '/contents',
      '/contents',
      '/contents/dir',
    ]);
    host.on(CONTENTS, { example: 'response-if-content-is-a-symlink', body: { target: 'nowhere' } });
    expect(await read('lost')).toMatchObject({ type: 'symlink', target: 'nowhere' });
    host.on(CONTENTS, { example: 'response-if-content-is-a-submodule' });
    expect(await read('sub')).toMatchObject({ repository: 'git://github.com/jquery/qunit.git' });
  });

  test('is read from the given branch, tag or commit; a missing path and a missing branch have different errors', async () => {
    for (const branch of ['old/one', 'v1', HEAD]) await read('v', { branch });
    expect(sentRequests().map(([, , query]) => query)).toEqual([
      { ref: 'old/one' },
      { ref: 'v1' },
      { ref: HEAD },
    ]);
    const refusal = (message: string, more: object = {}) => {
      refuse(/^GET/, 404, message);
      return ada.refusal('get_file_contents', { ...repository, path: 'v', ...more });
    };
    expect(await refusal('Not Found')).toMatch(/404.*"v" may not exist on the default branch/);
    expect(await refusal('No commit found for the ref none', { branch: 'none' })).toMatch(
      /No commit found for the ref none.*"v" may not exist on none/,
    );
    expect(await refusal('This repository is empty.')).toMatch(/ada\/files is empty/);
  });
});

describe('names', () => {
  const odd = [
    'a b?#.txt',
    'ünï/日本/🙂.md',
    '100%.md',
    '%2e%2e/literal',
    '%2F',
    "plus+&=;,@:!$'()*.txt",
    'a\\b',
    '"quoted" <tag>.txt',
    '..dots../...x',
    '{owner}/{?q}',
    '~tilde|pipe^caret`',
  ];

  test('of files with special characters are written and read unchanged, with one URL segment per path part', async () => {
    const pushed = odd.map((path) => ({ path, content: `first of ${path}` }));
    await ada.callTool('push_files', { ...repository, branch: 'main', message: 'Odd names', files: pushed });
    const [tree] = host.requestsMatching(/^POST .*\/git\/trees$/);
    expect(tree?.body).toMatchObject({ tree: pushed });
    host.requests.length = 0;
    host.on(CONTENTS, ({ parameters: { path = '' } }) => ({ body: fileOf(path, `first of ${path}`) }));
    host.on(`PUT ${AT}/contents/{path}`, ({ parameters: { path } }) => ({ body: { content: { path } } }));
    for (const path of odd) {
      host.requests.length = 0;
      const first = await read(path);
      expect(first).toMatchObject({ path, content: `first of ${path}` });
      const content = `second of ${path}`;
      const write = {
        ...repository,
        path,
        content,
        message: `Change ${path}`,
        branch: 'main',
        sha: first.sha,
      };
      expect(await ada.callTool('create_or_update_file', write)).toMatchObject({ path });
      expect(host.requests.at(-1)?.body).toMatchObject({ content: Buffer.from(content).toString('base64') });
      const segments = path.split('/').map(encodeURIComponent);
      for (const { url } of host.requests) {
        const parts = url.split('?')[0]?.split('/').slice(7) ?? [];
        expect(parts.map(decodeURIComponent).map(encodeURIComponent)).toEqual(segments);
        expect(url).toMatch(/^\/api\/v3\/repos\/ada\/files\/contents\/[\w%.~!$'()*+,;=:@&/-]+(\?|$)/);
      }
    }
  });

  const evil = [
    '..',
    '../x',
    'a/../../../user',
    'a/..',
    './a',
    'a/./b',
    'a//b',
    'a/',
    '//',
    'a\0b',
    'a\nb',
    '',
  ];

  test('that are no valid paths are rejected, and nothing is sent', async () => {
    for (const path of evil) {
      const write = { ...repository, path, content: 'x', message: 'M', branch: 'main' };
      expect(await ada.refusal('create_or_update_file', write), path).toContain('path');
      const push = { ...repository, branch: 'main', message: 'M', files: [{ path, content: 'x' }] };
      expect(await ada.refusal('push_files', push), path).toContain('path');
    }
    expect(host.requests).toEqual([]);
  });

  test('of an owner, repository or branch cannot change the rest of the URL', async () => {
    const names = [
      '..',
      '.',
      '../..',
      'ada/files',
      'ada?x=1',
      'ada#',
      '%2e%2e',
      'a b',
      '',
      'ada\\',
      'ü',
      'a\0',
    ];
    for (const name of names) {
      await ada.refusal('get_issue', { owner: name, repo: 'files', issue_number: 1 });
      await ada.refusal('get_issue', { owner: 'ada', repo: name, issue_number: 1 });
      await ada.refusal('create_repository', { name });
      if (name !== '') await ada.refusal('fork_repository', { ...repository, organization: name });
    }
    const branches = [
      '..',
      'a/../b',
      'a..b',
      'a b',
      'a?b',
      'a~1',
      'a^',
      'a:b',
      'a.lock',
      '.a',
      'a/',
      '/a',
      '@',
      'a@{1}',
      'a\\b',
    ];
    for (const branch of branches) {
      await ada.refusal('create_branch', { ...repository, branch });
      await ada.refusal('create_or_update_file', {
        ...repository,
        path: 'p',
        content: '',
        message: 'M',
        branch,
      });
    }
    for (const path of ['../../user', 'a/../..', 'a//b', '\0'])
      expect(await ada.refusal('get_file_contents', { ...repository, path })).toContain('path');
    for (const number of [0, -1, 1.5, '1/../../user', '../1', Number.MAX_VALUE])
      await ada.refusal('get_pull_request', { ...repository, pull_number: number });
    expect(host.requests).toEqual([]);
  });

  test('of paths and branches, and search queries, cannot lead to another API endpoint', async () => {
    const piece = fc.constantFrom(
      ...['..', '.', '/', '\\', '%2e', '%2F', '%', '?', '#', '&', '=', ' ', ':', '@', '{', '}', '+', ';'],
      ...[
        'user',
        'a',
        'é',
        '🙂',
        '\u2028',
        '\ufeff',
        '\0',
        '\r\n',
        '\ud800',
        '~',
        '|',
        '*',
        '"',
        '<',
        '[',
        '^',
      ],
    );
    const text = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        host.forget();
        await Promise.all([
          ada.call('get_file_contents', { ...repository, path: one, branch: other }),
          ada.call('list_commits', { ...repository, sha: one }),
          ada.call('list_pull_requests', { ...repository, head: one, base: other }),
        ]);
        for (const { method, url } of host.requests) {
          expect(method).toBe('GET');
          const [path = '', query = ''] = url.split('?');
          expect(path).toMatch(/^\/api\/v3\/repos\/ada\/files\/(contents(\/|$)|(commits|pulls)$)/);
          expect(decodeURIComponent(path).split('/')).not.toContain('..');
          const params = new URLSearchParams(query);
          if (path.includes('/contents')) {
            expect([...params]).toEqual([['ref', other]]);
            const reached = path
              .slice('/api/v3/repos/ada/files/contents'.length)
              .split('/')
              .map(decodeURIComponent);
            const expected = one === '.' ? '' : one.replace(/^\/|\/$/g, '');
            expect(reached.join('/').replace(/^\//, '')).toBe(expected);
          } else if (path.endsWith('commits')) expect(params.get('sha')).toBe(one);
          else expect([...params.keys()].sort()).toEqual(['base', 'head', 'page', 'per_page']);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('of branches with special characters are written unchanged', async () => {
    for (const branch of ['feature/a#b', 'ünï', 'per%cent', 'a+b&c=d']) {
      host.requests.length = 0;
      await ada.callTool('create_branch', { ...repository, branch, from_branch: branch });
      await ada.callTool('create_or_update_file', {
        ...repository,
        path: 'p.txt',
        content: '',
        message: 'M',
        branch,
      });
      await read('p.txt', { branch });
      await ada.callTool('push_files', {
        ...repository,
        branch,
        message: 'M',
        files: [{ path: 'q', content: 'q' }],
      });
      await ada.callTool('list_commits', { ...repository, sha: branch, per_page: 1 });
      const requests = sentRequests();
      expect(requests.filter(([, path]) => String(path).startsWith('/git/ref'))).toEqual([
        ['GET', `/git/ref/heads/${branch}`, {}, undefined],
        ['POST', '/git/refs', {}, { ref: `refs/heads/${branch}`, sha: HEAD }],
        ['GET', `/git/ref/heads/${branch}`, {}, undefined],
        ['PATCH', `/git/refs/heads/${branch}`, {}, expect.objectContaining({ force: false })],
      ]);
      expect(requests).toContainEqual(['GET', '/contents/p.txt', { ref: branch }, undefined]);
      expect(requests).toContainEqual(['PUT', '/contents/p.txt', {}, { branch, content: '', message: 'M' }]);
      expect(requests.at(-1)?.[2]).toMatchObject({ sha: branch });
    }
  });
});

describe('create_or_update_file', () => {
  const write = { ...repository, path: 'notes.md', message: 'Notes', branch: 'main' };
  const unchangedSha = '1'.repeat(40);
  const current = '2'.repeat(40);

  test('returns the written file with the commit', async () => {
    const done = await ada.callTool('create_or_update_file', {
      ...write,
      content: 'one ü',
      sha: unchangedSha,
    });
    expect(done).toEqual({
      path: 'notes/hello.txt',
      sha: 'a56507ed892d05a37c6d6128c260937ea4d287bd',
      branch: 'main',
      commit: {
        sha: '18a43cd8e1e3a79c786e3d808a73d23b6d212b16',
        message: 'my commit message',
        url: expect.stringContaining('/commit/18a43cd8'),
      },
    });
    const content = Buffer.from('one ü').toString('base64');
    expect(sentRequests()).toEqual([
      ['PUT', '/contents/notes.md', {}, { message: 'Notes', branch: 'main', content, sha: unchangedSha }],
    ]);
  });

  test('requires the sha to replace a file, and reports the current sha', async () => {
    host.on(CONTENTS, { body: { sha: current } });
    const refusal = (message: string, status: number, sha?: string) => {
      refuse(/^PUT/, status, message);
      return ada.refusal('create_or_update_file', { ...write, content: 'x', ...(sha && { sha }) });
    };
    const bare = await refusal('Invalid request.\n\n"sha" wasn\'t supplied.', 422);
    expect(bare).toMatch(/Nothing was written/);
    expect(bare).toContain(current);
    const stale = await refusal('notes.md does not match', 409, unchangedSha);
    expect(stale).toMatch(/Nothing was written.*changed since you read it/);
    expect(stale).toContain(current);
    expect(stale).toContain('get_file_contents');
    expect(await refusal('is at 1 but expected 2', 409, current)).toMatch(/is unchanged: retry/);
    expect(sentRequests()).toHaveLength(6);
    expect(sentRequests()[1]).toEqual(['GET', '/contents/notes.md', { ref: 'main' }, undefined]);
  });

  test('reports a missing file to replace, a folder at the path, and a missing branch', async () => {
    refuse(/^PUT/, 409, 'gone.md does not match');
    refuse(/^GET/, 404, 'Not Found');
    const missing = await ada.refusal('create_or_update_file', {
      ...write,
      path: 'gone.md',
      content: '',
      sha: unchangedSha,
    });
    expect(missing).toMatch(/gone\.md does not exist.*without sha/);
    refuse(/^PUT/, 422, 'Invalid request.\n\n"sha" wasn\'t supplied.');
    host.on(CONTENTS, { example: 'response-if-content-is-a-directory' });
    const folder = await ada.refusal('create_or_update_file', { ...write, path: 'folder', content: 'x' });
    expect(folder).toMatch(/Nothing was written/);
    refuse(/^PUT/, 404, 'Branch lost not found');
    const missingBranch = await ada.refusal('create_or_update_file', {
      ...write,
      content: 'x',
      branch: 'lost',
    });
    expect(missingBranch).toMatch(/Branch lost not found.*create_branch/);
  });
});

describe('push_files', () => {
  const push = { ...repository, branch: 'main', message: 'Many at once' };
  const tree = [
    { path: 'run.sh', mode: '100755' },
    { path: 'README.md', mode: '100644' },
    { path: 'keep', mode: '040000', type: 'tree' },
    { path: 'keep/me.txt', mode: '100644' },
    { path: 'sub', mode: '160000', type: 'commit' },
  ];

  beforeEach(() => host.on(TREE, { body: { truncated: false, tree } }));

  test('makes one commit on top of the branch, which keeps all other files and modes', async () => {
    const files = [
      { path: 'run.sh', content: '#!/bin/sh\necho new\n' },
      { path: 'new/deep/er/file.txt', content: 'ünï 🙂\r\n' },
      { path: '/new/empty', content: '' },
    ];
    const done = await ada.callTool('push_files', { ...push, files });
    const [newTree, commit] = [
      'cd8274d15fa3ae2ab983129fb037999f264ba9a7',
      '7638417db6d59f3c431d3e1f261cc637155684cd',
    ];
    expect(done).toMatchObject({
      branch: 'main',
      files: 3,
      commit: { sha: commit, message: 'my commit message' },
    });
    const blob = (path: string, mode: string, index: number) => ({
      path,
      mode,
      type: 'blob',
      content: files[index]?.content,
    });
    expect(sentRequests()).toEqual([
      ['GET', '/git/ref/heads/main', {}, undefined],
      ['GET', `/git/commits/${HEAD}`, {}, undefined],
      ['GET', `/git/trees/${BASE}`, { recursive: 'true' }, undefined],
      [
        'POST',
        '/git/trees',
        {},
        {
          base_tree: BASE,
          tree: [
            blob('run.sh', '100755', 0),
            blob('new/deep/er/file.txt', '100644', 1),
            blob('new/empty', '100644', 2),
          ],
        },
      ],
      ['POST', '/git/commits', {}, { message: push.message, tree: newTree, parents: [HEAD] }],
      // Never forced: the host refuses the update if the branch has moved.
      ['PATCH', '/git/refs/heads/main', {}, { sha: commit, force: false }],
    ]);
  });

  test('reports that the branch has changed in the meantime', async () => {
    refuse(/^PATCH/, 422, 'Update is not a fast forward');
    const files = [{ path: 'ours.txt', content: 'ours' }];
    const moved = await ada.refusal('push_files', { ...push, files });
    expect(moved).toMatch(/Nothing was written.*moved concurrently/);
    expect(host.requestsMatching(/^PATCH/)).toHaveLength(1);
  });

  test('makes no commit of unchanged files', async () => {
    host.on(`POST ${AT}/git/trees`, { body: { sha: BASE } });
    const same = await ada.callTool('push_files', {
      ...push,
      files: [{ path: 'README.md', content: '# Files\n' }],
    });
    expect(same.notice).toMatch(/nothing to commit/);
    expect(host.requestsMatching(/^(POST .*commits|PATCH)/)).toEqual([]);
  });

  test('writes nothing if the files conflict with each other or with the tree', async () => {
    const fileAt = (path: string) => ({ path, content: 'x' });
    const cases: [RegExp, readonly object[]][] = [
      [/occurs twice/, [fileAt('a'), fileAt('a')]],
      [/occurs twice/, [fileAt('a'), fileAt('/a')]],
      [/cannot be a file and the folder/, [fileAt('a'), fileAt('a/b')]],
      [/is a folder/, [fileAt('keep')]],
      [/is a submodule/, [fileAt('sub')]],
      [/is not a folder/, [fileAt('README.md/x')]],
      [/files/, []],
      [/files/, Array.from({ length: 301 }, (_, index) => fileAt(`many/${index}`))],
      [/\bmode\b/, [{ ...fileAt('a'), mode: '120000' }]],
    ];
    for (const [reason, given] of cases)
      expect(await ada.refusal('push_files', { ...push, files: given })).toMatch(reason);
    const mebibyte = 'x'.repeat(1024 * 1024);
    const heavy = Array.from({ length: 9 }, (_, index) => ({ path: `heavy/${index}`, content: mebibyte }));
    expect(await ada.refusal('push_files', { ...push, files: heavy })).toMatch(/in total/);
    expect(host.requestsMatching(/^(POST|PATCH|PUT)/)).toEqual([]);
  });

  test('reports a missing branch and an empty repository', async () => {
    const files = [{ path: 'a', content: 'x' }];
    refuse(/\/git\/ref\//, 404, 'Not Found');
    const missing = await ada.refusal('push_files', { ...push, branch: 'lost', files });
    expect(missing).toMatch(/branch lost does not exist.*create_branch/);
    refuse(/\/git\/ref\//, 409, 'Git Repository is empty.');
    expect(await ada.refusal('push_files', { ...push, files })).toMatch(/empty.*create_or_update_file/);
  });
});
