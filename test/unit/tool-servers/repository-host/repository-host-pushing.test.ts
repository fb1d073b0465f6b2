// Commits of many files in very large repositories, for which the host returns a truncated tree.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { secretRemover } from '../../../../libs/rest/without-secrets.ts';
import { Host } from '../../../../tool-servers/repository-host/host.ts';
import { pushFiles } from '../../../../tool-servers/repository-host/push-files.ts';
import { ReplayHost } from '../../../fixtures/rest-host/replay-host.ts';

const token = 'tok_0123456789';
const TREE = 'GET /repos/{owner}/{repo}/git/trees/{tree_sha}';
/** Tree of the published commit. */
const TOP = '691272480426f78a0138979dd3ce63b77f706feb';
const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const folder = (path: string, sha: string) => ({ path, mode: '040000', type: 'tree', sha });
const file = (path: string, mode = '100644') => ({ path, mode });
/** Entries of folders, by id. */
const trees: Readonly<Record<string, readonly object[]>> = {
  [TOP]: [file('README.md'), folder('a', A), folder('other', 'c'.repeat(40))],
  [A]: [file('run.sh', '100755'), folder('b', B)],
  [B]: [file('c.txt')],
};
let host: ReplayHost;

beforeAll(async () => {
  host = await ReplayHost.start();
});

afterAll(() => host.stop());

beforeEach(() => {
  host.forget();
  host.on(TREE, ({ parameters: { recursive, tree_sha = '' } }) => ({
    body: recursive ? { truncated: true, tree: [] } : { truncated: false, tree: trees[tree_sha] },
  }));
});

function push(files: readonly { path: string; content: string }[]) {
  const target = {
    access: { apiUrl: host.url, token },
    maxWaitMs: 0,
    timeoutMs: 5_000,
    clean: secretRemover([token]),
  };
  const asking = new Host(target).requestsFor({ signal: new AbortController().signal, report: () => {} });
  return pushFiles(asking, { owner: 'ann', repo: 'vast', branch: 'main', message: 'm', files });
}

describe('a push to a very large repository', () => {
  test('keeps executable files executable, and reads only the folders above the pushed files', async () => {
    await push([
      { path: 'a/run.sh', content: '#!/bin/sh\necho\n' },
      { path: 'a/b/c.txt', content: 'C\n' },
      { path: 'new/deep/file.txt', content: 'n\n' },
    ]);
    const [tree] = host.requestsMatching(/^POST .*\/git\/trees$/);
    expect(tree?.body).toEqual({
      base_tree: TOP,
      tree: [
        { path: 'a/run.sh', content: '#!/bin/sh\necho\n', type: 'blob', mode: '100755' },
        { path: 'a/b/c.txt', content: 'C\n', type: 'blob', mode: '100644' },
        { path: 'new/deep/file.txt', content: 'n\n', type: 'blob', mode: '100644' },
      ],
    });
    const walked = host
      .requestsMatching(/^GET .*\/git\/trees\/[0-9a-f]{40}$/)
      .map(({ url }) => url.slice(-40));
    expect(walked).toEqual([TOP, A, B]);
  });

  test('refuses to replace a folder by a file, or a file by a folder', async () => {
    await expect(push([{ path: 'a/b', content: '' }])).rejects.toThrow('a/b is a folder');
    await expect(push([{ path: 'README.md/x', content: '' }])).rejects.toThrow('README.md is not a folder');
    expect(host.requestsMatching(/^(POST|PATCH|PUT) /)).toHaveLength(0);
  });
});
