// Converts argument names of similar servers (aliases) to the published names, before validation. If a call
// has both names, neither changes, and the schema rejects the alias.

import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

const COMMON_ALIASES: Readonly<Record<string, string>> = {
  perPage: 'per_page',
  pullNumber: 'pull_number',
  issueNumber: 'issue_number',
};

const TOOL_ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  search_repositories: { q: 'query' },
  search_code: { q: 'query' },
  search_issues: { q: 'query' },
  search_users: { q: 'query' },
  create_repository: { autoInit: 'auto_init' },
  get_file_contents: { ref: 'branch' },
  update_pull_request_branch: { expectedHeadSha: 'expected_head_sha' },
};

/** Numeric parameters; models may send digits as text. */
const NUMBERS = ['issue_number', 'pull_number', 'milestone', 'page', 'per_page', 'offset'];

/** Format of `labels` per tool: an array, or a comma-separated text. */
const LABEL_FORMATS: Readonly<Record<string, 'array' | 'text'>> = {
  create_issue: 'array',
  update_issue: 'array',
  list_issues: 'text',
};

/** Converts the arguments of tool calls to the published names and formats. Other messages stay unchanged. */
export function normalizeArguments(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const { name: tool, arguments: input } = message.params ?? {};
  if (typeof tool !== 'string' || typeof input !== 'object' || input === null || Array.isArray(input))
    return message;
  return { ...message, params: { ...message.params, arguments: normalize(tool, input) } };
}

function normalize(tool: string, input: object): Record<string, unknown> {
  const toolAliases = Object.hasOwn(TOOL_ALIASES, tool) ? TOOL_ALIASES[tool] : undefined;
  const names = { ...COMMON_ALIASES, ...toolAliases };
  const entries = Object.entries(input).map(([name, value]): [string, unknown] => {
    const alias = Object.hasOwn(names, name) ? names[name] : undefined;
    const publishedName = alias === undefined || Object.hasOwn(input, alias) ? name : alias;
    return [publishedName, convertValue(tool, publishedName, value)];
  });
  // `fromEntries` defines own members, so `__proto__` stays an unknown argument.
  return Object.fromEntries(entries);
}

function convertValue(tool: string, name: string, value: unknown): unknown {
  if (NUMBERS.includes(name) && typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  if (name !== 'labels') return value;
  const format = Object.hasOwn(LABEL_FORMATS, tool) ? LABEL_FORMATS[tool] : undefined;
  if (format === 'array' && typeof value === 'string') {
    const labels = value
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== '');
    // An empty array removes all labels, but an empty text is a mistake; the schema rejects it.
    return labels.length === 0 ? value : labels;
  }
  if (format === 'text' && Array.isArray(value) && value.every((label) => typeof label === 'string'))
    return value.join(',');
  return value;
}
