// Commits in tool results. `*Response` schemas convert host responses to the published `*Shape`.

import { z } from 'zod';
import { excerpt, optionalLogin, optionalText } from './fields.ts';

const MAX_MESSAGE_CHARS = 2_000;

export const commitShape = z.object({
  sha: z.string(),
  message: z.string(),
  author: z.string().optional().describe('Login, or the name of an unknown account.'),
  date: z.string().optional(),
  url: z.string(),
});

export const commitResponse = z
  .object({
    sha: z.string(),
    commit: z.object({
      message: z.string(),
      author: z.object({ name: optionalText, date: optionalText }).nullish(),
    }),
    // Empty object for unknown accounts.
    author: z.union([z.object({ login: z.string() }), z.object({})]).nullish(),
    html_url: z.string(),
  })
  .transform((host): z.input<typeof commitShape> => {
    const login = optionalLogin.safeParse(host.author).data;
    return {
      sha: host.sha,
      message: excerpt(host.commit.message, MAX_MESSAGE_CHARS) ?? '',
      author: login ?? host.commit.author?.name,
      date: host.commit.author?.date,
      url: host.html_url,
    };
  });

/** Result after a write that created a commit. */
export const newCommitShape = z.object({
  sha: z.string().optional(),
  message: z.string(),
  url: z.string().optional(),
});
