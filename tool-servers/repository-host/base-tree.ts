// What stands at some paths of a tree before a commit changes it. One question for most repositories; where the tree is so
// large that the host tells only a part of it, the folders on the way are read one by one.

import { z } from 'zod';
import type { Asking } from './asking.ts';
import { readList } from './shapes/reading.ts';

/** The mode of a folder, as git writes it. */
export const FOLDER = '040000';

interface TreePlace {
  readonly owner: string;
  readonly repo: string;
}

/** The host tells 100,000 at most, and says that they are a part. */
const MAX_ENTRIES = 200_000;

const readTree = z.object({
  truncated: z.boolean().nullish(),
  tree: readList(z.object({ path: z.string(), mode: z.string(), sha: z.string() }), MAX_ENTRIES),
});

/** Modes by path: of `files` and of the folders above them, as far as they exist in the tree `base`. */
export async function modesIn(
  asking: Asking,
  place: TreePlace,
  base: string,
  files: readonly { readonly path: string }[],
): Promise<ReadonlyMap<string, string>> {
  const whole = await entriesOf(asking, place, base, 'true');
  if (whole.truncated !== true) return new Map(whole.tree.map(({ path, mode }) => [path, mode]));
  return await walkedModes(asking, place, base, files);
}

/** The folders above a path, the outermost first. */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

async function walkedModes(
  asking: Asking,
  place: TreePlace,
  base: string,
  files: readonly { readonly path: string }[],
): Promise<ReadonlyMap<string, string>> {
  const modes = new Map<string, string>();
  const shas = new Map([['', base]]);
  // Outer folders come before those in them, so that the SHA of each is known by then.
  for (const folder of new Set(['', ...files.flatMap(({ path }) => foldersAbove(path))])) {
    const sha = shas.get(folder);
    if (sha === undefined) continue;
    for (const entry of (await entriesOf(asking, place, sha, undefined)).tree) {
      const path = folder === '' ? entry.path : `${folder}/${entry.path}`;
      modes.set(path, entry.mode);
      if (entry.mode === FOLDER) shas.set(path, entry.sha);
    }
  }
  return modes;
}

async function entriesOf(
  asking: Asking,
  { owner, repo }: TreePlace,
  tree_sha: string,
  recursive: 'true' | undefined,
) {
  const { data } = await asking.ask(
    'GET /repos/{owner}/{repo}/git/trees/{tree_sha}',
    { owner, repo, tree_sha, recursive },
    readTree,
  );
  return data;
}
