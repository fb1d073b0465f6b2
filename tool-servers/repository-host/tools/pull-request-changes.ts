// Tools for pull request changes: changed files, and the diff.

import { z } from 'zod';
import { defineTool, type ServerTool, type ServerToolCall } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { offset, paging, pullNumber, repository } from '../arguments.ts';
import type { Host } from '../host.ts';
import { HostRefusal } from '../host-error.ts';
import { listOf } from '../shapes/fields.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import {
  changedFileResponse,
  changedFileShape,
  MAX_PATCH_CHARS,
  withShortPatches,
} from '../shapes/pull-request.ts';
import { MAX_TEXT_CHARS, textPage } from '../text-page.ts';
import { jsonOutput, readHints } from './result.ts';

export function pullRequestChangeTools(host: Host): ServerTool[] {
  return [
    defineTool({
      name: 'get_pull_request_files',
      title: 'List the files of a pull request',
      description: `Lists the changed files of a pull request, with line counts and patches. Patches are truncated at ${MAX_PATCH_CHARS.toLocaleString('en')} characters per file; get_pull_request_diff returns everything. The host lists up to 3,000 files.`,
      input: z.strictObject({ ...repository, ...pullNumber, ...paging }),
      output: pageShape(changedFileShape),
      hints: readHints,
      async run(input, call) {
        const { data, link } = await host
          .requestsFor(call)
          .request('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', input, listOf(changedFileResponse));
        return jsonOutput({ items: withShortPatches(data), ...positionOf(link, input.page) });
      },
    }),
    defineTool({
      name: 'get_pull_request_diff',
      title: 'Read the diff of a pull request',
      description: `Reads all changes of a pull request as one unified diff in plain text, in parts of up to ${MAX_TEXT_CHARS.toLocaleString('en')} characters; the last line states the next offset. The host refuses diffs of more than 300 files or 20,000 lines; then use get_pull_request_files.`,
      input: z.strictObject({ ...repository, ...pullNumber, offset }),
      hints: readHints,
      async run({ offset, ...input }, call) {
        const diff = await readDiff(host, input, call);
        const part = textPage(diff, offset);
        if (part.text === '')
          return {
            text:
              diff === ''
                ? '[This pull request changes nothing.]'
                : '[The offset is after the end of the diff.]',
          };
        const notice =
          part.nextOffset === undefined
            ? ''
            : `\n[The diff continues: it has ${part.totalChars} characters. Call again with offset ${part.nextOffset}.]`;
        return { text: `${part.text}${notice}` };
      },
    }),
  ];
}

/** The check rejects HTML pages, because they are text too. */
const diffResponse = z
  .union([z.string(), z.instanceof(ArrayBuffer).transform((bytes) => Buffer.from(bytes).toString('utf8'))])
  .refine((text) => text === '' || text.startsWith('diff '));

async function readDiff(
  host: Host,
  input: { owner: string; repo: string; pull_number: number },
  call: ServerToolCall,
): Promise<string> {
  try {
    const { data } = await host
      .requestsFor(call)
      .request(
        'GET /repos/{owner}/{repo}/pulls/{pull_number}',
        input,
        diffResponse,
        'application/vnd.github.diff',
      );
    return data;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 406)
      throw new ToolError(
        'The host refuses the diff because it is too large. Use get_pull_request_files with paging.',
      );
    throw error;
  }
}
