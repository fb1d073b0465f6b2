// The tools that say what there is, without its content.

import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement, Entry } from '../confinement/confinement.ts';
import { MAX_LISTED_ENTRIES, MAX_SIZED_ENTRIES } from '../limits.ts';
import { mimeTypeOfName } from '../paths/media-type.ts';
import { onOneLine } from '../paths/path-text.ts';
import { pathOf, readingHints } from './parameters.ts';

const entryTypes = ['file', 'directory', 'symlink', 'other'] as const;
const entryType = z.enum(entryTypes);

const marks = { file: '[FILE]', directory: '[DIR]', symlink: '[LINK]', other: '[OTHER]' } as const;

export function listTools(confinement: Confinement, isReadOnly: boolean): Tool[] {
  return [
    defineTool({
      name: 'list_directory',
      title: 'List directory',
      description: `List the names in one directory, sorted, each marked as [FILE], [DIR], [LINK] (a symbolic link) or [OTHER]. It does not look below. It shows ${MAX_LISTED_ENTRIES} entries at most and says when there are more; search_files finds the others by name.`,
      input: z.strictObject({ path: pathOf('The directory to list.') }),
      output: z.object({
        path: z.string(),
        entries: z.array(z.object({ name: z.string(), type: entryType })),
        isComplete: z.boolean(),
        note: z.string().optional().describe('Why it is not complete.'),
      }),
      hints: readingHints,
      run: async ({ path: given }, { signal }) => {
        const { path, entries, isTruncated } = await confinement.list(given, MAX_LISTED_ENTRIES, signal);
        const cut = cutNote(isTruncated, MAX_LISTED_ENTRIES);
        return {
          text: linesOf(entries.map(({ name, kind }) => `${marks[kind]} ${onOneLine(name)}`)),
          structured: {
            path,
            entries: entries.map(({ name, kind }) => ({ name, type: kind })),
            isComplete: !isTruncated,
            ...cut.structured,
          },
          content: cut.content,
        };
      },
    }),
    defineTool({
      name: 'list_directory_with_sizes',
      title: 'List directory with sizes',
      description: `List the names in one directory with the size and the time of the last change of each file, sorted by name or by size, the largest first, and the sum of the sizes. It does not look below. It shows ${MAX_SIZED_ENTRIES} entries at most and says when there are more.`,
      input: z.strictObject({
        path: pathOf('The directory to list.'),
        sortBy: z.enum(['name', 'size']).default('name').describe('The order of the entries.'),
      }),
      output: z.object({
        path: z.string(),
        entries: z.array(
          z.object({
            name: z.string(),
            type: entryType,
            size: z.number().int().optional().describe('In bytes; of files only.'),
            modified: z.string().optional(),
          }),
        ),
        totalSize: z.number().int().describe('Of the files shown, in bytes.'),
        isComplete: z.boolean(),
        note: z.string().optional().describe('Why it is not complete.'),
      }),
      hints: readingHints,
      run: async ({ path: given, sortBy }, { signal }) => {
        const { path, entries, isTruncated } = await confinement.list(given, MAX_SIZED_ENTRIES, signal);
        const cut = cutNote(isTruncated, MAX_SIZED_ENTRIES);
        const sized: SizedEntry[] = [];
        for (const entry of entries) {
          signal.throwIfAborted();
          sized.push(await sizedOf(confinement, path, entry));
        }
        if (sortBy === 'size') sized.sort((a, b) => (b.size ?? -1) - (a.size ?? -1));
        const totalSize = sized.reduce((sum, { size = 0 }) => sum + size, 0);
        const files = sized.filter(({ type }) => type === 'file').length;
        const folders = sized.filter(({ type }) => type === 'directory').length;
        const lines = sized.map(({ name, type, size, modified }) =>
          [
            marks[type],
            onOneLine(name),
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
    }),
    defineTool({
      name: 'get_file_info',
      title: 'File information',
      description:
        'Give what is known of one file or directory without reading it: type, size in bytes, times of creation, last change and last access, permissions, and the MIME type its name promises. A symbolic link is followed as long as it stays in an allowed directory.',
      input: z.strictObject({ path: pathOf('The file or directory.') }),
      output: z.object({
        path: z.string(),
        type: entryType,
        size: z.number().int().describe('In bytes.'),
        created: z.string(),
        modified: z.string(),
        accessed: z.string(),
        permissions: z.string().describe('Octal, such as 644.'),
        mimeType: z.string().optional(),
      }),
      hints: readingHints,
      run: async ({ path: given }) => {
        const { path, kind, sizeBytes, createdAt, modifiedAt, accessedAt, mode } =
          await confinement.facts(given);
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
        const lines = Object.entries(info).map(([key, value]) => `${key}: ${onOneLine(String(value))}`);
        return { text: lines.join('\n'), structured: info };
      },
    }),
    defineTool({
      name: 'list_allowed_directories',
      title: 'Allowed directories',
      description:
        'List the directories that this server may use. Everything below them may be used too, and nothing else. The first one is where relative paths begin.',
      input: z.strictObject({}),
      output: z.object({ directories: z.array(z.string()), isReadOnly: z.boolean() }),
      hints: readingHints,
      run: async () => {
        const title = isReadOnly ? 'Allowed directories, for reading only:' : 'Allowed directories:';
        return {
          text: [title, ...confinement.folders].join('\n'),
          structured: { directories: [...confinement.folders], isReadOnly },
        };
      },
    }),
  ];
}

interface SizedEntry {
  name: string;
  type: (typeof entryTypes)[number];
  size?: number;
  modified?: string;
}

async function sizedOf(confinement: Confinement, folder: string, { name, kind }: Entry): Promise<SizedEntry> {
  if (kind === 'symlink' || kind === 'other') return { name, type: kind };
  try {
    const facts = await confinement.facts(join(folder, name));
    const modified = facts.modifiedAt.toISOString();
    return { name, type: kind, modified, ...(kind === 'file' && { size: facts.sizeBytes }) };
  } catch (error) {
    // It may be gone since it was listed.
    if (!(error instanceof ToolError)) throw error;
    return { name, type: kind };
  }
}

function linesOf(lines: readonly string[]): string {
  return lines.length === 0 ? 'The directory is empty.' : lines.join('\n');
}

function cutNote(isTruncated: boolean, limit: number) {
  if (!isTruncated) return { structured: {}, content: [] };
  const note = `These are the first ${limit} entries; there are more. search_files finds the others by name.`;
  return { structured: { note }, content: [{ type: 'text' as const, text: `(${note})` }] };
}

const units = ['KiB', 'MiB', 'GiB', 'TiB'];

/** Such as `12 bytes` or `1.50 MiB`. */
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
