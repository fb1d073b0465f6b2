// Reads file modes from a Git tree, before a commit changes them. Most repositories need only one request. If
// the host truncates a large tree, the parent folders are read individually.

import { z } from 'zod';
import type { CallRequests } from './call-requests.ts';
import { listOf } from './shapes/fields.ts';

/** Git mode for folders. */
export const FOLDER = '040000';

interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

/** The host returns up to 100,000 entries and marks truncated trees. */
const MAX_ENTRIES = 200_000;

const treeResponse = z.object({
  truncated: z.boolean().nullish(),
  tree: listOf(z.object({ path: z.string(), mode: z.string(), sha: z.string() }), MAX_ENTRIES),
});

/** Returns modes by path for `files` and their parent folders, if they exist in the tree `base`. */
export async function readModes(
  requests: CallRequests,
  repository: RepositoryName,
  base: string,
  files: readonly { readonly path: string }[],
): Promise<ReadonlyMap<string, string>> {
  const fullTree = await readTree(requests, repository, base, 'true');
  if (fullTree.truncated !== true) return new Map(fullTree.tree.map(({ path, mode }) => [path, mode]));
  return await readModesByFolder(requests, repository, base, files);
}

/** Returns the path's parent folders, outermost first. */
export function parentFolders(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

async function readModesByFolder(
  requests: CallRequests,
  repository: RepositoryName,
  base: string,
  files: readonly { readonly path: string }[],
): Promise<ReadonlyMap<string, string>> {
  const modes = new Map<string, string>();
  const shas = new Map([['', base]]);
  // Outer folders come first, because their entries contain the SHA of inner folders.
  for (const folder of new Set(['', ...files.flatMap(({ path }) => parentFolders(path))])) {
    const sha = shas.get(folder);
    if (sha === undefined) continue;
    for (const entry of (await readTree(requests, repository, sha, undefined)).tree) {
      const path = folder === '' ? entry.path : `${folder}/${entry.path}`;
      modes.set(path, entry.mode);
      if (entry.mode === FOLDER) shas.set(path, entry.sha);
    }
  }
  return modes;
}

async function readTree(
  requests: CallRequests,
  { owner, repo }: RepositoryName,
  tree_sha: string,
  recursive: 'true' | undefined,
) {
  const { data } = await requests.request(
    'GET /repos/{owner}/{repo}/git/trees/{tree_sha}',
    { owner, repo, tree_sha, recursive },
    treeResponse,
  );
  return data;
}
