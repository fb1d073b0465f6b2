// An issue, as it is given to a model: whole, or as an entry of a list with the beginning of its text.

import { z } from 'zod';
import {
  excerpt,
  milestoneShape,
  readFlag,
  readLabels,
  readLogin,
  readLogins,
  readNumber,
  readText,
} from './reading.ts';

/** Of the text of an entry in a list. */
export const MAX_LISTED_BODY_CHARS = 500;

export const issueShape = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  state_reason: z.string().optional(),
  repository: z.string().optional().describe('Owner and name.'),
  is_pull_request: z.boolean().optional().describe('The host lists pull requests among the issues.'),
  is_draft: z.boolean().optional(),
  is_locked: z.boolean().optional(),
  author: z.string().optional(),
  labels: z.array(z.string()).optional(),
  assignees: z.array(z.string()).optional(),
  milestone: milestoneShape.optional(),
  comments: z.number().optional().describe('How many.'),
  created_at: z.string(),
  updated_at: z.string().optional(),
  closed_at: z.string().optional(),
  url: z.string(),
  body: z.string().optional(),
});

export const readIssue = z
  .object({
    number: z.number(),
    title: z.string(),
    state: z.string(),
    state_reason: readText,
    repository_url: readText,
    pull_request: z.unknown().optional(),
    draft: readFlag,
    locked: readFlag,
    user: readLogin,
    labels: readLabels,
    assignees: readLogins,
    milestone: milestoneShape.nullish(),
    comments: readNumber,
    created_at: z.string(),
    updated_at: readText,
    closed_at: readText,
    html_url: z.string(),
    body: readText,
  })
  .transform(
    (host): z.input<typeof issueShape> => ({
      number: host.number,
      title: host.title,
      state: host.state,
      state_reason: host.state_reason,
      repository: repositoryIn(host.repository_url),
      is_pull_request: host.pull_request ? true : undefined,
      is_draft: host.draft || undefined,
      is_locked: host.locked || undefined,
      author: host.user,
      labels: host.labels,
      assignees: host.assignees,
      milestone: host.milestone ?? undefined,
      comments: host.comments,
      created_at: host.created_at,
      updated_at: host.updated_at,
      closed_at: host.closed_at,
      url: host.html_url,
      body: host.body,
    }),
  );

export const readListedIssue = readIssue.transform(
  (issue): z.input<typeof issueShape> => ({
    ...issue,
    body: excerpt(issue.body, MAX_LISTED_BODY_CHARS),
  }),
);

/** What a caller gets back of an issue it has just written: its text is known to it. */
export const readWrittenIssue = readIssue.transform(
  (issue): z.input<typeof issueShape> => ({
    ...issue,
    body: undefined,
  }),
);

export const commentShape = z.object({
  author: z.string().optional(),
  created_at: z.string(),
  url: z.string(),
});

export const readComment = z
  .object({ user: readLogin, created_at: z.string(), html_url: z.string() })
  .transform(
    (host): z.input<typeof commentShape> => ({
      author: host.user,
      created_at: host.created_at,
      url: host.html_url,
    }),
  );

/** `owner/name` of a repository's address in the API. */
function repositoryIn(url: string | undefined): string | undefined {
  return /\/repos\/([^/]+\/[^/]+)$/.exec(url ?? '')?.[1];
}
