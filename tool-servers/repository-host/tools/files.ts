// Tools for files: read a file or folder, commit one or several files.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import {
  anyPath,
  branch,
  filePath,
  isWellFormed,
  offset,
  repository,
  revision,
  trimSlashes,
} from '../arguments.ts';
import { readContentAt, toContentOutput } from '../file-content.ts';
import type { Host } from '../host.ts';
import { MAX_PUSH_BYTES, MAX_PUSH_FILES, pushFiles } from '../push-files.ts';
import { newCommitShape } from '../shapes/commit.ts';
import { contentShape } from '../shapes/content.ts';
import { MAX_TEXT_CHARS } from '../text-page.ts';
import { MAX_WRITE_CHARS, writeFile } from '../write-file.ts';
import { jsonOutput, readHints, replaceHints } from './result.ts';

const message = z.string().min(1).max(65_536).describe('Commit message.');

export function fileTools(host: Host): ServerTool[] {
  return [getFileContentsTool(host), createOrUpdateFileTool(host), pushFilesTool(host)];
}

function getFileContentsTool(host: Host): ServerTool {
  return defineTool({
    name: 'get_file_contents',
    title: 'Read a file or list a folder',
    description: `Reads the text of a file or lists a folder. Text is returned in parts of up to ${MAX_TEXT_CHARS.toLocaleString('en')} characters; next_offset is the start of the next part. Images are returned as image content, other small binary files as a blob. create_or_update_file requires the sha of a file to replace it.`,
    input: z.strictObject({
      ...repository,
      path: anyPath.describe('Path from the repository root, without a leading slash; empty for the root.'),
      branch: revision.optional().describe('Branch, tag or commit. Default: the default branch.'),
      offset,
    }),
    output: contentShape,
    hints: readHints,
    async run({ owner, repo, path, branch, offset }, call) {
      const requests = host.requestsFor(call);
      const location = { owner, repo, path: trimSlashes(path), ref: branch };
      return await toContentOutput(requests, location, await readContentAt(requests, location), offset);
    },
  });
}

function createOrUpdateFileTool(host: Host): ServerTool {
  return defineTool({
    name: 'create_or_update_file',
    title: 'Write a file',
    description:
      'Writes one text file as a separate commit on a branch. To replace a file pass its sha from get_file_contents, so that no other change is lost; without the current sha nothing is written. For several files in one commit use push_files.',
    input: z.strictObject({
      ...repository,
      path: filePath.describe('Path from the repository root; missing folders are created.'),
      content: z
        .string()
        .max(MAX_WRITE_CHARS)
        .refine(isWellFormed, 'contains an incomplete character')
        .describe('Complete new text of the file, not base64.'),
      message,
      branch: branch.describe('Target branch. It must exist, except in an empty repository.'),
      sha: z
        .string()
        .regex(/^[0-9a-fA-F]{40}([0-9a-fA-F]{24})?$/, 'is not the SHA of a file')
        .optional()
        .describe('SHA of the replaced file; omit for a new file.'),
    }),
    output: z.object({
      path: z.string(),
      sha: z.string().optional().describe('New SHA of the file.'),
      branch: z.string(),
      commit: newCommitShape,
    }),
    hints: replaceHints,
    async run(input, call) {
      return jsonOutput(await writeFile(host.requestsFor(call), { ...input, path: trimSlashes(input.path) }));
    },
  });
}

function pushFilesTool(host: Host): ServerTool {
  return defineTool({
    name: 'push_files',
    title: 'Write many files as one commit',
    description: `Writes up to ${MAX_PUSH_FILES} new or existing text files to a branch in one commit; other files are unchanged. Existing files are replaced without a sha: read them first. If the branch moves meanwhile, nothing is written. The branch must exist and have a commit.`,
    input: z.strictObject({
      ...repository,
      branch: branch.describe('Target branch.'),
      files: z
        .array(
          z.strictObject({
            path: filePath.describe('Path from the repository root.'),
            content: z
              .string()
              .refine(isWellFormed, 'contains an incomplete character')
              .describe('Complete text of the file, not base64.'),
          }),
        )
        .min(1)
        .max(MAX_PUSH_FILES)
        .describe(`Files, up to ${MAX_PUSH_BYTES / 1024 / 1024} MiB in total.`),
      message,
    }),
    output: z.object({
      branch: z.string(),
      commit: newCommitShape.optional(),
      files: z.number().describe('Number of files in the request.'),
      notice: z.string().optional().describe('Note about the result.'),
    }),
    hints: replaceHints,
    async run({ files, ...rest }, call) {
      const at = files.map(({ path, content }) => ({ path: trimSlashes(path), content }));
      return jsonOutput(await pushFiles(host.requestsFor(call), { ...rest, files: at }));
    },
  });
}
