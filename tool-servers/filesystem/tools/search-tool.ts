// search_files: names below a folder that match a glob pattern, within bounds, and honest about them.

import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, type Tool, type ToolCall } from '../../tool.ts';
import type { Confinement } from '../confinement/confinement.ts';
import {
  MAX_MATCHES,
  MAX_MATCHES_BYTES,
  MAX_PATTERN_CHARS,
  MAX_SEARCH_DEPTH,
  MAX_VISITED_ENTRIES,
  REPORT_MS,
  WALK_SECONDS,
} from '../limits.ts';
import { compileGlobs, isPlainName } from '../paths/glob.ts';
import { onOneLine, quoted } from '../paths/path-text.ts';
import { Walk } from '../paths/walk.ts';
import { excludePatterns, pathOf, readingHints } from './parameters.ts';

export function searchTool(confinement: Confinement): Tool {
  return defineTool({
    name: 'search_files',
    title: 'Search files by name',
    description: `Find files and directories by name, in a directory and everything below it. It does not look into files. A pattern without a slash is for names at any depth ("*.ts", "*report*"); one with a slash is for the path below the directory ("src/**/*.test.ts"). * ? [abc] {a,b} ** have their usual meaning, upper and lower case differ, names with a leading dot are found. Symbolic links are found, and not followed. It stops at ${MAX_MATCHES} matches, ${MAX_VISITED_ENTRIES} entries, ${MAX_SEARCH_DEPTH} levels or ${WALK_SECONDS} seconds, and says so. Leave out large folders with excludePatterns, such as "node_modules" and ".git".`,
    input: z.strictObject({
      path: pathOf('The directory to start from.'),
      pattern: z
        .string()
        .min(1)
        .describe(`Glob pattern, ${MAX_PATTERN_CHARS} characters at most, such as "*.md" or "docs/**/*.md".`),
      excludePatterns,
    }),
    output: z.object({
      matches: z.array(z.string()).describe('Full paths, the ones near to the start first.'),
      visited: z.number().int().describe('Entries that were looked at.'),
      isComplete: z.boolean().describe('Whether everything was looked at.'),
      note: z.string().optional().describe('Why it is not complete, or what to try.'),
    }),
    hints: readingHints,
    run: async ({ path, pattern, excludePatterns }, call) => {
      const { matches, walk, full } = await search(confinement, path, pattern, excludePatterns, call);
      const limits = full === undefined ? walk.limits : [full, ...walk.limits];
      const isComplete = limits.length === 0;
      const note = noteOf(limits, matches.length, pattern);
      const text = matches.length === 0 ? 'No matches found' : matches.map(onOneLine).join('\n');
      return {
        text,
        structured: { matches, visited: walk.visited, isComplete, ...(note !== undefined && { note }) },
        ...(note !== undefined && { content: [{ type: 'text', text: `(${note})` }] }),
      };
    },
  });
}

async function search(
  confinement: Confinement,
  path: string,
  pattern: string,
  excluded: readonly string[],
  { signal, report }: ToolCall,
): Promise<{ matches: string[]; walk: Walk; full: string | undefined }> {
  const isWanted = compileGlobs([pattern]);
  const bounds = { maxEntries: MAX_VISITED_ENTRIES, maxDepth: MAX_SEARCH_DEPTH, maxMs: WALK_SECONDS * 1_000 };
  const walk = new Walk(confinement, bounds, compileGlobs(excluded));
  const matches: string[] = [];
  let bytes = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  for await (const folder of walk.folders(path, signal)) {
    const { selected } = await walk.select(folder.relative, folder.entries, isWanted, signal);
    for (const { name } of selected) {
      const match = join(folder.path, name);
      bytes += Buffer.byteLength(quoted(match));
      if (matches.length === MAX_MATCHES || bytes > MAX_MATCHES_BYTES)
        return { matches, walk, full: `${counted(matches.length, 'match', 'matches')} were found` };
      matches.push(match);
    }
    if (performance.now() - reportedAt < REPORT_MS) continue;
    reportedAt = performance.now();
    const looked = counted(walk.visited, 'entry', 'entries');
    report(walk.visited, undefined, `${looked} looked at, ${counted(matches.length, 'match', 'matches')}`);
  }
  return { matches, walk, full: undefined };
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}

function noteOf(limits: readonly string[], found: number, pattern: string): string | undefined {
  const notes: string[] = [];
  if (limits.length > 0)
    notes.push(
      `This is not everything: ${limits.join(', ')}. Start from a deeper directory, exclude large ones, or give a narrower pattern.`,
    );
  if (found === 0 && isPlainName(pattern))
    notes.push(
      `No name is exactly "${pattern}". For a part of a name search "*${pattern}*"; the content of files is not searched.`,
    );
  return notes.length > 0 ? notes.join(' ') : undefined;
}
