// Tools that list directories and return file metadata.

import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement, FolderEntry } from '../confinement/confinement.ts';
import { MAX_LISTED_ENTRIES, MAX_SIZED_ENTRIES } from '../limits.ts';
import { mimeTypeOfName } from '../paths/media-type.ts';
import { toOneLine } from '../paths/path-text.ts';
import { pathParameter, readOnlyHints } from './parameters.ts';

const entryTypes = ['file', 'directory', 'symlink', 'other'] as const;
const entryType = z.enum(entryTypes);

const marks = { file: '[FILE]', directory: '[DIR]', symlink: '[LINK]', other: '[OTHER]' } as const;

export function listTools(confinement: Confinement, isReadOnly: boolean): ServerTool[] {
  return [
    listDirectoryTool(confinement),
    listDirectoryWithSizesTool(confinement),
    getFileInfoTool(confinement),
    listAllowedDirectoriesTool(confinement, isReadOnly),
  ];
}

function listDirectoryTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'list_directory',
    title: 'List directory',
    description: `List the entries of one directory, sorted by name, each marked as [FILE], [DIR], [LINK] (symbolic link) or [OTHER]. Subdirectories are not listed. Returns up to ${MAX_LISTED_ENTRIES} entries, with a note if there are more; use search_files to find further entries by name.`,
    input: z.strictObject({ path: pathParameter('The directory to list.') }),
    output: z.object({
      path: z.string(),
      entries: z.array(z.object({ name: z.string(), type: entryType })),
      isComplete: z.boolean(),
      note: z.string().optional().describe('Why the list is incomplete.'),
    }),
    hints: readOnlyHints,
    run: async ({ path: requestedPath }, { signal }) => {
      const { path, entries, isTruncated } = await confinement.list(
        requestedPath,
        MAX_LISTED_ENTRIES,
        signal,
      );
      const cut = truncationNote(isTruncated, MAX_LISTED_ENTRIES);
      return {
        text: linesOf(entries.map(({ name, kind }) => `${marks[kind]} ${toOneLine(name)}`)),
        structured: {
          path,
          entries: entries.map(({ name, kind }) => ({ name, type: kind })),
          isComplete: !isTruncated,
          ...cut.structured,
        },
        content: cut.content,
      };
    },
  });
}

function listDirectoryWithSizesTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'list_directory_with_sizes',
    title: 'List directory with sizes',
    description: `List the entries of one directory with size and modification time of each file, sorted by name or by size (largest first), and the total size. Subdirectories are not listed. Returns up to ${MAX_SIZED_ENTRIES} entries, with a note if there are more.`,
    input: z.strictObject({
      path: pathParameter('The directory to list.'),
      sortBy: z.enum(['name', 'size']).default('name').describe('Sort order.'),
    }),
    output: z.object({
      path: z.string(),
      entries: z.array(
        z.object({
          name: z.string(),
          type: entryType,
          size: z.number().int().optional().describe('Size in bytes; files only.'),
          modified: z.string().optional(),
        }),
      ),
      totalSize: z.number().int().describe('Total size of the listed files, in bytes.'),
      isComplete: z.boolean(),
      note: z.string().optional().describe('Why the list is incomplete.'),
    }),
    hints: readOnlyHints,
    run: async ({ path: requestedPath, sortBy }, { signal }) => {
      const { path, entries, isTruncated } = await confinement.list(requestedPath, MAX_SIZED_ENTRIES, signal);
      const cut = truncationNote(isTruncated, MAX_SIZED_ENTRIES);
      const sized: SizedEntry[] = [];
      for (const entry of entries) {
        signal.throwIfAborted();
        sized.push(await withSize(confinement, path, entry));
      }
      if (sortBy === 'size') sized.sort((a, b) => (b.size ?? -1) - (a.size ?? -1));
      const totalSize = sized.reduce((sum, { size = 0 }) => sum + size, 0);
      const files = sized.filter(({ type }) => type === 'file').length;
      const folders = sized.filter(({ type }) => type === 'directory').length;
      const lines = sized.map(({ name, type, size, modified }) =>
        [
          marks[type],
          toOneLine(name),
          ...(size === undefined ? [] : [`(${sizeText(size)}, ${modified})`]),
        ].join(' '),
      );
      lines.push('', `Total: ${files} files, ${folders} directories, ${sizeText(totalSize)}`);
      return {
        text: lines.join('\n'),
        structured: {
          path,
          entries: sized,
          totalSize,
          isComplete: !isTruncated,
          ...cut.structured,
        },
        content: cut.content,
      };
    },
  });
}

function getFileInfoTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'get_file_info',
    title: 'File information',
    description:
      'Get metadata of a file or directory without reading it: type, size in bytes, times of creation, last modification and last access, permissions, and the MIME type for its name. Symbolic links are followed within the allowed directories.',
    input: z.strictObject({ path: pathParameter('The file or directory.') }),
    output: z.object({
      path: z.string(),
      type: entryType,
      size: z.number().int().describe('Size in bytes.'),
      created: z.string(),
      modified: z.string(),
      accessed: z.string(),
      permissions: z.string().describe('Octal, for example 644.'),
      mimeType: z.string().optional(),
    }),
    hints: readOnlyHints,
    run: async ({ path: requestedPath }) => {
      const { path, kind, sizeBytes, createdAt, modifiedAt, accessedAt, mode } =
        await confinement.facts(requestedPath);
      const mimeType = kind === 'file' ? mimeTypeOfName(path) : undefined;
      const info = {
        path,
        type: kind,
        size: sizeBytes,
        created: createdAt.toISOString(),
        modified: modifiedAt.toISOString(),
        accessed: accessedAt.toISOString(),
        permissions: mode.toString(8).padStart(3, '0'),
        ...(mimeType !== undefined && { mimeType }),
      };
      const lines = Object.entries(info).map(([key, value]) => `${key}: ${toOneLine(String(value))}`);
      return { text: lines.join('\n'), structured: info };
    },
  });
}

function listAllowedDirectoriesTool(confinement: Confinement, isReadOnly: boolean): ServerTool {
  return defineTool({
    name: 'list_allowed_directories',
    title: 'Allowed directories',
    description:
      'List the directories that this server can access, including their subdirectories. Relative paths start at the first one.',
    input: z.strictObject({}),
    output: z.object({ directories: z.array(z.string()), isReadOnly: z.boolean() }),
    hints: readOnlyHints,
    run: async () => {
      const title = isReadOnly ? 'Allowed directories (read-only):' : 'Allowed directories:';
      return {
        text: [title, ...confinement.folders].join('\n'),
        structured: { directories: [...confinement.folders], isReadOnly },
      };
    },
  });
}

interface SizedEntry {
  name: string;
  type: (typeof entryTypes)[number];
  size?: number;
  modified?: string;
}

async function withSize(
  confinement: Confinement,
  folder: string,
  { name, kind }: FolderEntry,
): Promise<SizedEntry> {
  if (kind === 'symlink' || kind === 'other') return { name, type: kind };
  try {
    const facts = await confinement.facts(join(folder, name));
    const modified = facts.modifiedAt.toISOString();
    return { name, type: kind, modified, ...(kind === 'file' && { size: facts.sizeBytes }) };
  } catch (error) {
    // Another program may have removed the entry after the listing.
    if (!(error instanceof ToolError)) throw error;
    return { name, type: kind };
  }
}

function linesOf(lines: readonly string[]): string {
  return lines.length === 0 ? 'The directory is empty.' : lines.join('\n');
}

function truncationNote(isTruncated: boolean, limit: number) {
  if (!isTruncated) return { structured: {}, content: [] };
  const note = `Only the first ${limit} entries are listed. Use search_files to find further entries by name.`;
  return { structured: { note }, content: [{ type: 'text' as const, text: `(${note})` }] };
}

const units = ['KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a size, for example `12 bytes` or `1.50 MiB`. */
function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`;
  let size = bytes / 1_024;
  let unit = 0;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${size.toFixed(2)} ${units[unit]}`;
}
