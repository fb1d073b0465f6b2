// directory_tree: what is below a folder as nested JSON. It is filled level by level, so that within its bound it shows
// the whole upper part rather than one branch; a directory with `isPartial` has more than is shown.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { MAX_TREE_DEPTH, MAX_TREE_ENTRIES, WALK_SECONDS } from '../limits.ts';
import { compileGlobs } from '../paths/glob.ts';
import { below, Walk } from '../paths/walk.ts';
import { excludePatterns, pathOf, readingHints } from './parameters.ts';

interface TreeEntry {
  name: string;
  type: 'file' | 'directory' | 'symlink' | 'other';
  /** Of directories only. */
  children?: TreeEntry[];
  isPartial?: boolean;
}

const treeEntry: z.ZodType<TreeEntry> = z.object({
  name: z.string(),
  type: z.enum(['file', 'directory', 'symlink', 'other']),
  get children() {
    return z.array(treeEntry).optional();
  },
  isPartial: z.boolean().optional().describe('Whether it has more than is shown.'),
}) as z.ZodType<TreeEntry>;

export function treeTool(confinement: Confinement): Tool {
  return defineTool({
    name: 'directory_tree',
    title: 'Directory tree',
    description: `Show a directory and everything below it as nested JSON: name, type (file, directory, symlink, other), and children for directories. Symbolic links are not followed. It shows ${MAX_TREE_ENTRIES} entries and ${MAX_TREE_DEPTH} levels at most, the upper levels first; a directory with isPartial has more, which directory_tree or list_directory of that directory shows. Leave out large directories with excludePatterns, such as "node_modules" and ".git".`,
    input: z.strictObject({ path: pathOf('The directory to show.'), excludePatterns }),
    output: z.object({
      entries: z.array(treeEntry),
      isComplete: z.boolean().describe('Whether nothing was left out but what was excluded.'),
      note: z.string().optional().describe('Why it is not complete.'),
    }),
    hints: readingHints,
    run: async ({ path, excludePatterns }, { signal }) => {
      const bounds = { maxEntries: MAX_TREE_ENTRIES, maxDepth: MAX_TREE_DEPTH, maxMs: WALK_SECONDS * 1_000 };
      const walk = new Walk(confinement, bounds, compileGlobs(excludePatterns));
      const entries = await treeOf(walk, path, signal);
      const note =
        walk.limits.length === 0
          ? undefined
          : `This is not everything: ${walk.limits.join(', ')}. What is marked isPartial has more: show that directory, or exclude large ones.`;
      return {
        text: JSON.stringify(entries),
        structured: { entries, isComplete: note === undefined, ...(note !== undefined && { note }) },
        ...(note !== undefined && { content: [{ type: 'text', text: `(${note})` }] }),
      };
    },
  });
}

async function treeOf(walk: Walk, path: string, signal: AbortSignal): Promise<TreeEntry[]> {
  const root: TreeEntry = { name: '', type: 'directory', isPartial: true };
  /** Directories that were not read yet, by their path below the start. */
  const unread = new Map([['', root]]);
  for await (const { relative, entries, isCut } of walk.folders(path, signal)) {
    const parent = unread.get(relative);
    if (parent === undefined) continue;
    unread.delete(relative);
    if (!isCut) delete parent.isPartial;
    parent.children = entries.map(({ name, kind }) => {
      if (kind !== 'directory') return { name, type: kind };
      const child: TreeEntry = { name, type: kind, children: [], isPartial: true };
      unread.set(below(relative, name), child);
      return child;
    });
  }
  return root.children ?? [];
}
