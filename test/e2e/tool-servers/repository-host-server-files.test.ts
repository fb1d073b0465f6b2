// Files through the repository host's server: every kind of thing that can stand at a path, names with odd characters,
// names that try to lead elsewhere, and writes that must not lose what others wrote.

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HostClient, textOf } from '../../fixtures/rest-host/host-client.ts';
import type { Repository } from '../../fixtures/rest-host/repository.ts';
import { RestHost } from '../../fixtures/rest-host/rest-host.ts';

const where = { owner: 'ada', repo: 'files' };

interface Content {
  readonly type: string;
  readonly content?: string;
  readonly next_offset?: number;
  readonly sha?: string;
  readonly entries?: readonly { readonly name: string; readonly type: string }[];
}

let host: RestHost;
let files: Repository;
let ada: HostClient;

beforeAll(async () => {
  host = await RestHost.start({ speed: 50, prefix: '/api/v3' });
  host.addToken('token-of-ada-7Qm2', 'ada');
  files = host.world.addRepository('ada/files', { files: { 'README.md': '# Files\n' } });
  ada = await HostClient.start({ host, token: 'token-of-ada-7Qm2' });
});

afterAll(async () => {
  expect([ada.faults, ada.stderr]).toEqual([[], '']);
  await ada.close();
  await host.stop();
});

beforeEach(() => host.forget());

function read(path: string, more: object = {}): Promise<Content> {
  return ada.give<Content>('get_file_contents', { ...where, path, ...more });
}

