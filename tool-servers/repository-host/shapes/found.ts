// What searches for code and for accounts find, as it is given to a model.

import { z } from 'zod';
import { excerpt, filled, readList, readText } from './reading.ts';

const MAX_FRAGMENTS = 3;
const MAX_FRAGMENT_CHARS = 400;

export const foundCodeShape = z.object({
  repository: z.string(),
  path: z.string(),
  sha: z.string().describe("The file's blob."),
  url: z.string(),
  fragments: z.array(z.string()).optional().describe('Where it was found in the file.'),
});

export const readFoundCode = z
  .object({
    path: z.string(),
    sha: z.string(),
    html_url: z.string(),
    repository: z.object({ full_name: z.string() }),
    text_matches: readList(z.object({ property: readText, fragment: readText })).nullish(),
  })
  .transform((host): z.input<typeof foundCodeShape> => {
    const fragments = (host.text_matches ?? [])
      .filter(({ property }) => property === 'content')
      .map(({ fragment }) => excerpt(fragment, MAX_FRAGMENT_CHARS) ?? '')
      .filter((fragment) => fragment !== '');
    return {
      repository: host.repository.full_name,
      path: host.path,
      sha: host.sha,
      url: host.html_url,
      fragments: filled(fragments.slice(0, MAX_FRAGMENTS)),
    };
  });

export const userShape = z.object({ login: z.string(), type: z.string(), url: z.string() });

export const readUser = z.object({ login: z.string(), type: readText, html_url: z.string() }).transform(
  (host): z.input<typeof userShape> => ({
    login: host.login,
    type: host.type ?? 'User',
    url: host.html_url,
  }),
);
