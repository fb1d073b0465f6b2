// Pull requests: listing, reading, creating, updating and merging.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { bodyText, branch, knownHead, paging, pullNumber, repository, title } from '../arguments.ts';
import type { Host } from '../host.ts';
import { HostRefusal } from '../host-fault.ts';
import { MAX_LISTED_BODY_CHARS } from '../shapes/issue.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import {
  pullRequestShape,
  readListedPullRequest,
  readPullRequest,
  readWrittenPullRequest,
} from '../shapes/pull-request.ts';
import { readList, readText } from '../shapes/reading.ts';
import { adds, answer, reads, replaces } from './answer.ts';

const MAX_HEAD_CHARS = 400;
const MAX_COMMIT_TITLE_CHARS = 1_024;

/** A branch, or with an account before it one of a fork. */
const head = z.string().min(1).max(MAX_HEAD_CHARS);

/** The published description leaves the message open, and the whole body may be missing. */
const readBranchUpdate = z.union([z.object({ message: readText }), z.literal('').transform(() => undefined)]);

export function pullRequestTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'list_pull_requests',
      title: 'List pull requests',
      description: `Lists the pull requests of one repository, open ones unless told otherwise, the newest first. Texts are cut after ${MAX_LISTED_BODY_CHARS} characters, and whether one can be merged is not told; get_pull_request gives one whole.`,
      input: z.strictObject({
        ...repository,
        state: z.enum(['open', 'closed', 'all']).optional().describe('Left out: open.'),
        head: head
          .optional()
          .describe('Only those from this branch: "branch", or "account:branch" of a fork.'),
        base: branch.optional().describe('Only those into this branch.'),
        sort: z
          .enum(['created', 'updated', 'popularity', 'long-running'])
          .optional()
          .describe('Left out: created.'),
        direction: z.enum(['asc', 'desc']).optional().describe('Left out: desc when sorted by created.'),
        ...paging,
      }),
      output: pageShape(pullRequestShape),
      hints: reads,
      async run(input, call) {
        // Without an account the host would not look at it at all.
        const from = input.head?.includes(':') === false ? `${input.owner}:${input.head}` : input.head;
        const { data, link } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/pulls', { ...input, head: from }, readList(readListedPullRequest));
        return answer({ items: data, ...positionOf(link, input.page) });
      },
    }),
    defineTool({
      name: 'get_pull_request',
      title: 'Read a pull request',
      description:
        'Gives one pull request with its whole text, its branches, whether it can be merged and how much it changes. What it changes: get_pull_request_files or get_pull_request_diff.',
      input: z.strictObject({ ...repository, ...pullNumber }),
      output: pullRequestShape,
      hints: reads,
      async run(input, call) {
        const { data } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/pulls/{pull_number}', input, readPullRequest);
        return answer(data);
      },
    }),
    defineTool({
      name: 'create_pull_request',
      title: 'Create a pull request',
      description:
        'Asks for one branch to be merged into another; people may be notified. The branches must exist and differ, and there may be no other open pull request between them.',
      input: z.strictObject({
        ...repository,
        title: title.describe("The pull request's title."),
        head: head.describe('The branch with the changes; "account:branch" when it is in a fork.'),
        base: branch.describe('The branch they are to go into.'),
        body: bodyText.optional().describe('The text, as Markdown.'),
        draft: z.boolean().optional().describe('Whether it is not yet ready for review.'),
        maintainer_can_modify: z
          .boolean()
          .optional()
          .describe('Whether those who maintain the repository may add to the branch.'),
      }),
      output: pullRequestShape,
      hints: adds,
      async run(input, call) {
        const { data } = await host
          .during(call)
          .ask('POST /repos/{owner}/{repo}/pulls', input, readWrittenPullRequest);
        return answer(data);
      },
    }),
    defineTool({
      name: 'merge_pull_request',
      title: 'Merge a pull request',
      description:
        'Merges a pull request into its base branch. This cannot be undone here. Look at get_pull_request and get_pull_request_status first.',
      input: z.strictObject({
        ...repository,
        ...pullNumber,
        commit_title: z
          .string()
          .max(MAX_COMMIT_TITLE_CHARS)
          .optional()
          .describe("The merge commit's first line."),
        commit_message: bodyText.optional().describe("The rest of the merge commit's message."),
        merge_method: z
          .enum(['merge', 'squash', 'rebase'])
          .optional()
          .describe('How; the repository may allow some only. Left out: merge.'),
        sha: knownHead
          .optional()
          .describe("The branch's newest commit as you know it; nothing is merged if it is another one."),
      }),
      output: z.object({ merged: z.boolean(), sha: z.string(), message: z.string() }),
      hints: replaces,
      async run(input, call) {
        try {
          const { data } = await host
            .during(call)
            .ask(
              'PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge',
              input,
              z.object({ merged: z.boolean(), sha: z.string(), message: z.string() }),
            );
          return answer(data);
        } catch (error) {
          throw mergeRefusal(error, input.pull_number);
        }
      },
    }),
    defineTool({
      name: 'update_pull_request_branch',
      title: 'Update the branch of a pull request',
      description:
        "Merges the newest commits of the base branch into the pull request's branch. The host does it in the background.",
      input: z.strictObject({
        ...repository,
        ...pullNumber,
        expected_head_sha: knownHead
          .optional()
          .describe("The branch's newest commit as you know it; nothing is done if it is another one."),
      }),
      output: z.object({ message: z.string() }),
      hints: adds,
      async run(input, call) {
        const { data } = await host
          .during(call)
          .ask('PUT /repos/{owner}/{repo}/pulls/{pull_number}/update-branch', input, readBranchUpdate);
        return answer({ message: data?.message ?? 'The host is updating the branch in the background.' });
      },
    }),
  ];
}

function mergeRefusal(error: unknown, number: number): unknown {
  if (!(error instanceof HostRefusal)) return error;
  if (error.status === 405)
    return new ToolError(
      `Pull request ${number} cannot be merged as it stands (${error.reason}). get_pull_request and get_pull_request_status tell what is missing: conflicts, reviews, checks, a draft, or the method is not allowed.`,
    );
  if (error.status === 409)
    return new ToolError(
      `Pull request ${number} was not merged: its branch was changed at the same time, or does not fit the base (${error.reason}). Look at what is new, then call again.`,
    );
  return error;
}
