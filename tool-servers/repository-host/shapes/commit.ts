// A commit, as it is given to a model.

import { z } from 'zod';
import { excerpt, readLogin, readText } from './reading.ts';

const MAX_MESSAGE_CHARS = 2_000;

export const commitShape = z.object({
  sha: z.string(),
  message: z.string(),
  author: z.string().optional().describe('The login, or the name where the host knows no account.'),
  date: z.string().optional(),
  url: z.string(),
});

export const readCommit = z
  .object({
    sha: z.string(),
    commit: z.object({
      message: z.string(),
      author: z.object({ name: readText, date: readText }).nullish(),
    }),
    // An empty object where the account is unknown.
    author: z.union([z.object({ login: z.string() }), z.object({})]).nullish(),
    html_url: z.string(),
  })
  .transform((host): z.input<typeof commitShape> => {
    const login = readLogin.safeParse(host.author).data;
    return {
      sha: host.sha,
      message: excerpt(host.commit.message, MAX_MESSAGE_CHARS) ?? '',
      author: login ?? host.commit.author?.name,
      date: host.commit.author?.date,
      url: host.html_url,
    };
  });

/** A commit just made. */
export const newCommitShape = z.object({
  sha: z.string().optional(),
  message: z.string(),
  url: z.string().optional(),
});
