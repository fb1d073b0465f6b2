// A pull request, as it is given to a model, and the files it changes.

import { z } from 'zod';
import { keepPair } from '../text-page.ts';
import { MAX_LISTED_BODY_CHARS } from './issue.ts';
import { excerpt, readFlag, readLabels, readLogin, readLogins, readNumber, readText } from './reading.ts';

/** Of the changes of one file, and of all files of a page together. */
export const MAX_PATCH_CHARS = 6_000;
const MAX_PATCHES_CHARS = 80_000;

const sideShape = z.object({
  ref: z.string(),
  sha: z.string(),
  repository: z.string().optional().describe('Where it differs from the one asked for.'),
});

export const pullRequestShape = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  is_draft: z.boolean().optional(),
  is_merged: z.boolean().optional(),
  is_mergeable: z.boolean().optional().describe('Left out while the host is still finding out.'),
  mergeable_state: z.string().optional(),
  author: z.string().optional(),
  head: sideShape,
  base: sideShape,
  labels: z.array(z.string()).optional(),
  assignees: z.array(z.string()).optional(),
  requested_reviewers: z.array(z.string()).optional(),
  commits: z.number().optional(),
  changed_files: z.number().optional(),
  additions: z.number().optional(),
  deletions: z.number().optional(),
  comments: z.number().optional(),
  review_comments: z.number().optional(),
  created_at: z.string(),
  updated_at: z.string().optional(),
  merged_at: z.string().optional(),
  closed_at: z.string().optional(),
  merge_commit_sha: z.string().optional().describe('Once it is merged.'),
  url: z.string(),
  body: z.string().optional(),
});

const readSide = z.object({
  ref: z.string(),
  sha: z.string(),
  repo: z.object({ full_name: z.string() }).nullish(),
});

export const readPullRequest = z
  .object({
    number: z.number(),
    title: z.string(),
    state: z.string(),
    draft: readFlag,
    merged: readFlag,
    mergeable: readFlag,
    mergeable_state: readText,
    user: readLogin,
    head: readSide,
    base: readSide,
    labels: readLabels,
    assignees: readLogins,
    requested_reviewers: readLogins,
    commits: readNumber,
    changed_files: readNumber,
    additions: readNumber,
    deletions: readNumber,
    comments: readNumber,
    review_comments: readNumber,
    created_at: z.string(),
    updated_at: readText,
    merged_at: readText,
    closed_at: readText,
    merge_commit_sha: readText,
    html_url: z.string(),
    body: readText,
  })
  .transform((host): z.input<typeof pullRequestShape> => {
    const isMerged = host.merged ?? host.merged_at !== undefined;
    const from = host.head.repo?.full_name;
    return {
      number: host.number,
      title: host.title,
      state: host.state,
      is_draft: host.draft || undefined,
      is_merged: isMerged,
      is_mergeable: host.mergeable,
      mergeable_state: host.mergeable_state,
      author: host.user,
      head: {
        ref: host.head.ref,
        sha: host.head.sha,
        repository: from === host.base.repo?.full_name ? undefined : from,
      },
      base: { ref: host.base.ref, sha: host.base.sha },
      labels: host.labels,
      assignees: host.assignees,
      requested_reviewers: host.requested_reviewers,
      commits: host.commits,
      changed_files: host.changed_files,
      additions: host.additions,
      deletions: host.deletions,
      comments: host.comments,
      review_comments: host.review_comments,
      created_at: host.created_at,
      updated_at: host.updated_at,
      merged_at: host.merged_at,
      closed_at: host.closed_at,
      // Before that it is a trial merge of the host's own.
      merge_commit_sha: isMerged ? host.merge_commit_sha : undefined,
      url: host.html_url,
      body: host.body,
    };
  });

export const readListedPullRequest = readPullRequest.transform(
  (pull): z.input<typeof pullRequestShape> => ({ ...pull, body: excerpt(pull.body, MAX_LISTED_BODY_CHARS) }),
);

export const readWrittenPullRequest = readPullRequest.transform(
  (pull): z.input<typeof pullRequestShape> => ({ ...pull, body: undefined }),
);

export const changedFileShape = z.object({
  filename: z.string(),
  previous_filename: z.string().optional(),
  status: z.string(),
  additions: z.number(),
  deletions: z.number(),
  patch: z.string().optional().describe('Its changes; left out for binary files.'),
  is_patch_cut: z.boolean().optional().describe('The changes are longer: get_pull_request_diff has all.'),
});

export const readChangedFile = z
  .object({
    filename: z.string(),
    previous_filename: readText,
    status: z.string(),
    additions: z.number(),
    deletions: z.number(),
    patch: readText,
  })
  .transform((host): z.input<typeof changedFileShape> => host);

/** `files` with their changes cut, so that one page stays readable. */
export function withShortPatches(files: readonly z.input<typeof changedFileShape>[]) {
  let leftChars = MAX_PATCHES_CHARS;
  return files.map((file): z.input<typeof changedFileShape> => {
    if (file.patch === undefined) return file;
    const patch = file.patch.slice(0, keepPair(file.patch, Math.min(MAX_PATCH_CHARS, leftChars)));
    leftChars -= patch.length;
    if (patch.length === file.patch.length) return file;
    return { ...file, patch: patch || undefined, is_patch_cut: true };
  });
}
