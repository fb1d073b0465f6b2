// Commits of many files in repositories so large that the host tells a part of their tree only.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { without } from '../../../../libs/rest/without-secrets.ts';
import { Host } from '../../../../tool-servers/repository-host/host.ts';
import { pushFiles } from '../../../../tool-servers/repository-host/push-files.ts';
import { RestHost } from '../../../fixtures/rest-host/rest-host.ts';

const token = 'tok_0123456789';
let host: RestHost;

beforeAll(async () => {
  host = await RestHost.start();
  host.addToken(token, 'ann');
});

afterAll(() => host.stop());

beforeEach(() => {
  host.forget();
  const repository = host.world.addRepository('ann/vast', {
    files: { 'README.md': 'hi\n', 'a/b/c.txt': 'c\n', 'other/x.txt': 'x\n' },
  });
  repository.commit({ files: { 'a/run.sh': '#!/bin/sh\n' }, mode: '100755' });
  const body = { sha: 'x', url: 'x', truncated: true, tree: [] };
  host.failNext({ when: /recursive/, status: 200, body });
});

function push(files: readonly { path: string; content: string }[]) {
  const place = {
    access: { apiUrl: host.url, token },
    maxWaitMs: 0,
    timeoutMs: 5_000,
    clean: without([token]),
  };
  const asking = new Host(place).during({ signal: new AbortController().signal, report: () => {} });
  return pushFiles(asking, { owner: 'ann', repo: 'vast', branch: 'main', message: 'm', files });
}

describe('in a vast repository', () => {
  test('a file that can be executed stays so, and only folders on the way are read', async () => {
    await push([
      { path: 'a/run.sh', content: '#!/bin/sh\necho\n' },
      { path: 'a/b/c.txt', content: 'C\n' },
      { path: 'new/deep/file.txt', content: 'n\n' },
    ]);
    const vast = host.world.repository('ann', 'vast');
    expect(vast?.read('a/b/c.txt')).toBe('C\n');
    expect(vast?.read('new/deep/file.txt')).toBe('n\n');
    expect(vast?.read('other/x.txt')).toBe('x\n');
    expect(vast?.files().get('a/run.sh')?.mode).toBe('100755');
    expect(vast?.files().get('a/b/c.txt')?.mode).toBe('100644');
    // The top, a, and a/b.
    expect(host.asked(/^GET .*\/git\/trees\/[0-9a-f]{40}$/)).toHaveLength(3);
  });

  test('a folder is not replaced by a file, nor a file by a folder', async () => {
    await expect(push([{ path: 'a/b', content: '' }])).rejects.toThrow('a/b is a folder');
    host.failNext({ when: /recursive/, status: 200, body: { truncated: true, tree: [] } });
    await expect(push([{ path: 'README.md/x', content: '' }])).rejects.toThrow('README.md is no folder');
    expect(host.asked(/^(POST|PATCH|PUT) /)).toHaveLength(0);
  });
});
