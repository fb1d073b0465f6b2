// One file as a commit of its own. The host refuses to replace a file unless it is told which version is replaced; that
// refusal is turned into what the caller needs next, the version that is there now.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import type { Asking } from './asking.ts';
import { HostRefusal } from './host-fault.ts';
import { protectedBranch } from './protected-branch.ts';
import { readList, readText } from './shapes/reading.ts';

/** Far below a message's largest size, with every character escaped. */
export const MAX_WRITE_CHARS = 4 * 1024 * 1024;

interface FileWrite {
  readonly owner: string;
  readonly repo: string;
  readonly path: string;
  readonly content: string;
  readonly message: string;
  readonly branch: string;
  readonly sha?: string | undefined;
}

/** The published description leaves nearly all of it open. */
const readWritten = z.object({
  content: z.object({ path: readText, sha: readText }).nullish(),
  commit: z.object({ sha: readText, message: readText, html_url: readText }),
});

/**
 * Writes the file.
 * @throws ToolError when the file is not the one the caller knows; nothing was written then
 */
export async function writeFile(asking: Asking, write: FileWrite) {
  const { owner, repo, path, content, message, branch, sha } = write;
  try {
    const { data } = await asking.ask(
      'PUT /repos/{owner}/{repo}/contents/{path}',
      { owner, repo, path, message, branch, sha, content: Buffer.from(content).toString('base64') },
      readWritten,
    );
    const { sha: commitSha, message: committed, html_url: url } = data.commit;
    return {
      path: data.content?.path ?? path,
      sha: data.content?.sha,
      branch,
      commit: { sha: commitSha, message: committed ?? message, url },
    };
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    const protection = protectedBranch(error);
    if (protection !== undefined) throw protection;
    const isAboutSha = error.status === 409 || (error.status === 422 && /\bsha\b/i.test(error.reason));
    if (isAboutSha) throw await staleSha(asking, write, error);
    if (error.status === 404)
      throw new ToolError(
        `${error.message} Check the branch "${branch}" too: create_branch makes a new one. The token needs the right to write.`,
      );
    throw error;
  }
}

async function staleSha(asking: Asking, write: FileWrite, refusal: HostRefusal): Promise<ToolError> {
  const { path, branch, sha } = write;
  let current: string | undefined;
  try {
    current = await currentSha(asking, write);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return new ToolError(
      `Nothing was written: ${refusal.message} What is at ${path} on ${branch} now could not be read: ${error.message}`,
    );
  }
  if (current === undefined)
    return new ToolError(
      sha === undefined
        ? `Nothing was written: ${refusal.message}`
        : `Nothing was written: there is no file ${path} on ${branch} that could be replaced (${refusal.reason}). To create it, call again without sha.`,
    );
  const read =
    'Read it with get_file_contents, put your change into what is there now, and call again with that sha.';
  if (sha === undefined)
    return new ToolError(
      `Nothing was written: ${path} exists already on ${branch}, with the sha ${current}. ${read}`,
    );
  // The file is the one the caller knows: something else moved the branch at the same time.
  if (sha === current)
    return new ToolError(
      `Nothing was written: the branch ${branch} was changed at the same time (${refusal.reason}). ${path} itself is as you know it: call again.`,
    );
  return new ToolError(
    `Nothing was written: ${path} on ${branch} was changed since you read it; its sha is ${current} now, not ${sha}. ${read}`,
  );
}

/** The version that is there now; undefined where there is no file. */
async function currentSha(
  asking: Asking,
  { owner, repo, path, branch }: FileWrite,
): Promise<string | undefined> {
  try {
    const { data } = await asking.ask(
      'GET /repos/{owner}/{repo}/contents/{path}',
      { owner, repo, path, ref: branch },
      z.union([z.object({ sha: z.string() }), readList(z.unknown())]),
    );
    return Array.isArray(data) ? undefined : data.sha;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 404) return undefined;
    throw error;
  }
}
