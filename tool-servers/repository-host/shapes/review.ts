// Pull request reviews and line comments in tool results. `*Response` schemas convert host responses to the
// published `*Shape`.

import { z } from 'zod';
import { ending, excerpt, idField, optionalLogin, optionalNumber, optionalText } from './fields.ts';

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

export const reviewResponse = z
  .object({
    id: idField,
    user: optionalLogin,
    state: z.string(),
    body: optionalText,
    submitted_at: optionalText,
    commit_id: optionalText,
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
  in_reply_to: z.number().optional().describe('Id of the first comment of the thread.'),
  author: z.string().optional(),
  path: z.string(),
  line: z.number().optional().describe('Omitted if the line no longer exists.'),
  start_line: z.number().optional(),
  side: z.string().optional(),
  body: z.string(),
  diff_hunk: z.string().optional().describe('End of the commented diff hunk.'),
  created_at: z.string(),
  url: z.string(),
});

export const reviewCommentResponse = z
  .object({
    id: idField,
    in_reply_to_id: idField.nullish(),
    user: optionalLogin,
    path: z.string(),
    line: optionalNumber,
    start_line: optionalNumber,
    side: optionalText,
    body: z.string(),
    diff_hunk: optionalText,
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
      // The commented line is the last line of the hunk.
      diff_hunk: ending(host.diff_hunk, MAX_HUNK_CHARS),
      created_at: host.created_at,
      url: host.html_url,
    }),
  );
