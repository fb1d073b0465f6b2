// What is said about a pull request: reviews, comments on its lines, and what the checks say.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { bodyText, filePath, number, paging, pathAt, pullNumber, repository } from '../arguments.ts';
import type { Host } from '../host.ts';
import { pullRequestStatus, statusShape } from '../pull-request-status.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import { readList } from '../shapes/reading.ts';
import { readReview, readReviewComment, reviewCommentShape, reviewShape } from '../shapes/review.ts';
import { adds, answer, reads } from './answer.ts';

const MAX_COMMENTS = 100;

const lineComment = z.strictObject({
  path: filePath.describe('The file, as the diff names it.'),
  body: bodyText.min(1).describe('The text, as Markdown.'),
  line: number.optional().describe('The line it stands at, in the file; the last one of several lines.'),
  side: z.enum(['LEFT', 'RIGHT']).optional().describe('LEFT for a removed line. Left out: RIGHT.'),
  start_line: number.optional().describe('The first of several lines.'),
  start_side: z.enum(['LEFT', 'RIGHT']).optional().describe('The side of the first line.'),
  position: number
    .optional()
    .describe('Instead of line: which line of the file\'s diff, from 1 below its first "@@".'),
});

type LineComment = z.output<typeof lineComment>;

export function reviewTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'create_pull_request_review',
      title: 'Review a pull request',
      description:
        'Approves a pull request, asks for changes, or comments, together with comments on its lines; people are notified. REQUEST_CHANGES needs a body, COMMENT a body or comments. The host does not let anybody approve their own pull request. Lines must be part of the diff.',
      input: z.strictObject({
        ...repository,
        ...pullNumber,
        event: z.enum(['APPROVE', 'REQUEST_CHANGES', 'COMMENT']).describe('What the review says.'),
        body: bodyText.optional().describe('The text of the review, as Markdown.'),
        comments: z
          .array(lineComment)
          .max(MAX_COMMENTS)
          .optional()
          .describe('Comments on lines of the diff.'),
        commit_id: z
          .string()
          .regex(/^[0-9a-fA-F]{7,64}$/, 'is not the SHA of a commit')
          .optional()
          .describe('The commit that was looked at. Left out: the newest.'),
      }),
      output: reviewShape,
      hints: adds,
      async run(input, call) {
        const comments = input.comments?.map((comment, index) => checked(comment, index));
        const isBare = (input.body ?? '').trim() === '';
        if (isBare && input.event === 'REQUEST_CHANGES')
          throw new ToolError('REQUEST_CHANGES needs a body that says what has to change. Nothing was sent.');
        if (isBare && input.event === 'COMMENT' && (comments ?? []).length === 0)
          throw new ToolError('COMMENT needs a body, or comments on lines. Nothing was sent.');
        const { data } = await host
          .during(call)
          .ask(
            'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
            { ...input, comments: comments as never },
            readReview,
          );
        return answer({ ...data, body: undefined });
      },
    }),
    defineTool({
      name: 'get_pull_request_reviews',
      title: 'List the reviews of a pull request',
      description:
        'Lists the reviews of a pull request, the oldest first: who, what they said (APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING) and their text. The comments on lines: get_pull_request_comments.',
      input: z.strictObject({ ...repository, ...pullNumber, ...paging }),
      output: pageShape(reviewShape),
      hints: reads,
      async run(input, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', input, readList(readReview));
        return answer({ items: data, ...positionOf(link, input.page) });
      },
    }),
    defineTool({
      name: 'get_pull_request_comments',
      title: 'List the line comments of a pull request',
      description:
        'Lists the comments on lines of a pull request, the oldest first, each with its file, line and the end of the change it stands at. Not the conversation below it.',
      input: z.strictObject({ ...repository, ...pullNumber, ...paging }),
      output: pageShape(reviewCommentShape),
      hints: reads,
      async run(input, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/pulls/{pull_number}/comments', input, readList(readReviewComment));
        return answer({ items: data, ...positionOf(link, input.page) });
      },
    }),
    defineTool({
      name: 'get_pull_request_status',
      title: 'Read the checks of a pull request',
      description:
        'Gives what statuses and check runs say about the newest commit of a pull request, all together and one by one.',
      input: z.strictObject({ ...repository, ...pullNumber }),
      output: statusShape,
      hints: reads,
      async run(input, call) {
        return answer(await pullRequestStatus(host.during(call), input));
      },
    }),
  ];
}

/** What the host would refuse with a message nobody understands. */
function checked(comment: LineComment, index: number): LineComment {
  const { path, line, position, start_line } = comment;
  const which = `Comment ${index + 1} (${path})`;
  if ((line === undefined) === (position === undefined))
    throw new ToolError(`${which} needs either line or position. Nothing was sent.`);
  if (start_line !== undefined && (line === undefined || start_line > line))
    throw new ToolError(
      `${which} has a start_line, so it needs a line that is not before it. Nothing was sent.`,
    );
  return { ...comment, path: pathAt(path) };
}
