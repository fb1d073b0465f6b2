// Content at a repository path: file, folder, link or submodule. `*Response` schemas convert host responses
// to the published `*Shape`.

import { z } from 'zod';
import { listOf, optionalText } from './fields.ts';

/** A string, not an enumeration: an unknown kind must not make a folder unreadable. */
const kind = z.string().describe('file, dir, symlink or submodule.');

const entryShape = z.object({
  name: z.string(),
  type: kind,
  size: z.number().optional().describe('Size in bytes; files only.'),
  sha: z.string(),
});

export const contentShape = z.object({
  type: kind,
  path: z.string(),
  sha: z
    .string()
    .optional()
    .describe('SHA of the blob; pass it to create_or_update_file to replace the file.'),
  size: z.number().optional().describe('Size in bytes.'),
  content: z.string().optional().describe('Text of a file.'),
  next_offset: z.number().optional().describe('The text continues: `offset` of its next part.'),
  entries: z.array(entryShape).optional().describe('Entries of a folder.'),
  target: z.string().optional().describe('Target of a link.'),
  repository: z.string().optional().describe('Address of a submodule.'),
  notice: z.string().optional().describe('Note about the result.'),
  url: z.string().optional(),
});

const entryResponse = z.object({
  type: kind,
  name: z.string(),
  path: z.string(),
  sha: z.string(),
  size: z.number().nullish(),
  html_url: optionalText,
  submodule_git_url: optionalText,
  git_url: z.string().nullish(),
  target: optionalText,
  encoding: optionalText,
  content: z.string().nullish(),
});

export type RepositoryEntry = z.output<typeof entryResponse>;

/** Entry, or all entries if the path is a folder. */
export const contentResponse = z.union([listOf(entryResponse), entryResponse]);

export function toListedEntry({
  type,
  name,
  size,
  sha,
  git_url,
}: RepositoryEntry): z.input<typeof entryShape> {
  // Folder listings report submodules as files, but their `git_url` is not a blob of this host.
  const isSubmodule = type === 'file' && git_url !== undefined && !/\/git\/blobs\//.test(git_url ?? '');
  return {
    name,
    type: isSubmodule ? 'submodule' : type,
    size: type === 'file' && !isSubmodule ? (size ?? undefined) : undefined,
    sha,
  };
}
