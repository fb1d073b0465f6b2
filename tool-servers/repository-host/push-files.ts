// Many files as one commit, through the host's Git data: a tree on top of the branch's newest one, a commit of it, and the
// branch moved to that commit, which the host refuses if it has moved meanwhile.
//
//   head ──► base tree ──► new tree ──► commit ──► branch moved (never forced)
//
// 1. Either the whole commit is on the branch, or nothing is. 2. A file that can be executed stays so.
// 3. A folder or link is never replaced by a file, nor a file by a folder.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import type { Asking } from './asking.ts';
import { FOLDER, foldersAbove, modesIn } from './base-tree.ts';
import { headOf } from './branch-head.ts';
import { HostRefusal } from './host-fault.ts';
import { protectedBranch } from './protected-branch.ts';

export const MAX_PUSH_FILES = 300;
export const MAX_PUSH_BYTES = 8 * 1024 * 1024;

export interface Push {
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
  readonly message: string;
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

const readSha = z.object({ sha: z.string() });

/**
 * Makes the commit.
 * @throws ToolError when the files do not fit together or to what is there, or when the branch has moved
 */
export async function pushFiles(asking: Asking, push: Push) {
  const { owner, repo, branch, message, files } = push;
  checkFiles(files);
  const head = await headOf(asking, push);
  const { data: commitBefore } = await asking.ask(
    'GET /repos/{owner}/{repo}/git/commits/{commit_sha}',
    { owner, repo, commit_sha: head },
    z.object({ tree: readSha }),
  );
  const base = commitBefore.tree.sha;
  const modes = await modesIn(asking, push, base, files);
  const { data: tree } = await asking.ask(
    'POST /repos/{owner}/{repo}/git/trees',
    {
      owner,
      repo,
      base_tree: base,
      tree: files.map(({ path, content }) => ({ path, content, type: 'blob', mode: modeFor(path, modes) })),
    },
    readSha,
  );
  if (tree.sha === base)
    return {
      branch,
      files: files.length,
      notice: 'Every file was already as given: there was nothing to commit.',
    };
  const { data: commit } = await asking.ask(
    'POST /repos/{owner}/{repo}/git/commits',
    { owner, repo, message, tree: tree.sha, parents: [head] },
    z.object({ sha: z.string(), message: z.string(), html_url: z.string().optional() }),
  );
  await moveBranch(asking, push, commit.sha);
  return {
    branch,
    files: files.length,
    commit: { sha: commit.sha, message: commit.message, url: commit.html_url },
  };
}

/** What can be said without asking the host. */
function checkFiles(files: Push['files']): void {
  const paths = new Set<string>();
  let bytes = 0;
  for (const { path, content } of files) {
    if (paths.has(path)) throw new ToolError(`${path} is given twice. Give every file once.`);
    paths.add(path);
    bytes += Buffer.byteLength(content);
  }
  for (const path of paths)
    for (const folder of foldersAbove(path))
      if (paths.has(folder))
        throw new ToolError(`${folder} cannot be a file and the folder of ${path}. Change one of the paths.`);
  if (bytes > MAX_PUSH_BYTES)
    throw new ToolError(
      `The files have ${bytes} bytes together; ${MAX_PUSH_BYTES} go into one call. Push them in several commits.`,
    );
}

const FILE = '100644';
const EXECUTABLE = '100755';
/** What would be lost under a file of the same path. */
const REPLACED: Readonly<Record<string, string>> = {
  [FOLDER]: 'folder',
  '160000': 'submodule',
  '120000': 'symbolic link',
};

type BlobMode = typeof FILE | typeof EXECUTABLE;

function modeFor(path: string, modes: ReadonlyMap<string, string>): BlobMode {
  const mode = modes.get(path);
  const replaced = mode === undefined ? undefined : REPLACED[mode];
  if (replaced !== undefined)
    throw new ToolError(
      `Nothing was written: ${path} is a ${replaced}, and a file in its place would remove it. Choose another path.`,
    );
  for (const folder of foldersAbove(path)) {
    const above = modes.get(folder);
    if (above !== undefined && above !== FOLDER)
      throw new ToolError(
        `Nothing was written: ${folder} is no folder, so ${path} cannot be in it. Choose another path.`,
      );
  }
  return mode === EXECUTABLE ? EXECUTABLE : FILE;
}

const RACE = /fast.?forward|does not exist|is at .* but expected/i;

async function moveBranch(asking: Asking, { owner, repo, branch }: Push, sha: string): Promise<void> {
  try {
    await asking.ask(
      'PATCH /repos/{owner}/{repo}/git/refs/{ref}',
      { owner, repo, ref: `heads/${branch}`, sha, force: false },
      z.unknown(),
    );
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    const protection = protectedBranch(error);
    if (protection !== undefined) throw protection;
    if (error.status === 409 || (error.status === 422 && RACE.test(error.reason)))
      throw new ToolError(
        `Nothing was written: the branch ${branch} was moved at the same time (${error.reason}). Read the files again, in case they were changed, and call again.`,
      );
    throw error;
  }
}
