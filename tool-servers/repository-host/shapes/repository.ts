// Repositories in tool results. `*Response` schemas convert host responses to the published `*Shape`.

import { z } from 'zod';
import { excerpt, listOf, nonEmpty, optionalFlag, optionalNumber, optionalText } from './fields.ts';

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
  open_issues: z.number().optional().describe('Number of open issues and pull requests.'),
  pushed_at: z.string().optional(),
  url: z.string(),
});

export const repositoryResponse = z
  .object({
    full_name: z.string(),
    description: optionalText,
    private: z.boolean(),
    fork: optionalFlag,
    archived: optionalFlag,
    default_branch: optionalText,
    language: optionalText,
    topics: listOf(z.string()).nullish(),
    license: z.object({ spdx_id: z.string().nullish() }).nullish(),
    stargazers_count: optionalNumber,
    forks_count: optionalNumber,
    open_issues_count: optionalNumber,
    pushed_at: optionalText,
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
      topics: nonEmpty(host.topics ?? undefined),
      license: host.license?.spdx_id ?? undefined,
      stars: host.stargazers_count,
      forks: host.forks_count,
      open_issues: host.open_issues_count,
      pushed_at: host.pushed_at,
      url: host.html_url,
    }),
  );
