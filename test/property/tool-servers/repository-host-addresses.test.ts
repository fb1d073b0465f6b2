// URLs of the repository host server. For all accepted arguments, even hostile ones, a request reaches only
// the intended endpoint: the URL is parsed into segments, as a server does it.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  anyPath,
  branch,
  filePath,
  isBranchName,
  isName,
  repo,
  trimSlashes,
} from '../../../tool-servers/repository-host/arguments.ts';
import { toApiRequest } from '../../../tool-servers/repository-host/route-template.ts';

/** Texts with a meaning in URLs, paths or git. */
const hostileText = fc.constantFrom(
  '..',
  '.',
  '...',
  '%2e%2e',
  '%2E.',
  '%2f',
  '%5c',
  '..%2f',
  '\\',
  '..\\',
  '?',
  '#',
  '?a=b',
  '#x',
  '&',
  ';',
  '//',
  '/',
  '{ref}',
  ':owner',
  ' ',
  '%',
  '%00',
  '\u0000',
  '\n',
  '@',
  '~',
  'ü',
  '語',
  '👩',
  '\ud800',
  '+',
  '.git',
  'HEAD',
  '',
  '*',
);
const segment = fc.oneof(
  hostileText,
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ maxLength: 8 }),
);
const text = fc.oneof(
  fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/')),
  fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
);
const name = fc.oneof(fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/), text);

/** Segments of the URL as a server decodes them. */
function segmentsOf(route: string, parameters: object): string[] {
  const { origin, pathname } = new URL(`https://host.example/api/v3${toApiRequest(route, parameters).path}`);
  expect(origin).toBe('https://host.example');
  // Without the empty segment before the first slash, `api` and `v3`.
  return pathname.split('/').slice(3).map(decodeURIComponent);
}

describe('a request URL for the repository host API', () => {
  test('leads to exactly the given file path, unless the path is refused', () => {
    let accepted = 0;
    fc.assert(
      fc.property(name, name, text, (owner, repository, path) => {
        const isAccepted =
          repo.safeParse(owner).success &&
          repo.safeParse(repository).success &&
          filePath.safeParse(path).success;
        if (!isAccepted) return;
        accepted++;
        const trimmedPath = trimSlashes(path);
        const segments = segmentsOf('GET /repos/{owner}/{repo}/contents/{path}', {
          owner,
          repo: repository,
          path: trimmedPath,
        });
        expect(segments).toEqual(['repos', owner, repository, 'contents', ...trimmedPath.split('/')]);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });

  test('leads to exactly the given branch, unless its name is refused', () => {
    let accepted = 0;
    fc.assert(
      fc.property(text, (branchName) => {
        if (!branch.safeParse(branchName).success) return;
        accepted++;
        const parameters = { owner: 'o', repo: 'r', ref: `heads/${branchName}` };
        const segments = segmentsOf('PATCH /repos/{owner}/{repo}/git/refs/{ref}', parameters);
        expect(segments).toEqual(['repos', 'o', 'r', 'git', 'refs', 'heads', ...branchName.split('/')]);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });

  test('of a search contains the query unchanged, including plus signs', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (q) => {
        const request = toApiRequest('GET /search/code', { q, page: 1, per_page: 30 });
        expect(request).toEqual({ path: '/search/code', query: { q, page: 1, per_page: 30 } });
      }),
    );
  });
});

describe('names in a request URL', () => {
  test.each(['..', '.', '', 'a/b', 'a b', 'a?b', 'a#b', '%2e%2e', 'ü', 'a\n', 'a\u0000'])(
    '%j is refused',
    (value) => {
      expect(isName(value)).toBe(false);
    },
  );

  test.each(['a', '.github', 'some.js', 'a-b_c', '...', '-x'])('%j is accepted', (value) => {
    expect(isName(value)).toBe(true);
  });

  test.each(['a/../b', '../a', 'a/..', '.', './a', 'a//b', '/', '//a', 'a/', 'a\u0000', 'a\nb', '\ud800'])(
    '%j is refused as the path of a file',
    (value) => {
      expect(filePath.safeParse(value).success).toBe(false);
    },
  );

  test.each(['', '/', '.', 'src', 'src/', '/src/', 'a b/%2e%2e/c?d#e'])(
    '%j is accepted as a path',
    (value) => {
      expect(anyPath.safeParse(value).success).toBe(true);
    },
  );

  test.each([
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    '@',
    'a@{1}',
    '-a',
    'a.',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a//b',
    '/a',
    'a/',
  ])('%j is refused as a branch, like by git', (value) => {
    expect(isBranchName(value)).toBe(false);
  });

  test.each(['main', 'feature/x', 'fix-#12', 'ü/語', 'a@b', 'release-1.0', 'a{b}'])(
    '%j is accepted as a branch',
    (value) => {
      expect(isBranchName(value)).toBe(true);
    },
  );
});
