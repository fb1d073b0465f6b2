// What a pull request changes: its files, and its diff.

import { z } from 'zod';
import { defineTool, type Tool, type ToolCall } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { offset, paging, pullNumber, repository } from '../arguments.ts';
import type { Host } from '../host.ts';
import { HostRefusal } from '../host-fault.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import {
  changedFileShape,
  MAX_PATCH_CHARS,
  readChangedFile,
  withShortPatches,
} from '../shapes/pull-request.ts';
import { readList } from '../shapes/reading.ts';
import { MAX_TEXT_CHARS, textPage } from '../text-page.ts';
import { answer, reads } from './answer.ts';

export function pullRequestChangeTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'get_pull_request_files',
      title: 'List the files of a pull request',
      description: `Lists the files a pull request changes, with how many lines and the changes themselves. The changes of a file are cut after ${MAX_PATCH_CHARS.toLocaleString('en')} characters; get_pull_request_diff has all. The host lists up to 3,000 files.`,
      input: z.strictObject({ ...repository, ...pullNumber, ...paging }),
      output: pageShape(changedFileShape),
      hints: reads,
      async run(input, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', input, readList(readChangedFile));
        return answer({ items: withShortPatches(data), ...positionOf(link, input.page) });
      },
    }),
    defineTool({
      name: 'get_pull_request_diff',
      title: 'Read the diff of a pull request',
      description: `Gives all changes of a pull request as one unified diff, as plain text, in parts of up to ${MAX_TEXT_CHARS.toLocaleString('en')} characters: its last line says where the next part begins. The host refuses diffs of more than 300 files or 20,000 lines; use get_pull_request_files then.`,
      input: z.strictObject({ ...repository, ...pullNumber, offset }),
      hints: reads,
      async run({ offset, ...input }, call) {
        const diff = await diffOf(host, input, call);
        const part = textPage(diff, offset);
        if (part.text === '')
          return {
            text:
              diff === '' ? '[This pull request changes nothing.]' : '[The diff ends before this offset.]',
          };
        const notice =
          part.nextOffset === undefined
            ? ''
            : `\n[The diff goes on: it has ${part.totalChars} characters. Call again with offset ${part.nextOffset}.]`;
        return { text: `${part.text}${notice}` };
      },
    }),
  ];
}

/** A page for people comes as text too. */
const readDiff = z
  .union([z.string(), z.instanceof(ArrayBuffer).transform((bytes) => Buffer.from(bytes).toString('utf8'))])
  .refine((text) => text === '' || text.startsWith('diff '));

async function diffOf(
  host: Host,
  input: { owner: string; repo: string; pull_number: number },
  call: ToolCall,
): Promise<string> {
  try {
    const { data } = await host
      .during(call)
      .ask('GET /repos/{owner}/{repo}/pulls/{pull_number}', input, readDiff, 'application/vnd.github.diff');
    return data;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 406)
      throw new ToolError(
        'This pull request changes too much for one diff, the host says. Use get_pull_request_files, page by page.',
      );
    throw error;
  }
}
