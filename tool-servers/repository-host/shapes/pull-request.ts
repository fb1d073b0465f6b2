// Pull requests and changed files in tool results. `*Response` schemas convert host responses to the
// published `*Shape`.

import { z } from 'zod';
import { characterStart } from '../text-page.ts';
import {
  excerpt,
  optionalFlag,
  optionalLabels,
  optionalLogin,
  optionalLogins,
  optionalNumber,
  optionalText,
} from './fields.ts';
import { MAX_LISTED_BODY_CHARS } from './issue.ts';

/** Maximum patch length per file. */
export const MAX_PATCH_CHARS = 6_000;
/** Maximum length of all patches on a page together. */
const MAX_PATCHES_CHARS = 80_000;

const branchShape = z.object({
  ref: z.string(),
  sha: z.string(),
  repository: z.string().optional().describe('Repository, if it is another one.'),
});

export const pullRequestShape = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  is_draft: z.boolean().optional(),
  is_merged: z.boolean().optional(),
  is_mergeable: z.boolean().optional().describe('Omitted while the host computes it.'),
  mergeable_state: z.string().optional(),
  author: z.string().optional(),
  head: branchShape,
  base: branchShape,
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
  merge_commit_sha: z.string().optional().describe('Set after the merge.'),
  url: z.string(),
  body: z.string().optional(),
});

const branchResponse = z.object({
  ref: z.string(),
  sha: z.string(),
  repo: z.object({ full_name: z.string() }).nullish(),
});

export const pullRequestResponse = z
  .object({
    number: z.number(),
    title: z.string(),
    state: z.string(),
    draft: optionalFlag,
    merged: optionalFlag,
    mergeable: optionalFlag,
    mergeable_state: optionalText,
    user: optionalLogin,
    head: branchResponse,
    base: branchResponse,
    labels: optionalLabels,
    assignees: optionalLogins,
    requested_reviewers: optionalLogins,
    commits: optionalNumber,
    changed_files: optionalNumber,
    additions: optionalNumber,
    deletions: optionalNumber,
    comments: optionalNumber,
    review_comments: optionalNumber,
    created_at: z.string(),
    updated_at: optionalText,
    merged_at: optionalText,
    closed_at: optionalText,
    merge_commit_sha: optionalText,
    html_url: z.string(),
    body: optionalText,
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
      // Before the merge, the host reports its test merge here.
      merge_commit_sha: isMerged ? host.merge_commit_sha : undefined,
      url: host.html_url,
      body: host.body,
    };
  });

export const listedPullRequestResponse = pullRequestResponse.transform(
  (pull): z.input<typeof pullRequestShape> => ({ ...pull, body: excerpt(pull.body, MAX_LISTED_BODY_CHARS) }),
);

export const writtenPullRequestResponse = pullRequestResponse.transform(
  (pull): z.input<typeof pullRequestShape> => ({ ...pull, body: undefined }),
);

export const changedFileShape = z.object({
  filename: z.string(),
  previous_filename: z.string().optional(),
  status: z.string(),
  additions: z.number(),
  deletions: z.number(),
  patch: z.string().optional().describe('Changes; omitted for binary files.'),
  is_patch_cut: z
    .boolean()
    .optional()
    .describe('True if the patch is truncated; get_pull_request_diff returns everything.'),
});

export const changedFileResponse = z
  .object({
    filename: z.string(),
    previous_filename: optionalText,
    status: z.string(),
    additions: z.number(),
    deletions: z.number(),
    patch: optionalText,
  })
  .transform((host): z.input<typeof changedFileShape> => host);

/** Truncates patches to limit the page's size. */
export function withShortPatches(files: readonly z.input<typeof changedFileShape>[]) {
  let remainingChars = MAX_PATCHES_CHARS;
  return files.map((file): z.input<typeof changedFileShape> => {
    if (file.patch === undefined) return file;
    const patch = file.patch.slice(0, characterStart(file.patch, Math.min(MAX_PATCH_CHARS, remainingChars)));
    remainingChars -= patch.length;
    if (patch.length === file.patch.length) return file;
    return { ...file, patch: patch || undefined, is_patch_cut: true };
  });
}
