// What stands at a path of a repository: a file, a folder, a link or another repository.

import { z } from 'zod';
import { readList, readText } from './reading.ts';

/** No enumeration: a kind that is not known here must not make a whole folder unreadable. */
const kind = z.string().describe('file, dir, symlink or submodule.');

const entryShape = z.object({
  name: z.string(),
  type: kind,
  size: z.number().optional().describe('In bytes; of files.'),
  sha: z.string(),
});

export const contentShape = z.object({
  type: kind,
  path: z.string(),
  sha: z.string().optional().describe('Of the blob: create_or_update_file takes it to replace the file.'),
  size: z.number().optional().describe('In bytes.'),
  content: z.string().optional().describe('The text of a file.'),
  next_offset: z
    .number()
    .optional()
    .describe('The text goes on: what to give as `offset` for its next part.'),
  entries: z.array(entryShape).optional().describe('What is in a folder.'),
  target: z.string().optional().describe('Where a link leads.'),
  repository: z.string().optional().describe('The address a submodule comes from.'),
  notice: z.string().optional().describe('What to know about this answer.'),
  url: z.string().optional(),
});

const readEntry = z.object({
  type: kind,
  name: z.string(),
  path: z.string(),
  sha: z.string(),
  size: z.number().nullish(),
  html_url: readText,
  submodule_git_url: readText,
  git_url: z.string().nullish(),
  target: readText,
  encoding: readText,
  content: z.string().nullish(),
});

export type Entry = z.output<typeof readEntry>;

/** One entry, or all entries of a folder. */
export const readContent = z.union([readList(readEntry), readEntry]);

export function listed({ type, name, size, sha, git_url }: Entry): z.input<typeof entryShape> {
  // A folder's listing calls submodules files; their objects are trees, or not at this host.
  const isSubmodule = type === 'file' && git_url !== undefined && !/\/git\/blobs\//.test(git_url ?? '');
  return {
    name,
    type: isSubmodule ? 'submodule' : type,
    size: type === 'file' && !isSubmodule ? (size ?? undefined) : undefined,
    sha,
  };
}
