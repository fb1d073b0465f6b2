// Files of a repository: reading one, and writing one or many as a commit.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import {
  anyPath,
  branch,
  filePath,
  isWellFormed,
  offset,
  pathAt,
  repository,
  revision,
} from '../arguments.ts';
import { contentAnswer, readContentAt } from '../file-content.ts';
import type { Host } from '../host.ts';
import { MAX_PUSH_BYTES, MAX_PUSH_FILES, pushFiles } from '../push-files.ts';
import { newCommitShape } from '../shapes/commit.ts';
import { contentShape } from '../shapes/content.ts';
import { MAX_TEXT_CHARS } from '../text-page.ts';
import { MAX_WRITE_CHARS, writeFile } from '../write-file.ts';
import { answer, reads, replaces } from './answer.ts';

const message = z.string().min(1).max(65_536).describe("The commit's message.");

export function fileTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'get_file_contents',
      title: 'Read a file or list a folder',
      description: `Gives the text of a file, or what is in a folder. Text comes in parts of up to ${MAX_TEXT_CHARS.toLocaleString('en')} characters: where there is more, next_offset says where the next part begins. Images come as image content and other small binary files as a blob. The sha of a file is what create_or_update_file needs to replace it.`,
      input: z.strictObject({
        ...repository,
        path: anyPath.describe(
          'From the top of the repository, without a slash at its beginning; empty for the top.',
        ),
        branch: revision.optional().describe('A branch, tag or commit. Left out: the default branch.'),
        offset,
      }),
      output: contentShape,
      hints: reads,
      async run({ owner, repo, path, branch, offset }, call) {
        const asking = host.during(call);
        const place = { owner, repo, path: pathAt(path), ref: branch };
        return await contentAnswer(asking, place, await readContentAt(asking, place), offset);
      },
    }),
    defineTool({
      name: 'create_or_update_file',
      title: 'Write a file',
      description:
        "Writes one text file as a commit of its own on a branch. To replace a file give the sha that get_file_contents told, so that nobody else's change is lost: without it, or with an old one, nothing is written. For several files in one commit use push_files.",
      input: z.strictObject({
        ...repository,
        path: filePath.describe('From the top of the repository; folders on the way come into being.'),
        content: z
          .string()
          .max(MAX_WRITE_CHARS)
          .refine(isWellFormed, 'holds half of a character')
          .describe('The whole new text of the file, as it is (not base64).'),
        message,
        branch: branch.describe('The branch to write to. It must exist, except in an empty repository.'),
        sha: z
          .string()
          .regex(/^[0-9a-fA-F]{40}([0-9a-fA-F]{24})?$/, 'is not the SHA of a file')
          .optional()
          .describe('Of the file that is replaced; left out for a new file.'),
      }),
      output: z.object({
        path: z.string(),
        sha: z.string().optional().describe('Of the file as it is now.'),
        branch: z.string(),
        commit: newCommitShape,
      }),
      hints: replaces,
      async run(input, call) {
        return answer(await writeFile(host.during(call), { ...input, path: pathAt(input.path) }));
      },
    }),
    defineTool({
      name: 'push_files',
      title: 'Write many files as one commit',
      description: `Writes up to ${MAX_PUSH_FILES} text files to a branch in one commit, new ones and replaced ones; other files stay, none is deleted. It replaces files without asking for their sha: read them first. If the branch moves meanwhile, nothing is written. The branch must exist and have a commit.`,
      input: z.strictObject({
        ...repository,
        branch: branch.describe('The branch to write to.'),
        files: z
          .array(
            z.strictObject({
              path: filePath.describe('From the top of the repository.'),
              content: z
                .string()
                .refine(isWellFormed, 'holds half of a character')
                .describe('The whole text of the file, as it is (not base64).'),
            }),
          )
          .min(1)
          .max(MAX_PUSH_FILES)
          .describe(`The files, together up to ${MAX_PUSH_BYTES / 1024 / 1024} MiB.`),
        message,
      }),
      output: z.object({
        branch: z.string(),
        commit: newCommitShape.optional(),
        files: z.number().describe('How many files were given.'),
        notice: z.string().optional().describe('What to know about this answer.'),
      }),
      hints: replaces,
      async run({ files, ...rest }, call) {
        const at = files.map(({ path, content }) => ({ path: pathAt(path), content }));
        return answer(await pushFiles(host.during(call), { ...rest, files: at }));
      },
    }),
  ];
}
