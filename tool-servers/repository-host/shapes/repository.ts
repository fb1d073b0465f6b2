// A repository, as it is given to a model.

import { z } from 'zod';
import { excerpt, filled, readFlag, readList, readNumber, readText } from './reading.ts';

const MAX_DESCRIPTION_CHARS = 350;

export const repositoryShape = z.object({
  full_name: z.string(),
  description: z.string().optional(),
  private: z.boolean(),
  fork: z.boolean(),
  archived: z.boolean().optional(),
  default_branch: z.string().optional(),
  language: z.string().optional(),
  topics: z.array(z.string()).optional(),
  license: z.string().optional(),
  stars: z.number().optional(),
  forks: z.number().optional(),
  open_issues: z.number().optional().describe('Issues and pull requests.'),
  pushed_at: z.string().optional(),
  url: z.string(),
});

export const readRepository = z
  .object({
    full_name: z.string(),
    description: readText,
    private: z.boolean(),
    fork: readFlag,
    archived: readFlag,
    default_branch: readText,
    language: readText,
    topics: readList(z.string()).nullish(),
    license: z.object({ spdx_id: z.string().nullish() }).nullish(),
    stargazers_count: readNumber,
    forks_count: readNumber,
    open_issues_count: readNumber,
    pushed_at: readText,
    html_url: z.string(),
  })
  .transform(
    (host): z.input<typeof repositoryShape> => ({
      full_name: host.full_name,
      description: excerpt(host.description, MAX_DESCRIPTION_CHARS),
      private: host.private,
      fork: host.fork ?? false,
      archived: host.archived || undefined,
      default_branch: host.default_branch,
      language: host.language,
      topics: filled(host.topics ?? undefined),
      license: host.license?.spdx_id ?? undefined,
      stars: host.stargazers_count,
      forks: host.forks_count,
      open_issues: host.open_issues_count,
      pushed_at: host.pushed_at,
      url: host.html_url,
    }),
  );
