// Search tools. The host counts searches separately and returns the first 1,000 results.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { paging, query } from '../arguments.ts';
import type { Host } from '../host.ts';
import { issueShape, listedIssueResponse } from '../shapes/issue.ts';
import { MAX_SEARCH_RESULTS, positionOf, searchPageShape, searchResponseOf } from '../shapes/page.ts';
import { repositoryResponse, repositoryShape } from '../shapes/repository.ts';
import { codeMatchResponse, codeMatchShape, userResponse, userShape } from '../shapes/search-results.ts';
import { jsonOutput, readHints } from './result.ts';

const LIMITS = `Only the first ${MAX_SEARCH_RESULTS} results are available. Searches are limited per minute; this tool waits for a slot.`;

const order = z.enum(['asc', 'desc']).optional().describe('Order for sort. Default: desc.');

/** Converts a search response to tool output, including the page position. */
function searchOutput<Item>(
  data: { total_count: number; incomplete_results?: boolean | null | undefined; items: Item[] },
  link: string | undefined,
  page: number,
) {
  return jsonOutput({
    total_count: data.total_count,
    is_incomplete: data.incomplete_results || undefined,
    items: data.items,
    ...positionOf(link, page),
  });
}

export function searchTools(host: Host): ServerTool[] {
  return [searchRepositoriesTool(host), searchCodeTool(host), searchIssuesTool(host), searchUsersTool(host)];
}

function searchRepositoriesTool(host: Host): ServerTool {
  return defineTool({
    name: 'search_repositories',
    title: 'Search repositories',
    description: `Finds repositories by words and qualifiers, such as "language:go stars:>100" or "org:NAME". Returns summaries. ${LIMITS}`,
    input: z.strictObject({
      query: query.describe('Words and qualifiers (user:, org:, language:, topic:, stars:, in:name …).'),
      sort: z
        .enum(['stars', 'forks', 'help-wanted-issues', 'updated'])
        .optional()
        .describe('Default: best match.'),
      order,
      ...paging,
    }),
    output: searchPageShape(repositoryShape),
    hints: readHints,
    async run({ query: q, ...rest }, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request('GET /search/repositories', { q, ...rest }, searchResponseOf(repositoryResponse));
      return searchOutput(data, link, rest.page);
    },
  });
}

function searchCodeTool(host: Host): ServerTool {
  return defineTool({
    name: 'search_code',
    title: 'Search code',
    description: `Finds files by content, on default branches only. Narrow the search with "repo:OWNER/NAME", "org:NAME", "path:" or "language:". Returns the path and matching parts of each file; read files with get_file_contents. Requires a token. ${LIMITS} The host allows 10 code searches a minute.`,
    input: z.strictObject({
      query: query.describe('Words and qualifiers (repo:, org:, path:, language:, filename:, extension: …).'),
      sort: z.enum(['indexed']).optional().describe('Default: best match.'),
      order,
      ...paging,
    }),
    output: searchPageShape(codeMatchShape),
    hints: readHints,
    async run({ query: q, ...rest }, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request(
          'GET /search/code',
          { q, ...rest },
          searchResponseOf(codeMatchResponse),
          'application/vnd.github.text-match+json',
        );
      return searchOutput(data, link, rest.page);
    },
  });
}

function searchIssuesTool(host: Host): ServerTool {
  return defineTool({
    name: 'search_issues',
    title: 'Search issues and pull requests',
    description: `Finds issues and pull requests in all repositories, or in one with "repo:OWNER/NAME". Use "is:issue" or "is:pull-request" for one kind. Returns the start of each text. ${LIMITS}`,
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
        .describe('Default: best match.'),
      order,
      ...paging,
    }),
    output: searchPageShape(issueShape),
    hints: readHints,
    async run({ query: q, ...rest }, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request('GET /search/issues', { q, ...rest }, searchResponseOf(listedIssueResponse));
      return searchOutput(data, link, rest.page);
    },
  });
}

function searchUsersTool(host: Host): ServerTool {
  return defineTool({
    name: 'search_users',
    title: 'Search users',
    description: `Finds users and organisations by name and qualifiers, such as "type:org" or "location:". ${LIMITS}`,
    input: z.strictObject({
      query: query.describe('Words and qualifiers (type:, location:, language:, repos:>10, followers: …).'),
      sort: z.enum(['followers', 'repositories', 'joined']).optional().describe('Default: best match.'),
      order,
      ...paging,
    }),
    output: searchPageShape(userShape),
    hints: readHints,
    async run({ query: q, ...rest }, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request('GET /search/users', { q, ...rest }, searchResponseOf(userResponse));
      return searchOutput(data, link, rest.page);
    },
  });
}
