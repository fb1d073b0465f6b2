// Issues in tool results: complete, or as list entries with truncated text. `*Response` schemas convert host
// responses to the published `*Shape`.

import { z } from 'zod';
import {
  excerpt,
  milestoneShape,
  optionalFlag,
  optionalLabels,
  optionalLogin,
  optionalLogins,
  optionalNumber,
  optionalText,
} from './fields.ts';

/** Maximum text length per list entry. */
export const MAX_LISTED_BODY_CHARS = 500;

export const issueShape = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  state_reason: z.string().optional(),
  repository: z.string().optional().describe('Owner and name.'),
  is_pull_request: z
    .boolean()
    .optional()
    .describe('True for a pull request, which the host lists as an issue.'),
  is_draft: z.boolean().optional(),
  is_locked: z.boolean().optional(),
  author: z.string().optional(),
  labels: z.array(z.string()).optional(),
  assignees: z.array(z.string()).optional(),
  milestone: milestoneShape.optional(),
  comments: z.number().optional().describe('Number of comments.'),
  created_at: z.string(),
  updated_at: z.string().optional(),
  closed_at: z.string().optional(),
  url: z.string(),
  body: z.string().optional(),
});

export const issueResponse = z
  .object({
    number: z.number(),
    title: z.string(),
    state: z.string(),
    state_reason: optionalText,
    repository_url: optionalText,
    pull_request: z.unknown().optional(),
    draft: optionalFlag,
    locked: optionalFlag,
    user: optionalLogin,
    labels: optionalLabels,
    assignees: optionalLogins,
    milestone: milestoneShape.nullish(),
    comments: optionalNumber,
    created_at: z.string(),
    updated_at: optionalText,
    closed_at: optionalText,
    html_url: z.string(),
    body: optionalText,
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

export const listedIssueResponse = issueResponse.transform(
  (issue): z.input<typeof issueShape> => ({
    ...issue,
    body: excerpt(issue.body, MAX_LISTED_BODY_CHARS),
  }),
);

/** Result after a write. Omits the text, which the caller sent. */
export const writtenIssueResponse = issueResponse.transform(
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

export const commentResponse = z
  .object({ user: optionalLogin, created_at: z.string(), html_url: z.string() })
  .transform(
    (host): z.input<typeof commentShape> => ({
      author: host.user,
      created_at: host.created_at,
      url: host.html_url,
    }),
  );

/** Returns `owner/name` from an API address. */
function repositoryIn(url: string | undefined): string | undefined {
  return /\/repos\/([^/]+\/[^/]+)$/.exec(url ?? '')?.[1];
}
