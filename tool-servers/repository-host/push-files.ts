// Commits several files together through the Git data API: creates a tree based on the newest commit, creates
// a commit, and moves the branch. The host refuses to move a branch that changed meanwhile.
//
//   head ──► base tree ──► new tree ──► commit ──► branch moved (never forced)
//
// 1. The commit is atomic: the branch never contains only some of the files.
// 2. Executable files stay executable.
// 3. Files never replace folders or links, and folders never replace files.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import { FOLDER, parentFolders, readModes } from './base-tree.ts';
import { readHead } from './branch-head.ts';
import type { CallRequests } from './call-requests.ts';
import { HostRefusal } from './host-error.ts';
import { protectedBranchError } from './protected-branch.ts';

export const MAX_PUSH_FILES = 300;
export const MAX_PUSH_BYTES = 8 * 1024 * 1024;

export interface Push {
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
  readonly message: string;
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

const shaResponse = z.object({ sha: z.string() });

/**
 * Creates the commit.
 * @throws ToolError if the files conflict with each other or with existing ones, or if the branch has moved
 */
export async function pushFiles(requests: CallRequests, push: Push) {
  const { owner, repo, branch, message, files } = push;
  assertConsistent(files);
  const head = await readHead(requests, push);
  const { data: commitBefore } = await requests.request(
    'GET /repos/{owner}/{repo}/git/commits/{commit_sha}',
    { owner, repo, commit_sha: head },
    z.object({ tree: shaResponse }),
  );
  const base = commitBefore.tree.sha;
  const modes = await readModes(requests, push, base, files);
  const { data: tree } = await requests.request(
    'POST /repos/{owner}/{repo}/git/trees',
    {
      owner,
      repo,
      base_tree: base,
      tree: files.map(({ path, content }) => ({ path, content, type: 'blob', mode: modeFor(path, modes) })),
    },
    shaResponse,
  );
  if (tree.sha === base)
    return {
      branch,
      files: files.length,
      notice: 'No file differs from the branch: there was nothing to commit.',
    };
  const { data: commit } = await requests.request(
    'POST /repos/{owner}/{repo}/git/commits',
    { owner, repo, message, tree: tree.sha, parents: [head] },
    z.object({ sha: z.string(), message: z.string(), html_url: z.string().optional() }),
  );
  await moveBranch(requests, push, commit.sha);
  return {
    branch,
    files: files.length,
    commit: { sha: commit.sha, message: commit.message, url: commit.html_url },
  };
}

/** Validates the files before the first request. */
function assertConsistent(files: Push['files']): void {
  const paths = new Set<string>();
  let bytes = 0;
  for (const { path, content } of files) {
    if (paths.has(path)) throw new ToolError(`${path} occurs twice. Pass each file once.`);
    paths.add(path);
    bytes += Buffer.byteLength(content);
  }
  for (const path of paths)
    for (const folder of parentFolders(path))
      if (paths.has(folder))
        throw new ToolError(`${folder} cannot be a file and the folder of ${path}. Change one of the paths.`);
  if (bytes > MAX_PUSH_BYTES)
    throw new ToolError(
      `The files have ${bytes} bytes in total; the limit of a call is ${MAX_PUSH_BYTES}. Push them in several commits.`,
    );
}

const FILE = '100644';
const EXECUTABLE = '100755';
/** Modes of entries that files must not replace. */
const UNREPLACEABLE: Readonly<Record<string, string>> = {
  [FOLDER]: 'folder',
  '160000': 'submodule',
  '120000': 'symbolic link',
};

type BlobMode = typeof FILE | typeof EXECUTABLE;

function modeFor(path: string, modes: ReadonlyMap<string, string>): BlobMode {
  const mode = modes.get(path);
  const kind = mode === undefined ? undefined : UNREPLACEABLE[mode];
  if (kind !== undefined)
    throw new ToolError(
      `Nothing was written: ${path} is a ${kind}, which a file would replace. Choose another path.`,
    );
  for (const folder of parentFolders(path)) {
    const parentMode = modes.get(folder);
    if (parentMode !== undefined && parentMode !== FOLDER)
      throw new ToolError(
        `Nothing was written: ${folder} is not a folder, so ${path} cannot be in it. Choose another path.`,
      );
  }
  return mode === EXECUTABLE ? EXECUTABLE : FILE;
}

/** Refusals after a concurrent change of the branch. */
const RACE = /fast.?forward|does not exist|is at .* but expected/i;

async function moveBranch(requests: CallRequests, { owner, repo, branch }: Push, sha: string): Promise<void> {
  try {
    await requests.request(
      'PATCH /repos/{owner}/{repo}/git/refs/{ref}',
      { owner, repo, ref: `heads/${branch}`, sha, force: false },
      z.unknown(),
    );
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    const protection = protectedBranchError(error);
    if (protection !== undefined) throw protection;
    if (error.status === 409 || (error.status === 422 && RACE.test(error.reason)))
      throw new ToolError(
        `Nothing was written: the branch ${branch} was moved concurrently (${error.reason}). Read the files again, in case they have changed, then retry.`,
      );
    throw error;
  }
}
