// Code and user search results. `*Response` schemas convert host responses to the published `*Shape`.

import { z } from 'zod';
import { excerpt, listOf, nonEmpty, optionalText } from './fields.ts';

const MAX_FRAGMENTS = 3;
const MAX_FRAGMENT_CHARS = 400;

export const codeMatchShape = z.object({
  repository: z.string(),
  path: z.string(),
  sha: z.string().describe('SHA of the blob.'),
  url: z.string(),
  fragments: z.array(z.string()).optional().describe('Matching parts of the file.'),
});

export const codeMatchResponse = z
  .object({
    path: z.string(),
    sha: z.string(),
    html_url: z.string(),
    repository: z.object({ full_name: z.string() }),
    text_matches: listOf(z.object({ property: optionalText, fragment: optionalText })).nullish(),
  })
  .transform((host): z.input<typeof codeMatchShape> => {
    const fragments = (host.text_matches ?? [])
      .filter(({ property }) => property === 'content')
      .map(({ fragment }) => excerpt(fragment, MAX_FRAGMENT_CHARS) ?? '')
      .filter((fragment) => fragment !== '');
    return {
      repository: host.repository.full_name,
      path: host.path,
      sha: host.sha,
      url: host.html_url,
      fragments: nonEmpty(fragments.slice(0, MAX_FRAGMENTS)),
    };
  });

export const userShape = z.object({ login: z.string(), type: z.string(), url: z.string() });

export const userResponse = z
  .object({ login: z.string(), type: optionalText, html_url: z.string() })
  .transform(
    (host): z.input<typeof userShape> => ({
      login: host.login,
      type: host.type ?? 'User',
      url: host.html_url,
    }),
  );
