// directory_tree: a folder tree as nested JSON. It is read level by level: a truncated tree contains the
// upper levels rather than a single branch. `isPartial` marks directories with more entries.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { MAX_TREE_DEPTH, MAX_TREE_ENTRIES, WALK_SECONDS } from '../limits.ts';
import { compileGlobs } from '../paths/glob.ts';
import { childPath, Walk } from '../paths/walk.ts';
import { excludePatterns, pathParameter, readOnlyHints } from './parameters.ts';

interface TreeEntry {
  name: string;
  type: 'file' | 'directory' | 'symlink' | 'other';
  /** Directories only. */
  children?: TreeEntry[];
  isPartial?: boolean;
}

const treeEntry: z.ZodType<TreeEntry> = z.object({
  name: z.string(),
  type: z.enum(['file', 'directory', 'symlink', 'other']),
  get children() {
    return z.array(treeEntry).optional();
  },
  isPartial: z.boolean().optional().describe('True if the directory has more entries.'),
}) as z.ZodType<TreeEntry>;

export function treeTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'directory_tree',
    title: 'Directory tree',
    description: `Show a directory and its subdirectories as nested JSON: name, type (file, directory, symlink, other), and children for directories. Symbolic links are not followed. Returns up to ${MAX_TREE_ENTRIES} entries and ${MAX_TREE_DEPTH} levels, upper levels first. A directory with isPartial has more entries; call directory_tree or list_directory for it. Exclude large directories with excludePatterns, for example "node_modules" and ".git".`,
    input: z.strictObject({ path: pathParameter('The directory to show.'), excludePatterns }),
    output: z.object({
      entries: z.array(treeEntry),
      isComplete: z.boolean().describe('True if only excluded entries are missing.'),
      note: z.string().optional().describe('Why the tree is incomplete.'),
    }),
    hints: readOnlyHints,
    run: async ({ path, excludePatterns }, { signal }) => {
      const bounds = { maxEntries: MAX_TREE_ENTRIES, maxDepth: MAX_TREE_DEPTH, maxMs: WALK_SECONDS * 1_000 };
      const walk = new Walk(confinement, bounds, compileGlobs(excludePatterns));
      const entries = await treeOf(walk, path, signal);
      const note =
        walk.limits.length === 0
          ? undefined
          : `The tree is incomplete: ${walk.limits.join(', ')}. Directories with isPartial have more entries: call directory_tree for them, or exclude large ones.`;
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
  /** Unread directories by their path below the start. */
  const pending = new Map([['', root]]);
  for await (const { relative, entries, isCut } of walk.folders(path, signal)) {
    const parent = pending.get(relative);
    if (parent === undefined) continue;
    pending.delete(relative);
    if (!isCut) delete parent.isPartial;
    parent.children = entries.map(({ name, kind }) => {
      if (kind !== 'directory') return { name, type: kind };
      const child: TreeEntry = { name, type: kind, children: [], isPartial: true };
      pending.set(childPath(relative, name), child);
      return child;
    });
  }
  return root.children ?? [];
}
