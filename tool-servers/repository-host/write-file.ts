// One file as a commit of its own. The host refuses to replace a file unless it is told which version is replaced; that
// refusal is turned into what the caller needs next, the version that is there now.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import type { Asking } from './asking.ts';
import { HostRefusal } from './host-fault.ts';

/** Far below a message's largest size, with every character escaped. */
export const MAX_WRITE_CHARS = 4 * 1024 * 1024;

export interface FileWrite {
  readonly owner: string;
  readonly repo: string;
  readonly path: string;
  readonly content: string;
  readonly message: string;
  readonly branch: string;
  readonly sha?: string | undefined;
}

const readWritten = z.object({
  content: z.object({ path: z.string(), sha: z.string() }),
  commit: z.object({ sha: z.string(), message: z.string(), html_url: z.string().optional() }),
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
      path: data.content.path,
      sha: data.content.sha,
      branch,
      commit: { sha: commitSha, message: committed, url },
    };
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
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
  const current = await currentSha(asking, write);
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

/** The version that is there now; undefined where there is none, or it cannot be learnt. */
async function currentSha(
  asking: Asking,
  { owner, repo, path, branch }: FileWrite,
): Promise<string | undefined> {
  try {
    const { data } = await asking.ask(
      'GET /repos/{owner}/{repo}/contents/{path}',
      { owner, repo, path, ref: branch },
      z.object({ sha: z.string() }),
    );
    return data.sha;
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}