describe('what stands at a path', () => {
  test('texts come as they are, whatever their line ends, marks and letters', async () => {
    const texts: Record<string, string> = {
      plain: 'one\ntwo',
      empty: '',
      windows: 'one\r\ntwo\r\n',
      marked: '\ufeffwith a mark\n',
      wide: 'ünï — 日本語 🙂\n',
      json: '{"n": 12345678901234567890, "a": "\\u0000"}',
    };
    files.commit({ branch: 'texts', files: texts });
    for (const [path, content] of Object.entries(texts))
      expect(await read(path, { branch: 'texts' })).toMatchObject({
        type: 'file',
        path,
        content,
        size: Buffer.byteLength(content),
        sha: files.files('texts').get(path)?.sha,
      });
  });

  test('a file beyond a mebibyte is whole, in parts that make it up again', async () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `${index} — a line with 🙂 in it\n`).join('');
    expect(Buffer.byteLength(text)).toBeGreaterThan(1024 * 1024);
    files.commit({ branch: 'large', files: { 'large.txt': text } });
    let whole = '';
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const part: Content = await read('large.txt', { branch: 'large', offset });
      expect(part.content?.length).toBeLessThanOrEqual(100_000);
      whole += part.content;
      offset = part.next_offset;
    }
    expect(whole).toBe(text);
  });

  test('pictures come as images, other bytes as a blob, too many of them not at all', async () => {
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(50, 7)]);
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
    files.commit({
      branch: 'bytes',
      files: { 'p.png': png, 'b.bin': bytes, 'large.bin': Buffer.alloc(1024 * 1024 + 1) },
    });
    const picture = await ada.call('get_file_contents', { ...where, path: 'p.png', branch: 'bytes' });
    expect(picture.content[1]).toEqual({
      type: 'image',
      data: png.toString('base64'),
      mimeType: 'image/png',
    });
    const blob = await ada.call('get_file_contents', { ...where, path: 'b.bin', branch: 'bytes' });
    expect(blob.content[1]).toMatchObject({ type: 'resource', resource: { blob: bytes.toString('base64') } });
    const large = await ada.call('get_file_contents', { ...where, path: 'large.bin', branch: 'bytes' });
    expect(large.content).toHaveLength(1);
    expect(textOf(large)).toMatch(/binary/i);
    expect(large.isError).not.toBe(true);
  });

  test('folders are listed; links and submodules say what they are', async () => {
    files.commit({
      branch: 'kinds',
      files: {
        'dir/inner.txt': 'x',
        'real.txt': 'real\n',
        '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = https://host.test/a/b\n',
      },
    });
    const link = (target: string) => files.objects.writeBlob(Buffer.from(target));
    files.addEntry('link', { mode: '120000', sha: link('real.txt') }, 'kinds');
    files.addEntry('lost', { mode: '120000', sha: link('nowhere') }, 'kinds');
    files.addEntry('sub', { mode: '160000', sha: 'a'.repeat(40) }, 'kinds');
    for (const top of ['', '/', '.']) {
      const { type, entries } = await read(top, { branch: 'kinds' });
      expect(type).toBe('dir');
      expect(entries?.map((entry) => [entry.name, entry.type])).toEqual([
        ['.gitmodules', 'file'],
        ['dir', 'dir'],
        ['link', 'symlink'],
        ['lost', 'symlink'],
        ['real.txt', 'file'],
        ['sub', 'submodule'],
      ]);
    }
    expect((await read('dir/', { branch: 'kinds' })).entries).toMatchObject([{ name: 'inner.txt' }]);
    expect(await read('link', { branch: 'kinds' })).toMatchObject({ type: 'file', content: 'real\n' });
    expect(await read('lost', { branch: 'kinds' })).toMatchObject({ type: 'symlink', target: 'nowhere' });
    expect(await read('sub', { branch: 'kinds' })).toMatchObject({ repository: 'https://host.test/a/b' });
  });

  test('a branch, a tag or a commit can be looked at; what is not there is told apart', async () => {
    const sha = files.commit({ branch: 'old/one', files: { v: '1' } });
    files.moveRef('refs/tags/v1', sha);
    files.commit({ branch: 'old/one', files: { v: '2' } });
    expect((await read('v', { branch: 'old/one' })).content).toBe('2');
    expect((await read('v', { branch: 'v1' })).content).toBe('1');
    expect((await read('v', { branch: sha })).content).toBe('1');
    const refusal = (more: object) => ada.refusal('get_file_contents', { ...where, path: 'v', ...more });
    expect(await refusal({})).toMatch(/no "v" on the default branch/);
    expect(await refusal({ branch: 'none' })).toMatch(/No commit found for the ref none/);
    expect(await refusal({ repo: 'nothing' })).toMatch(/404/);
    host.world.addRepository('ada/empty');
    expect(await refusal({ repo: 'empty' })).toMatch(/ada\/empty is empty/);
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

  test('with odd characters are written and read as they are, one segment for each part', async () => {
    const pushed = odd.map((path) => ({ path, content: `first of ${path}` }));
    await ada.give('push_files', { ...where, branch: 'main', message: 'Odd names', files: pushed });
    for (const path of odd) {
      host.forget();
      const first = await read(path);
      expect(first).toMatchObject({ path, content: `first of ${path}` });
      const content = `second of ${path}`;
      const write = { ...where, path, content, message: `Change ${path}`, branch: 'main', sha: first.sha };
      expect(await ada.give('create_or_update_file', write)).toMatchObject({ path });
      expect(files.read(path)).toBe(content);
      const segments = path.split('/').map(encodeURIComponent);
      for (const { url } of host.requests) {
        const sent = url.split('?')[0]?.split('/').slice(7) ?? [];
        expect(sent.map(decodeURIComponent).map(encodeURIComponent)).toEqual(segments);
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

  test('that are no paths to write to are refused, and nothing is sent', async () => {
    for (const path of evil) {
      const write = { ...where, path, content: 'x', message: 'M', branch: 'main' };
      expect(await ada.refusal('create_or_update_file', write), path).toContain('path');
      const push = { ...where, branch: 'main', message: 'M', files: [{ path, content: 'x' }] };
      expect(await ada.refusal('push_files', push), path).toContain('path');
    }
    expect(host.requests).toEqual([]);
  });

  test('no owner, repository or branch leads to another address', async () => {
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
      if (name !== '') await ada.refusal('fork_repository', { ...where, organization: name });
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
      await ada.refusal('create_branch', { ...where, branch });
      await ada.refusal('create_or_update_file', { ...where, path: 'p', content: '', message: 'M', branch });
    }
    for (const path of ['../../user', 'a/../..', 'a//b', '\0'])
      expect(await ada.refusal('get_file_contents', { ...where, path })).toContain('path');
    for (const number of [0, -1, 1.5, '1/../../user', '../1', Number.MAX_VALUE])
      await ada.refusal('get_pull_request', { ...where, pull_number: number });
    expect(host.requests).toEqual([]);
  });

  test('no path, branch or query of any kind reaches anything but what it is meant for', async () => {
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
          ada.call('get_file_contents', { ...where, path: one, branch: other }),
          ada.call('list_commits', { ...where, sha: one }),
          ada.call('list_pull_requests', { ...where, head: one, base: other }),
        ]);
        for (const { method, url } of host.requests) {
          expect(method).toBe('GET');
          const [path = '', query = ''] = url.split('?');
          expect(path).toMatch(/^\/api\/v3\/repos\/ada\/files\/(contents(\/|$)|(commits|pulls)$)/);
          expect(decodeURIComponent(path).split('/')).not.toContain('..');
          const given = new URLSearchParams(query);
          if (path.includes('/contents')) {
            expect([...given]).toEqual([['ref', other]]);
            const reached = path
              .slice('/api/v3/repos/ada/files/contents'.length)
              .split('/')
              .map(decodeURIComponent);
            const wanted = one === '.' ? '' : one.replace(/^\/|\/$/g, '');
            expect(reached.join('/').replace(/^\//, '')).toBe(wanted);
          } else if (path.endsWith('commits')) expect(given.get('sha')).toBe(one);
          else expect([...given.keys()].sort()).toEqual(['base', 'head', 'page', 'per_page']);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('a branch with odd characters is made and found', async () => {
    for (const branch of ['feature/a#b', 'ünï', 'per%cent', 'a+b&c=d']) {
      await ada.give('create_branch', { ...where, branch });
      const write = { ...where, path: 'p.txt', content: branch, message: 'M', branch };
      await ada.give('create_or_update_file', write);
      expect((await read('p.txt', { branch })).content).toBe(branch);
      await ada.give('push_files', {
        ...where,
        branch,
        message: 'M',
        files: [{ path: 'q.txt', content: 'q' }],
      });
      expect(files.read('q.txt', branch)).toBe('q');
      expect(await ada.give('list_commits', { ...where, sha: branch, per_page: 1 })).toMatchObject({
        items: [{ sha: files.head(branch) }],
      });
    }
  });
});

describe('create_or_update_file', () => {
  const write = { ...where, path: 'notes.md', message: 'Notes', branch: 'main' };

  test('replaces the file only when it is told which one, and says which one is there', async () => {
    const first = await ada.give<{ sha: string }>('create_or_update_file', { ...write, content: 'one' });
    const bare = await ada.refusal('create_or_update_file', { ...write, content: 'blind' });
    expect(bare).toContain(first.sha);
    const second = await ada.give<{ sha: string }>('create_or_update_file', {
      ...write,
      content: 'two',
      sha: first.sha,
    });
    const head = files.head();
    const stale = await ada.refusal('create_or_update_file', { ...write, content: 'three', sha: first.sha });
    expect(stale).toMatch(/Nothing was written/);
    expect(stale).toContain(second.sha);
    expect(stale).toContain('get_file_contents');
    expect([files.head(), files.read('notes.md')]).toEqual([head, 'two']);
    const { sha } = await read('notes.md');
    await ada.give('create_or_update_file', { ...write, content: 'three', sha });
    expect(files.read('notes.md')).toBe('three');
  });

  test('a sha for a file that is not there, a folder, and a missing branch are told', async () => {
    const sha = 'b'.repeat(40);
    const gone = await ada.refusal('create_or_update_file', { ...write, path: 'gone.md', content: '', sha });
    expect(gone).toMatch(/no file gone\.md.*without sha/);
    files.commit({ files: { 'folder/inside': 'x' } });
    const folder = await ada.refusal('create_or_update_file', { ...write, path: 'folder', content: 'x' });
    expect(folder).toMatch(/Nothing was written/);
    const lost = await ada.refusal('create_or_update_file', { ...write, content: 'x', branch: 'lost' });
    expect(lost).toMatch(/Branch lost not found/);
    expect(files.read('folder/inside')).toBe('x');
  });

  test('in an empty repository it makes the first commit', async () => {
    const fresh = host.world.addRepository('ada/fresh');
    await ada.give('create_or_update_file', { ...write, repo: 'fresh', path: 'a/b.txt', content: '' });
    expect([...fresh.files().keys()]).toEqual(['a/b.txt']);
    expect(fresh.resolve('main')?.parents).toEqual([]);
  });

  test('a file that can be executed stays so', async () => {
    files.commit({ files: { 'run.sh': '#!/bin/sh\n' }, mode: '100755' });
    const { sha } = await read('run.sh');
    await ada.give('create_or_update_file', { ...write, path: 'run.sh', content: '#!/bin/bash\n', sha });
    expect(files.files().get('run.sh')?.mode).toBe('100755');
  });
});

describe('push_files', () => {
  const push = { ...where, branch: 'main', message: 'Many at once' };

  test('is one commit on top of the branch, and leaves everything else as it was', async () => {
    files.commit({ files: { 'run.sh': 'old', 'keep/me.txt': 'kept' }, mode: '100755' });
    const before = files.files();
    const head = files.head();
    files.refLog.length = 0;
    const given = [
      { path: 'run.sh', content: '#!/bin/sh\necho new\n' },
      { path: 'new/deep/er/file.txt', content: 'ünï 🙂\r\n' },
      { path: 'new/empty', content: '' },
    ];
    const done = await ada.give('push_files', { ...push, files: given });
    expect(files.refLog).toEqual([
      { ref: 'refs/heads/main', before: head, after: files.head(), isForced: false },
    ]);
    expect(done).toMatchObject({
      branch: 'main',
      files: 3,
      commit: { sha: files.head(), message: push.message },
    });
    expect(files.resolve('main')).toMatchObject({ parents: [head], message: push.message });
    for (const { path, content } of given) expect(files.read(path)).toBe(content);
    expect(files.files().get('run.sh')?.mode).toBe('100755');
    const others = [...files.files()].filter(([path]) => !given.some((file) => file.path === path));
    expect(others).toEqual([...before].filter(([path]) => path !== 'run.sh'));
  });

  test('a branch that moves meanwhile keeps what the other one wrote', async () => {
    host.failNext({
      when: /^PATCH .*\/git\/refs\/heads\/main/,
      meanwhile: () => files.commit({ files: { 'theirs.txt': 'theirs' }, message: 'Theirs' }),
    });
    const result = await ada.call('push_files', { ...push, files: [{ path: 'ours.txt', content: 'ours' }] });
    expect(files.read('theirs.txt')).toBe('theirs');
    expect(files.refLog.some(({ isForced }) => isForced)).toBe(false);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/Nothing was written.*moved at the same time/);
    expect(files.read('ours.txt')).toBeUndefined();
    await ada.give('push_files', { ...push, files: [{ path: 'ours.txt', content: 'ours' }] });
    expect([files.read('ours.txt'), files.read('theirs.txt')]).toEqual(['ours', 'theirs']);
  });

  test('many at once lose nothing: what was said to be written is there', async () => {
    const results = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        ada.call('push_files', { ...push, files: [{ path: `crowd/${index}`, content: `${index}` }] }),
      ),
    );
    for (const [index, { isError }] of results.entries())
      expect(files.read(`crowd/${index}`)).toBe(isError ? undefined : `${index}`);
    expect(results.some(({ isError }) => isError !== true)).toBe(true);
    expect(files.refLog.some(({ isForced }) => isForced)).toBe(false);
  });

  test('a push of what is there already makes no commit', async () => {
    const head = files.head();
    const same = await ada.give('push_files', {
      ...push,
      files: [{ path: 'README.md', content: '# Files\n' }],
    });
    expect(same.notice).toMatch(/nothing to commit/);
    expect(files.head()).toBe(head);
  });

  test('files that do not fit together, or to what is there, are refused, and nothing is written', async () => {
    const head = files.head();
    const one = (path: string) => ({ path, content: 'x' });
    const refused: [RegExp, readonly object[]][] = [
      [/given twice/, [one('a'), one('a')]],
      [/given twice/, [one('a'), one('/a')]],
      [/cannot be a file and the folder/, [one('a'), one('a/b')]],
      [/is a folder/, [one('keep')]],
      [/is no folder/, [one('README.md/x')]],
      [/files/, []],
      [/files/, Array.from({ length: 301 }, (_, index) => one(`many/${index}`))],
      [/\bmode\b/, [{ ...one('a'), mode: '120000' }]],
    ];
    for (const [reason, given] of refused)
      expect(await ada.refusal('push_files', { ...push, files: given })).toMatch(reason);
    const mebibyte = 'x'.repeat(1024 * 1024);
    const heavy = Array.from({ length: 9 }, (_, index) => ({ path: `heavy/${index}`, content: mebibyte }));
    expect(await ada.refusal('push_files', { ...push, files: heavy })).toMatch(/together/);
    expect(files.head()).toBe(head);
    expect(host.asked(/^(POST|PATCH|PUT)/)).toEqual([]);
  });

  test('a missing branch and an empty repository are told, with what to do', async () => {
    const given = [{ path: 'a', content: 'x' }];
    const lost = await ada.refusal('push_files', { ...push, branch: 'lost', files: given });
    expect(lost).toMatch(/no branch lost.*create_branch/);
    host.world.addRepository('ada/void');
    const empty = await ada.refusal('push_files', { ...push, repo: 'void', files: given });
    expect(empty).toMatch(/empty.*create_or_update_file/);
  });
});
