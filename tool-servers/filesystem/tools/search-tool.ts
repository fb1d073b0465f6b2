// search_files: finds names below a folder by glob pattern, within limits, and reports whether the search was
// complete.

import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, type ServerTool, type ServerToolCall } from '../../tool.ts';
import type { Confinement } from '../confinement/confinement.ts';
import {
  MAX_MATCHES,
  MAX_MATCHES_BYTES,
  MAX_PATTERN_CHARS,
  MAX_SEARCH_DEPTH,
  MAX_VISITED_ENTRIES,
  PROGRESS_MS,
  WALK_SECONDS,
} from '../limits.ts';
import { compileGlobs, isPlainName } from '../paths/glob.ts';
import { quote, toOneLine } from '../paths/path-text.ts';
import { Walk } from '../paths/walk.ts';
import { excludePatterns, pathParameter, readOnlyHints } from './parameters.ts';

export function searchTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'search_files',
    title: 'Search files by name',
    description: `Find files and directories by name, in a directory and its subdirectories. File contents are not searched. A pattern without a slash matches names at any depth ("*.ts", "*report*"); a pattern with a slash matches the path below the directory ("src/**/*.test.ts"). * ? [abc] {a,b} ** have their usual meaning. Matching is case-sensitive and includes names with a leading dot. Symbolic links are found but not followed. The search stops at ${MAX_MATCHES} matches, ${MAX_VISITED_ENTRIES} entries, ${MAX_SEARCH_DEPTH} levels or ${WALK_SECONDS} seconds, with a note. Exclude large folders with excludePatterns, for example "node_modules" and ".git".`,
    input: z.strictObject({
      path: pathParameter('The directory to start from.'),
      pattern: z
        .string()
        .min(1)
        .describe(
          `Glob pattern, up to ${MAX_PATTERN_CHARS} characters, for example "*.md" or "docs/**/*.md".`,
        ),
      excludePatterns,
    }),
    output: z.object({
      matches: z.array(z.string()).describe('Full paths, upper levels first.'),
      visited: z.number().int().describe('Number of entries visited.'),
      isComplete: z.boolean().describe('True if all entries were visited.'),
      note: z.string().optional().describe('Why the result is incomplete, or a suggestion.'),
    }),
    hints: readOnlyHints,
    run: async ({ path, pattern, excludePatterns }, call) => {
      const { matches, walk, limit } = await search(confinement, path, pattern, excludePatterns, call);
      const limits = limit === undefined ? walk.limits : [limit, ...walk.limits];
      const isComplete = limits.length === 0;
      const note = noteOf(limits, matches.length, pattern);
      const text = matches.length === 0 ? 'No matches found' : matches.map(toOneLine).join('\n');
      return {
        text,
        structured: { matches, visited: walk.visitedCount, isComplete, ...(note !== undefined && { note }) },
        ...(note !== undefined && { content: [{ type: 'text', text: `(${note})` }] }),
      };
    },
  });
}

async function search(
  confinement: Confinement,
  path: string,
  pattern: string,
  exclusions: readonly string[],
  { signal, report }: ServerToolCall,
): Promise<{ matches: string[]; walk: Walk; limit: string | undefined }> {
  const isMatch = compileGlobs([pattern]);
  const bounds = { maxEntries: MAX_VISITED_ENTRIES, maxDepth: MAX_SEARCH_DEPTH, maxMs: WALK_SECONDS * 1_000 };
  const walk = new Walk(confinement, bounds, compileGlobs(exclusions));
  const matches: string[] = [];
  let bytes = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  for await (const folder of walk.folders(path, signal)) {
    const { selected } = await walk.select(folder.relative, folder.entries, isMatch, signal);
    for (const { name } of selected) {
      const match = join(folder.path, name);
      bytes += Buffer.byteLength(quote(match));
      if (matches.length === MAX_MATCHES || bytes > MAX_MATCHES_BYTES)
        return { matches, walk, limit: `${countText(matches.length, 'match', 'matches')} were reached` };
      matches.push(match);
    }
    if (performance.now() - reportedAt < PROGRESS_MS) continue;
    reportedAt = performance.now();
    const visited = countText(walk.visitedCount, 'entry', 'entries');
    report(
      walk.visitedCount,
      undefined,
      `${visited} visited, ${countText(matches.length, 'match', 'matches')}`,
    );
  }
  return { matches, walk, limit: undefined };
}

function countText(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}

function noteOf(limits: readonly string[], matchCount: number, pattern: string): string | undefined {
  const notes: string[] = [];
  if (limits.length > 0)
    notes.push(
      `The result is incomplete: ${limits.join(', ')}. Start in a deeper directory, exclude large ones, or use a narrower pattern.`,
    );
  if (matchCount === 0 && isPlainName(pattern))
    notes.push(
      `No name equals "${pattern}". To match a part of a name use "*${pattern}*". File contents are not searched.`,
    );
  return notes.length > 0 ? notes.join(' ') : undefined;
}
