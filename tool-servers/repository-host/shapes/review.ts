// Reviews of a pull request and the comments on its lines, as they are given to a model.

import { z } from 'zod';
import { ending, excerpt, readId, readLogin, readNumber, readText } from './reading.ts';

const MAX_HUNK_CHARS = 600;
const MAX_LISTED_TEXT_CHARS = 8_000;

export const reviewShape = z.object({
  id: z.number(),
  author: z.string().optional(),
  state: z.string(),
  body: z.string().optional(),
  submitted_at: z.string().optional(),
  commit_sha: z.string().optional(),
  url: z.string(),
});

export const readReview = z
  .object({
    id: readId,
    user: readLogin,
    state: z.string(),
    body: readText,
    submitted_at: readText,
    commit_id: readText,
    html_url: z.string(),
  })
  .transform(
    (host): z.input<typeof reviewShape> => ({
      id: host.id,
      author: host.user,
      state: host.state,
      body: excerpt(host.body, MAX_LISTED_TEXT_CHARS),
      submitted_at: host.submitted_at,
      commit_sha: host.commit_id,
      url: host.html_url,
    }),
  );

export const reviewCommentShape = z.object({
  id: z.number(),
  in_reply_to: z.number().optional().describe('The id of the comment that begins the thread.'),
  author: z.string().optional(),
  path: z.string(),
  line: z.number().optional().describe('Left out where the line is gone.'),
  start_line: z.number().optional(),
  side: z.string().optional(),
  body: z.string(),
  diff_hunk: z.string().optional().describe('The end of the change it stands at.'),
  created_at: z.string(),
  url: z.string(),
});

export const readReviewComment = z
  .object({
    id: readId,
    in_reply_to_id: readId.nullish(),
    user: readLogin,
    path: z.string(),
    line: readNumber,
    start_line: readNumber,
    side: readText,
    body: z.string(),
    diff_hunk: readText,
    created_at: z.string(),
    html_url: z.string(),
  })
  .transform(
    (host): z.input<typeof reviewCommentShape> => ({
      id: host.id,
      in_reply_to: host.in_reply_to_id ?? undefined,
      author: host.user,
      path: host.path,
      line: host.line,
      start_line: host.start_line,
      side: host.side,
      body: excerpt(host.body, MAX_LISTED_TEXT_CHARS) ?? '',
      // The line commented on is its last.
      diff_hunk: ending(host.diff_hunk, MAX_HUNK_CHARS),
      created_at: host.created_at,
      url: host.html_url,
    }),
  );
