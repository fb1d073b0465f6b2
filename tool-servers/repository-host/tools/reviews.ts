// Tools for pull request reviews, line comments and checks.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { bodyText, filePath, number, paging, pullNumber, repository, trimSlashes } from '../arguments.ts';
import type { Host } from '../host.ts';
import { readPullRequestStatus, statusShape } from '../pull-request-status.ts';
import { listOf } from '../shapes/fields.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import { reviewCommentResponse, reviewCommentShape, reviewResponse, reviewShape } from '../shapes/review.ts';
import { addHints, jsonOutput, readHints } from './result.ts';

const MAX_COMMENTS = 100;

const lineComment = z.strictObject({
  path: filePath.describe('File path as in the diff.'),
  body: bodyText.min(1).describe('Text, as Markdown.'),
  line: number.optional().describe('Line in the file; the last line of a range.'),
  side: z.enum(['LEFT', 'RIGHT']).optional().describe('LEFT for a removed line. Default: RIGHT.'),
  start_line: number.optional().describe('First line of a range.'),
  start_side: z.enum(['LEFT', 'RIGHT']).optional().describe('Side of the first line.'),
  position: number
    .optional()
    .describe('Instead of line: position in the diff of the file, from 1 below its first "@@".'),
});

type LineComment = z.output<typeof lineComment>;

export function reviewTools(host: Host): ServerTool[] {
  return [
    createPullRequestReviewTool(host),
    getPullRequestReviewsTool(host),
    getPullRequestCommentsTool(host),
    getPullRequestStatusTool(host),
  ];
}

function createPullRequestReviewTool(host: Host): ServerTool {
  return defineTool({
    name: 'create_pull_request_review',
    title: 'Review a pull request',
    description:
      'Approves a pull request, requests changes, or comments, optionally with comments on lines; people are notified. REQUEST_CHANGES requires a body, COMMENT a body or comments. Authors cannot approve their own pull request. Lines must be part of the diff.',
    input: z.strictObject({
      ...repository,
      ...pullNumber,
      event: z.enum(['APPROVE', 'REQUEST_CHANGES', 'COMMENT']).describe('Kind of review.'),
      body: bodyText.optional().describe('Text of the review, as Markdown.'),
      comments: z.array(lineComment).max(MAX_COMMENTS).optional().describe('Comments on lines of the diff.'),
      commit_id: z
        .string()
        .regex(/^[0-9a-fA-F]{7,64}$/, 'is not the SHA of a commit')
        .optional()
        .describe('Reviewed commit. Default: the newest.'),
    }),
    output: reviewShape,
    hints: addHints,
    async run(input, call) {
      const comments = input.comments?.map((comment, index) => checkComment(comment, index));
      const hasNoBody = (input.body ?? '').trim() === '';
      if (hasNoBody && input.event === 'REQUEST_CHANGES')
        throw new ToolError('REQUEST_CHANGES requires a body with the requested changes. Nothing was sent.');
      if (hasNoBody && input.event === 'COMMENT' && (comments ?? []).length === 0)
        throw new ToolError('COMMENT requires a body, or comments on lines. Nothing was sent.');
      const { data } = await host
        .requestsFor(call)
        .request(
          'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
          { ...input, comments: comments as never },
          reviewResponse,
        );
      return jsonOutput({ ...data, body: undefined });
    },
  });
}

function getPullRequestReviewsTool(host: Host): ServerTool {
  return defineTool({
    name: 'get_pull_request_reviews',
    title: 'List the reviews of a pull request',
    description:
      'Lists the reviews of a pull request, oldest first, with author, state (APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING) and text. For comments on lines use get_pull_request_comments.',
    input: z.strictObject({ ...repository, ...pullNumber, ...paging }),
    output: pageShape(reviewShape),
    hints: readHints,
    async run(input, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', input, listOf(reviewResponse));
      return jsonOutput({ items: data, ...positionOf(link, input.page) });
    },
  });
}

function getPullRequestCommentsTool(host: Host): ServerTool {
  return defineTool({
    name: 'get_pull_request_comments',
    title: 'List the line comments of a pull request',
    description:
      'Lists the line comments of a pull request, oldest first, with file, line and the end of the diff hunk. The conversation is not included.',
    input: z.strictObject({ ...repository, ...pullNumber, ...paging }),
    output: pageShape(reviewCommentShape),
    hints: readHints,
    async run(input, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request(
          'GET /repos/{owner}/{repo}/pulls/{pull_number}/comments',
          input,
          listOf(reviewCommentResponse),
        );
      return jsonOutput({ items: data, ...positionOf(link, input.page) });
    },
  });
}

function getPullRequestStatusTool(host: Host): ServerTool {
  return defineTool({
    name: 'get_pull_request_status',
    title: 'Read the checks of a pull request',
    description:
      'Reads the commit statuses and check runs of the newest commit of a pull request, combined and individually.',
    input: z.strictObject({ ...repository, ...pullNumber }),
    output: statusShape,
    hints: readHints,
    async run(input, call) {
      return jsonOutput(await readPullRequestStatus(host.requestsFor(call), input));
    },
  });
}

/** Validates a comment here, because the host's error message would be unclear. */
function checkComment(comment: LineComment, index: number): LineComment {
  const { path, line, position, start_line } = comment;
  const which = `Comment ${index + 1} (${path})`;
  if ((line === undefined) === (position === undefined))
    throw new ToolError(`${which} requires either line or position. Nothing was sent.`);
  if (start_line !== undefined && (line === undefined || start_line > line))
    throw new ToolError(
      `${which} has a start_line, so line is required and must not precede it. Nothing was sent.`,
    );
  return { ...comment, path: trimSlashes(path) };
}
