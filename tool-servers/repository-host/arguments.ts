// Schemas for parameters that several tools share. Values that become part of a URL are validated here: a
// name is one segment, and a path contains no `.` or `..`, so no argument can reach another endpoint.
//
// Checks are refinements rather than patterns in the published schema, because several model providers reject
// unknown patterns.

import { z } from 'zod';

const MAX_NAME_CHARS = 100;
const MAX_PATH_CHARS = 4096;
const MAX_REF_CHARS = 255;
const MAX_TITLE_CHARS = 1024;
/** Limit of the host for the text of an issue or comment. */
const MAX_BODY_CHARS = 65_536;
const MAX_QUERY_CHARS = 1024;
const MAX_PER_PAGE = 100;
const DEFAULT_PER_PAGE = 30;

/** True for a valid account or repository name, which is one address segment. */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9._-]+$/.test(text) && !/^\.{1,2}$/.test(text);
}

/** True for a repository path with single slashes. */
function isPath(text: string): boolean {
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..') && isPrintable(text);
}

/** True for a branch name by the rules of `git check-ref-format --branch`. */
export function isBranchName(text: string): boolean {
  if (!isPath(text) || /[ ~^:?*[\\]|\.\.|@\{/.test(text) || text === '@') return false;
  return (
    !/^-|\.$/.test(text) && text.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
  );
}

/** True if the text contains no control characters and no unpaired surrogates. */
function isPrintable(text: string): boolean {
  return !/\p{Cc}/u.test(text) && isWellFormed(text);
}

/** True if the text contains no unpaired surrogates, which UTF-8 cannot encode. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

const name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .refine(isName, 'is not a valid name: use letters, digits, ".", "_" and "-"');

export const owner = name.describe('Owner of the repository: a user or an organisation.');
export const repo = name.describe('Repository name, without the owner.');
export const repository = { owner, repo };
export const newRepositoryName = name.describe('Name of the new repository.');
export const organization = name.describe('Organisation for the fork. Default: the account of the token.');

export const branch = z
  .string()
  .min(1)
  .max(MAX_REF_CHARS)
  .refine(isBranchName, 'is not a valid branch name; pass it without "refs/heads/"');

/** New branch name. */
export const newBranch = branch.refine(
  (text) => !text.startsWith('refs/'),
  'is a full ref name; pass it without "refs/heads/"',
);

/** Expected newest commit (SHA) of the branch. */
export const expectedHead = z.string().min(1).max(64).refine(isPrintable, 'contains a control character');

/** Branch, tag or commit to read. */
export const revision = z
  .string()
  .min(1)
  .max(MAX_REF_CHARS)
  .refine(isPrintable, 'contains a control character')
  .refine((text) => text.trim() === text, 'starts or ends with a space');

/** File path; a leading slash is ignored. */
export const filePath = z
  .string()
  .min(1)
  .max(MAX_PATH_CHARS)
  .refine(
    (text) => isPath(text.replace(/^\//, '')),
    'is not a valid file path: it must not contain empty segments, "." or ".."',
  );

/** File or folder path; empty, "/" and "." are the root. */
export const anyPath = z
  .string()
  .max(MAX_PATH_CHARS)
  .refine(
    (text) => trimSlashes(text) === '' || isPath(trimSlashes(text)),
    'is not a valid path: it must not contain empty segments, "." or ".."',
  );

/** Removes leading and trailing slashes. */
export function trimSlashes(text: string): string {
  return text === '.' ? '' : text.replace(/^\/|\/$/g, '');
}

export const title = z.string().min(1).max(MAX_TITLE_CHARS);
export const bodyText = z.string().max(MAX_BODY_CHARS);
export const query = z.string().min(1).max(MAX_QUERY_CHARS).refine(isQuery, 'contains a control character');

function isQuery(text: string): boolean {
  return isPrintable(text.replace(/[\n\t]/g, ' '));
}

export const number = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
export const pullNumber = { pull_number: number.describe('Number of the pull request.') };
export const issueNumber = { issue_number: number.describe('Number of the issue.') };
export const labels = z.array(z.string().min(1).max(MAX_NAME_CHARS)).max(100);
/** Apps are accounts named `name[bot]`. */
const login = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .refine((text) => isName(text.replace(/\[bot\]$/, '')), 'is not a login');
export const assignees = z.array(login).max(10);
export const milestone = number.describe('Number of a milestone of this repository.');

/** Paging of lists with small entries. */
export const paging = {
  page: z.int().min(1).max(1_000_000).default(1).describe('Page number, from 1.'),
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
  .describe(
    'Start position in characters. Long texts are returned in parts; each part states the next offset.',
  );

/** Timestamp in the format of the host. */
export const timestamp = z
  .string()
  .max(40)
  .refine(
    (text) =>
      /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text) &&
      !Number.isNaN(Date.parse(text)),
    'is not a timestamp: use the form 2025-01-31T00:00:00Z',
  );
