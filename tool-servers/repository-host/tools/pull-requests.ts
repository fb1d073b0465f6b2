// Tools for pull requests: list, read, create, update and merge.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { bodyText, branch, expectedHead, paging, pullNumber, repository, title } from '../arguments.ts';
import type { Host } from '../host.ts';
import { HostRefusal } from '../host-error.ts';
import { listOf, optionalText } from '../shapes/fields.ts';
import { MAX_LISTED_BODY_CHARS } from '../shapes/issue.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import {
  listedPullRequestResponse,
  pullRequestResponse,
  pullRequestShape,
  writtenPullRequestResponse,
} from '../shapes/pull-request.ts';
import { addHints, jsonOutput, readHints, replaceHints } from './result.ts';

const MAX_HEAD_CHARS = 400;
const MAX_COMMIT_TITLE_CHARS = 1_024;

/** Branch, or `account:branch` for a fork. */
const head = z.string().min(1).max(MAX_HEAD_CHARS);

/** The message is optional in the published API description, and the body may be empty. */
const branchUpdateResponse = z.union([
  z.object({ message: optionalText }),
  z.literal('').transform(() => undefined),
]);

export function pullRequestTools(host: Host): ServerTool[] {
  return [
    listPullRequestsTool(host),
    getPullRequestTool(host),
    createPullRequestTool(host),
    mergePullRequestTool(host),
    updatePullRequestBranchTool(host),
  ];
}

function listPullRequestsTool(host: Host): ServerTool {
  return defineTool({
    name: 'list_pull_requests',
    title: 'List pull requests',
    description: `Lists pull requests of one repository, by default open ones, newest first. Texts are truncated at ${MAX_LISTED_BODY_CHARS} characters, and mergeability is not included; use get_pull_request for complete data.`,
    input: z.strictObject({
      ...repository,
      state: z.enum(['open', 'closed', 'all']).optional().describe('Default: open.'),
      head: head.optional().describe('Only from this branch: "branch", or "account:branch" of a fork.'),
      base: branch.optional().describe('Only into this branch.'),
      sort: z
        .enum(['created', 'updated', 'popularity', 'long-running'])
        .optional()
        .describe('Default: created.'),
      direction: z.enum(['asc', 'desc']).optional().describe('Default: desc if sorted by created.'),
      ...paging,
    }),
    output: pageShape(pullRequestShape),
    hints: readHints,
    async run(input, call) {
      // The host ignores branch names that lack the account.
      const from = input.head?.includes(':') === false ? `${input.owner}:${input.head}` : input.head;
      const { data, link } = await host
        .requestsFor(call)
        .request(
          'GET /repos/{owner}/{repo}/pulls',
          { ...input, head: from },
          listOf(listedPullRequestResponse),
        );
      return jsonOutput({ items: data, ...positionOf(link, input.page) });
    },
  });
}

function getPullRequestTool(host: Host): ServerTool {
  return defineTool({
    name: 'get_pull_request',
    title: 'Read a pull request',
    description:
      'Reads one pull request with its complete text, branches, mergeability and size of the changes. For the changes use get_pull_request_files or get_pull_request_diff.',
    input: z.strictObject({ ...repository, ...pullNumber }),
    output: pullRequestShape,
    hints: readHints,
    async run(input, call) {
      const { data } = await host
        .requestsFor(call)
        .request('GET /repos/{owner}/{repo}/pulls/{pull_number}', input, pullRequestResponse);
      return jsonOutput(data);
    },
  });
}

function createPullRequestTool(host: Host): ServerTool {
  return defineTool({
    name: 'create_pull_request',
    title: 'Create a pull request',
    description:
      'Opens a pull request to merge one branch into another; people may be notified. The branches must exist and differ, without another open pull request between them.',
    input: z.strictObject({
      ...repository,
      title: title.describe('Title.'),
      head: head.describe('Branch with the changes; "account:branch" of a fork.'),
      base: branch.describe('Target branch.'),
      body: bodyText.optional().describe('Text, as Markdown.'),
      draft: z.boolean().optional().describe('True for a draft, which is not ready for review.'),
      maintainer_can_modify: z
        .boolean()
        .optional()
        .describe('True if maintainers of the repository may push to the branch.'),
    }),
    output: pullRequestShape,
    hints: addHints,
    async run(input, call) {
      const { data } = await host
        .requestsFor(call)
        .request('POST /repos/{owner}/{repo}/pulls', input, writtenPullRequestResponse);
      return jsonOutput(data);
    },
  });
}

function mergePullRequestTool(host: Host): ServerTool {
  return defineTool({
    name: 'merge_pull_request',
    title: 'Merge a pull request',
    description:
      'Merges a pull request into its base branch. These tools cannot undo a merge. Check get_pull_request and get_pull_request_status first.',
    input: z.strictObject({
      ...repository,
      ...pullNumber,
      commit_title: z
        .string()
        .max(MAX_COMMIT_TITLE_CHARS)
        .optional()
        .describe('First line of the merge commit message.'),
      commit_message: bodyText.optional().describe('Rest of the merge commit message.'),
      merge_method: z
        .enum(['merge', 'squash', 'rebase'])
        .optional()
        .describe('Merge method; the repository may restrict it. Default: merge.'),
      sha: expectedHead
        .optional()
        .describe('Expected newest commit of the branch; if it differs, nothing is merged.'),
    }),
    output: z.object({ merged: z.boolean(), sha: z.string(), message: z.string() }),
    hints: replaceHints,
    async run(input, call) {
      try {
        const { data } = await host
          .requestsFor(call)
          .request(
            'PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge',
            input,
            z.object({ merged: z.boolean(), sha: z.string(), message: z.string() }),
          );
        return jsonOutput(data);
      } catch (error) {
        throw toMergeError(error, input.pull_number);
      }
    },
  });
}

function updatePullRequestBranchTool(host: Host): ServerTool {
  return defineTool({
    name: 'update_pull_request_branch',
    title: 'Update the branch of a pull request',
    description:
      'Merges the newest commits of the base branch into the branch of the pull request. The host does this in the background.',
    input: z.strictObject({
      ...repository,
      ...pullNumber,
      expected_head_sha: expectedHead
        .optional()
        .describe('Expected newest commit of the branch; if it differs, nothing is done.'),
    }),
    output: z.object({ message: z.string() }),
    hints: addHints,
    async run(input, call) {
      const { data } = await host
        .requestsFor(call)
        .request('PUT /repos/{owner}/{repo}/pulls/{pull_number}/update-branch', input, branchUpdateResponse);
      return jsonOutput({ message: data?.message ?? 'The host is updating the branch in the background.' });
    },
  });
}

function toMergeError(error: unknown, number: number): unknown {
  if (!(error instanceof HostRefusal)) return error;
  if (error.status === 405)
    return new ToolError(
      `Pull request ${number} cannot be merged (${error.reason}). Check get_pull_request and get_pull_request_status. Possible causes: conflicts, missing reviews, failed checks, a draft, or a disallowed merge method.`,
    );
  if (error.status === 409)
    return new ToolError(
      `Pull request ${number} was not merged: its branch was changed concurrently, or it conflicts with the base (${error.reason}). Check the new changes, then retry.`,
    );
  return error;
}
