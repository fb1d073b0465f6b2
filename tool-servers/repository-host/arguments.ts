// The parameters that many tools share, with what they may be. What ends up in an address is checked here: a name is one
// segment, a path has no `.` or `..`, so that no argument can lead to another endpoint.
//
// The checks are refinements, not patterns in the published schema: several models' providers refuse patterns they do not know.

import { z } from 'zod';

const MAX_NAME_CHARS = 100;
const MAX_PATH_CHARS = 4096;
const MAX_REF_CHARS = 255;
const MAX_TITLE_CHARS = 1024;
/** The host's own limit of an issue's or comment's text. */
const MAX_BODY_CHARS = 65_536;
const MAX_QUERY_CHARS = 1024;
const MAX_PER_PAGE = 100;
const DEFAULT_PER_PAGE = 30;

/** One segment of an address, as accounts and repositories are called. */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9._-]+$/.test(text) && !/^\.{1,2}$/.test(text);
}

/** A path inside a repository, its segments separated by single slashes. */
function isPath(text: string): boolean {
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..') && isPrintable(text);
}

/** A branch's name by the rules of `git check-ref-format --branch`. */
export function isBranchName(text: string): boolean {
  if (!isPath(text) || /[ ~^:?*[\\]|\.\.|@\{/.test(text) || text === '@') return false;
  return (
    !/^-|\.$/.test(text) && text.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
  );
}

/** No control character, no half of a surrogate pair. */
function isPrintable(text: string): boolean {
  return !/\p{Cc}/u.test(text) && isWellFormed(text);
}

/** No half of a surrogate pair, which would be written as something else. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

const name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .refine(isName, 'is not a name: it takes letters, digits, ".", "_" and "-"');

export const owner = name.describe('The account that the repository belongs to: a user or an organisation.');
export const repo = name.describe("The repository's name, without its owner.");
export const repository = { owner, repo };
export const newRepositoryName = name.describe("The new repository's name.");
export const organization = name.describe(
  'The organisation that gets the fork. Left out: the account of the token.',
);

export const branch = z
  .string()
  .min(1)
  .max(MAX_REF_CHARS)
  .refine(isBranchName, 'is not the name of a branch; give it without "refs/heads/"');

/** One that does not exist yet. */
export const newBranch = branch.refine(
  (text) => !text.startsWith('refs/'),
  'is the full name of a ref; give it without "refs/heads/"',
);

/** The newest commit of a branch as the caller knows it. */
export const knownHead = z.string().min(1).max(64).refine(isPrintable, 'holds a control character');

/** A branch, tag or commit that is only read. */
export const revision = z
  .string()
  .min(1)
  .max(MAX_REF_CHARS)
  .refine(isPrintable, 'holds a control character')
  .refine((text) => text.trim() === text, 'begins or ends with a space');

/** A file's path; a slash at its beginning is taken for the top of the repository. */
export const filePath = z
  .string()
  .min(1)
  .max(MAX_PATH_CHARS)
  .refine((text) => isPath(text.replace(/^\//, '')), 'is not the path of a file: no empty part, "." or ".."');

/** The same for a folder too; empty, "/" and "." are the top. */
export const anyPath = z
  .string()
  .max(MAX_PATH_CHARS)
  .refine((text) => pathAt(text) === '' || isPath(pathAt(text)), 'is not a path: no empty part, "." or ".."');

/** A path as the host is given it, without slashes at its ends. */
export function pathAt(text: string): string {
  return text === '.' ? '' : text.replace(/^\/|\/$/g, '');
}

export const title = z.string().min(1).max(MAX_TITLE_CHARS);
export const bodyText = z.string().max(MAX_BODY_CHARS);
export const query = z.string().min(1).max(MAX_QUERY_CHARS).refine(isQuery, 'holds a control character');

function isQuery(text: string): boolean {
  return isPrintable(text.replace(/[\n\t]/g, ' '));
}

export const number = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
export const pullNumber = { pull_number: number.describe('The number of the pull request.') };
export const issueNumber = { issue_number: number.describe('The number of the issue.') };
export const labels = z.array(z.string().min(1).max(MAX_NAME_CHARS)).max(100);
/** Apps are accounts too, as `name[bot]`. */
const login = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .refine((text) => isName(text.replace(/\[bot\]$/, '')), 'is not a login');
export const assignees = z.array(login).max(10);
export const milestone = number.describe('The number of a milestone of this repository.');

/** For lists whose entries are small. */
export const paging = {
  page: z.int().min(1).max(1_000_000).default(1).describe('Which page, from 1.'),
  per_page: z
    .int()
    .min(1)
    .max(MAX_PER_PAGE)
    .default(DEFAULT_PER_PAGE)
    .describe(`Entries per page, up to ${MAX_PER_PAGE}.`),
};

export const offset = z
  .int()
  .min(0)
  .default(0)
  .describe('Where to begin, in characters; long texts come in parts, and each says where the next begins.');

/** A moment as the host takes it. */
export const moment = z
  .string()
  .max(40)
  .refine(
    (text) =>
      /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text) &&
      !Number.isNaN(Date.parse(text)),
    'is not a moment: write it like 2025-01-31T00:00:00Z',
  );
