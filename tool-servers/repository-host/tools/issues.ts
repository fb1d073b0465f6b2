// Tools for issues: list, read, create, update and comment.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import {
  assignees,
  bodyText,
  issueNumber,
  labels,
  milestone,
  paging,
  repository,
  timestamp,
  title,
} from '../arguments.ts';
import type { Host } from '../host.ts';
import { listOf } from '../shapes/fields.ts';
import {
  commentResponse,
  commentShape,
  issueResponse,
  issueShape,
  listedIssueResponse,
  MAX_LISTED_BODY_CHARS,
  writtenIssueResponse,
} from '../shapes/issue.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import { addHints, ensureHints, jsonOutput, readHints } from './result.ts';

const MAX_LABELS_TEXT_CHARS = 2_000;

export function issueTools(host: Host): ServerTool[] {
  return [
    listIssuesTool(host),
    getIssueTool(host),
    createIssueTool(host),
    updateIssueTool(host),
    addIssueCommentTool(host),
  ];
}

function listIssuesTool(host: Host): ServerTool {
  return defineTool({
    name: 'list_issues',
    title: 'List issues',
    description: `Lists issues of one repository, by default open ones, newest first. The host includes pull requests, marked is_pull_request. Texts are truncated at ${MAX_LISTED_BODY_CHARS} characters; use get_issue for the complete text. To search by words use search_issues.`,
    input: z.strictObject({
      ...repository,
      state: z.enum(['open', 'closed', 'all']).optional().describe('Default: open.'),
      labels: z
        .string()
        .max(MAX_LABELS_TEXT_CHARS)
        .optional()
        .describe('Required labels, separated by commas.'),
      sort: z.enum(['created', 'updated', 'comments']).optional().describe('Default: created.'),
      direction: z.enum(['asc', 'desc']).optional().describe('Default: desc.'),
      since: timestamp
        .optional()
        .describe('Only issues updated since this time, for example 2025-01-31T00:00:00Z.'),
      ...paging,
    }),
    output: pageShape(issueShape),
    hints: readHints,
    async run(input, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request('GET /repos/{owner}/{repo}/issues', input, listOf(listedIssueResponse));
      return jsonOutput({ items: data, ...positionOf(link, input.page) });
    },
  });
}

function getIssueTool(host: Host): ServerTool {
  return defineTool({
    name: 'get_issue',
    title: 'Read an issue',
    description:
      'Reads one issue with its complete text, labels, assignees, milestone and number of comments, without the comments.',
    input: z.strictObject({ ...repository, ...issueNumber }),
    output: issueShape,
    hints: readHints,
    async run(input, call) {
      const { data } = await host
        .requestsFor(call)
        .request('GET /repos/{owner}/{repo}/issues/{issue_number}', input, issueResponse);
      return jsonOutput(data);
    },
  });
}

function createIssueTool(host: Host): ServerTool {
  return defineTool({
    name: 'create_issue',
    title: 'Create an issue',
    description:
      'Creates an issue, visible to everyone with access to the repository; people may be notified. Unknown labels are created if the token permits it. Each call creates a new issue.',
    input: z.strictObject({
      ...repository,
      title: title.describe('Title.'),
      body: bodyText.optional().describe('Text, as Markdown.'),
      labels: labels.optional().describe('Label names.'),
      assignees: assignees.optional().describe('Logins of the assignees.'),
      milestone: milestone.optional(),
    }),
    output: issueShape,
    hints: addHints,
    async run(input, call) {
      const { data } = await host
        .requestsFor(call)
        .request('POST /repos/{owner}/{repo}/issues', input, writtenIssueResponse);
      return jsonOutput(data);
    },
  });
}

function updateIssueTool(host: Host): ServerTool {
  return defineTool({
    name: 'update_issue',
    title: 'Change an issue',
    description:
      'Changes title, text, state, labels, assignees or milestone of an issue or pull request. Omitted fields are unchanged; labels and assignees replace all existing ones. Close an issue with state "closed".',
    input: z.strictObject({
      ...repository,
      ...issueNumber,
      title: title.optional().describe('New title.'),
      body: bodyText.optional().describe('New text; replaces the old one.'),
      state: z.enum(['open', 'closed']).optional().describe('Reopens or closes the issue.'),
      labels: labels.optional().describe('All labels; an empty array removes all.'),
      assignees: assignees.optional().describe('Logins of all assignees.'),
      milestone: milestone.optional(),
    }),
    output: issueShape,
    hints: { ...ensureHints, destructiveHint: true },
    async run(input, call) {
      const { owner, repo, issue_number, ...changes } = input;
      if (Object.keys(changes).length === 0)
        throw new ToolError(
          'No changes: pass at least one of title, body, state, labels, assignees and milestone.',
        );
      const { data } = await host
        .requestsFor(call)
        .request('PATCH /repos/{owner}/{repo}/issues/{issue_number}', input, writtenIssueResponse);
      return jsonOutput(data);
    },
  });
}

function addIssueCommentTool(host: Host): ServerTool {
  return defineTool({
    name: 'add_issue_comment',
    title: 'Comment on an issue',
    description:
      'Adds a comment to an issue, or to the conversation of a pull request by its number; people may be notified. For comments on lines of code use create_pull_request_review. Each call adds a new comment.',
    input: z.strictObject({
      ...repository,
      ...issueNumber,
      body: bodyText.min(1).describe('Text, as Markdown.'),
    }),
    output: commentShape,
    hints: addHints,
    async run(input, call) {
      const { data } = await host
        .requestsFor(call)
        .request('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', input, commentResponse);
      return jsonOutput(data);
    },
  });
}
