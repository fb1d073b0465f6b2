// Other spellings of arguments that servers of this kind accept, changed into the published ones before anybody checks them.
// Pure. Where both spellings are given, nothing is changed, and the schema refuses the unknown one.

import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

const EVERYWHERE: Readonly<Record<string, string>> = {
  perPage: 'per_page',
  pullNumber: 'pull_number',
  issueNumber: 'issue_number',
};

const BY_TOOL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  search_repositories: { q: 'query' },
  search_code: { q: 'query' },
  search_issues: { q: 'query' },
  search_users: { q: 'query' },
  create_repository: { autoInit: 'auto_init' },
  get_file_contents: { ref: 'branch' },
  update_pull_request_branch: { expectedHeadSha: 'expected_head_sha' },
};

/** Parameters that hold a number; a model may well send its digits as text. */
const NUMBERS = ['issue_number', 'pull_number', 'milestone', 'page', 'per_page', 'offset'];

/** Whether a tool that takes labels takes them as an array or as one text with commas. */
const LABELS: Readonly<Record<string, 'array' | 'text'>> = {
  create_issue: 'array',
  update_issue: 'array',
  list_issues: 'text',
};

/** `message`, with the arguments of a tool call under their published names and in their published form. */
export function withPublishedArguments(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const { name: tool, arguments: given } = message.params ?? {};
  if (typeof tool !== 'string' || typeof given !== 'object' || given === null || Array.isArray(given))
    return message;
  return { ...message, params: { ...message.params, arguments: published(tool, given) } };
}

function published(tool: string, given: object): Record<string, unknown> {
  const own = Object.hasOwn(BY_TOOL, tool) ? BY_TOOL[tool] : undefined;
  const names = { ...EVERYWHERE, ...own };
  const entries = Object.entries(given).map(([name, value]): [string, unknown] => {
    const to = Object.hasOwn(names, name) ? names[name] : undefined;
    const publishedName = to === undefined || Object.hasOwn(given, to) ? name : to;
    return [publishedName, inForm(tool, publishedName, value)];
  });
  // `fromEntries` defines members, so that one named `__proto__` stays an unknown argument.
  return Object.fromEntries(entries);
}

function inForm(tool: string, name: string, value: unknown): unknown {
  if (NUMBERS.includes(name) && typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  if (name !== 'labels') return value;
  const form = Object.hasOwn(LABELS, tool) ? LABELS[tool] : undefined;
  if (form === 'array' && typeof value === 'string') {
    const labels = value
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== '');
    // No labels in a text are a mistake, an empty array takes them all away: the schema has to refuse it.
    return labels.length === 0 ? value : labels;
  }
  if (form === 'text' && Array.isArray(value) && value.every((label) => typeof label === 'string'))
    return value.join(',');
  return value;
}
