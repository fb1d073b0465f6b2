// Issues: listing, reading, creating, changing and commenting.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import {
  assignees,
  bodyText,
  issueNumber,
  labels,
  milestone,
  moment,
  paging,
  repository,
  title,
} from '../arguments.ts';
import type { Host } from '../host.ts';
import {
  commentShape,
  issueShape,
  MAX_LISTED_BODY_CHARS,
  readComment,
  readIssue,
  readListedIssue,
  readWrittenIssue,
} from '../shapes/issue.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import { readList } from '../shapes/reading.ts';
import { adds, answer, ensures, reads } from './answer.ts';

const MAX_LABELS_TEXT_CHARS = 2_000;

export function issueTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'list_issues',
      title: 'List issues',
      description: `Lists the issues of one repository, open ones unless told otherwise, the newest first. The host counts pull requests among them: those are marked is_pull_request. Texts are cut after ${MAX_LISTED_BODY_CHARS} characters; get_issue gives one whole. To find issues by their words use search_issues.`,
      input: z.strictObject({
        ...repository,
        state: z.enum(['open', 'closed', 'all']).optional().describe('Left out: open.'),
        labels: z
          .string()
          .max(MAX_LABELS_TEXT_CHARS)
          .optional()
          .describe('Labels an issue must all have, separated by commas.'),
        sort: z.enum(['created', 'updated', 'comments']).optional().describe('Left out: created.'),
        direction: z.enum(['asc', 'desc']).optional().describe('Left out: desc.'),
        since: moment.optional().describe('Only issues updated since then, such as 2025-01-31T00:00:00Z.'),
        ...paging,
      }),
      output: pageShape(issueShape),
      hints: reads,
      async run(input, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/issues', input, readList(readListedIssue));
        return answer({ items: data, ...positionOf(link, input.page) });
      },
    }),
    defineTool({
      name: 'get_issue',
      title: 'Read an issue',
      description:
        'Gives one issue with its whole text, labels, assignees and milestone, and how many comments it has; not the comments themselves.',
      input: z.strictObject({ ...repository, ...issueNumber }),
      output: issueShape,
      hints: reads,
      async run(input, call) {
        const { data } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/issues/{issue_number}', input, readIssue);
        return answer(data);
      },
    }),
    defineTool({
      name: 'create_issue',
      title: 'Create an issue',
      description:
        'Opens a new issue, visible to everybody who can see the repository; people may be notified. Labels that do not exist are created if the token may. Calling it twice opens two issues.',
      input: z.strictObject({
        ...repository,
        title: title.describe("The issue's title."),
        body: bodyText.optional().describe("The issue's text, as Markdown."),
        labels: labels.optional().describe('Names of labels.'),
        assignees: assignees.optional().describe('Logins of who is to work on it.'),
        milestone: milestone.optional(),
      }),
      output: issueShape,
      hints: adds,
      async run(input, call) {
        const { data } = await host
          .during(call)
          .ask('POST /repos/{owner}/{repo}/issues', input, readWrittenIssue);
        return answer(data);
      },
    }),
    defineTool({
      name: 'update_issue',
      title: 'Change an issue',
      description:
        'Changes title, text, state, labels, assignees or milestone of an issue or pull request. What is left out stays; labels and assignees that are given replace all that were there. Close an issue with state "closed".',
      input: z.strictObject({
        ...repository,
        ...issueNumber,
        title: title.optional().describe('The new title.'),
        body: bodyText.optional().describe('The new text; it replaces the old one.'),
        state: z.enum(['open', 'closed']).optional().describe('Opens it again, or closes it.'),
        labels: labels.optional().describe('All labels it is to have; an empty array takes all away.'),
        assignees: assignees.optional().describe('All who are to be assigned.'),
        milestone: milestone.optional(),
      }),
      output: issueShape,
      hints: { ...ensures, destructiveHint: true },
      async run(input, call) {
        const { owner, repo, issue_number, ...changes } = input;
        if (Object.keys(changes).length === 0)
          throw new ToolError(
            'Nothing was to be changed: give at least one of title, body, state, labels, assignees and milestone.',
          );
        const { data } = await host
          .during(call)
          .ask('PATCH /repos/{owner}/{repo}/issues/{issue_number}', input, readWrittenIssue);
        return answer(data);
      },
    }),
    defineTool({
      name: 'add_issue_comment',
      title: 'Comment on an issue',
      description:
        'Adds a comment to an issue or, by its number, to the conversation of a pull request; people may be notified. For comments on lines of code use create_pull_request_review. Calling it twice adds two.',
      input: z.strictObject({
        ...repository,
        ...issueNumber,
        body: bodyText.min(1).describe('The text, as Markdown.'),
      }),
      output: commentShape,
      hints: adds,
      async run(input, call) {
        const { data } = await host
          .during(call)
          .ask('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', input, readComment);
        return answer(data);
      },
    }),
  ];
}
