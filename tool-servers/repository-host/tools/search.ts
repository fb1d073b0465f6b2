// The four searches. The host counts them apart from everything else, and gives the first 1,000 results of each.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { paging, query } from '../arguments.ts';
import type { Host } from '../host.ts';
import { foundCodeShape, readFoundCode, readUser, userShape } from '../shapes/found.ts';
import { issueShape, readListedIssue } from '../shapes/issue.ts';
import { MAX_SEARCH_RESULTS, positionOf, readSearch, searchPageShape } from '../shapes/page.ts';
import { readRepository, repositoryShape } from '../shapes/repository.ts';
import { answer, reads } from './answer.ts';

const LIMITS = `At most ${MAX_SEARCH_RESULTS} results of a search can be reached. Searches are limited by the minute; this tool waits for its turn.`;

const order = z
  .enum(['asc', 'desc'])
  .optional()
  .describe('With sort: which end comes first. The host takes desc.');

/** `data` of a search, with where its page stands. */
function found<Item>(
  data: { total_count: number; incomplete_results?: boolean | null | undefined; items: Item[] },
  link: string | undefined,
  page: number,
) {
  return answer({
    total_count: data.total_count,
    is_incomplete: data.incomplete_results || undefined,
    items: data.items,
    ...positionOf(link, page),
  });
}

export function searchTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'search_repositories',
      title: 'Search repositories',
      description: `Finds repositories by words and qualifiers, such as "language:go stars:>100" or "org:NAME". Gives a short form of each. ${LIMITS}`,
      input: z.strictObject({
        query: query.describe('Words and qualifiers (user:, org:, language:, topic:, stars:, in:name …).'),
        sort: z
          .enum(['stars', 'forks', 'help-wanted-issues', 'updated'])
          .optional()
          .describe('Left out: best match.'),
        order,
        ...paging,
      }),
      output: searchPageShape(repositoryShape),
      hints: reads,
      async run({ query: q, ...rest }, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /search/repositories', { q, ...rest }, readSearch(readRepository));
        return found(data, link, rest.page);
      },
    }),
    defineTool({
      name: 'search_code',
      title: 'Search code',
      description: `Finds files by their content, on default branches only. Narrow it with "repo:OWNER/NAME", "org:NAME", "path:" or "language:". Gives path and the places of each file; read one with get_file_contents. The host asks for a token here. ${LIMITS} The host allows 10 code searches a minute.`,
      input: z.strictObject({
        query: query.describe(
          'Words and qualifiers (repo:, org:, path:, language:, filename:, extension: …).',
        ),
        sort: z.enum(['indexed']).optional().describe('Left out: best match.'),
        order,
        ...paging,
      }),
      output: searchPageShape(foundCodeShape),
      hints: reads,
      async run({ query: q, ...rest }, call) {
        const { data, link } = await host
          .during(call)
          .ask(
            'GET /search/code',
            { q, ...rest },
            readSearch(readFoundCode),
            'application/vnd.github.text-match+json',
          );
        return found(data, link, rest.page);
      },
    }),
    defineTool({
      name: 'search_issues',
      title: 'Search issues and pull requests',
      description: `Finds issues and pull requests, in all repositories or with "repo:OWNER/NAME" in one. Say "is:issue" or "is:pull-request" to get one kind. Gives the beginning of each text. ${LIMITS}`,
      input: z.strictObject({
        query: query.describe(
          'Words and qualifiers (repo:, is:, state:, author:, label:, created:>2025-01-01 …).',
        ),
        sort: z
          .enum([
            'comments',
            'reactions',
            'reactions-+1',
            'reactions--1',
            'reactions-smile',
            'reactions-thinking_face',
            'reactions-heart',
            'reactions-tada',
            'interactions',
            'created',
            'updated',
          ])
          .optional()
          .describe('Left out: best match.'),
        order,
        ...paging,
      }),
      output: searchPageShape(issueShape),
      hints: reads,
      async run({ query: q, ...rest }, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /search/issues', { q, ...rest }, readSearch(readListedIssue));
        return found(data, link, rest.page);
      },
    }),
    defineTool({
      name: 'search_users',
      title: 'Search users',
      description: `Finds accounts of users and organisations by name and qualifiers, such as "type:org" or "location:". ${LIMITS}`,
      input: z.strictObject({
        query: query.describe('Words and qualifiers (type:, location:, language:, repos:>10, followers: …).'),
        sort: z.enum(['followers', 'repositories', 'joined']).optional().describe('Left out: best match.'),
        order,
        ...paging,
      }),
      output: searchPageShape(userShape),
      hints: reads,
      async run({ query: q, ...rest }, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /search/users', { q, ...rest }, readSearch(readUser));
        return found(data, link, rest.page);
      },
    }),
  ];
}
