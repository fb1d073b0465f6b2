// Writes a file as a commit. To replace a file, the host requires the SHA of its current version. After such
// a refusal, the error contains that SHA.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import type { CallRequests } from './call-requests.ts';
import { HostRefusal } from './host-error.ts';
import { protectedBranchError } from './protected-branch.ts';
import { listOf, optionalText } from './shapes/fields.ts';

/** Fits into the maximum message size, even if all characters are escaped. */
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

/** Nearly all fields are optional in the published API description. */
const writeResponse = z.object({
  content: z.object({ path: optionalText, sha: optionalText }).nullish(),
  commit: z.object({ sha: optionalText, message: optionalText, html_url: optionalText }),
});

/**
 * Writes the file.
 * @throws ToolError without writing, if `sha` is not the current version
 */
export async function writeFile(requests: CallRequests, write: FileWrite) {
  const { owner, repo, path, content, message, branch, sha } = write;
  try {
    const { data } = await requests.request(
      'PUT /repos/{owner}/{repo}/contents/{path}',
      { owner, repo, path, message, branch, sha, content: Buffer.from(content).toString('base64') },
      writeResponse,
    );
    const { sha: commitSha, message: commitMessage, html_url: url } = data.commit;
    return {
      path: data.content?.path ?? path,
      sha: data.content?.sha,
      branch,
      commit: { sha: commitSha, message: commitMessage ?? message, url },
    };
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    const protection = protectedBranchError(error);
    if (protection !== undefined) throw protection;
    const isAboutSha = error.status === 409 || (error.status === 422 && /\bsha\b/i.test(error.reason));
    if (isAboutSha) throw await toStaleShaError(requests, write, error);
    if (error.status === 404)
      throw new ToolError(
        `${error.message} Check the branch "${branch}" too; use create_branch for a new one. The token needs write permission.`,
      );
    throw error;
  }
}

async function toStaleShaError(
  requests: CallRequests,
  write: FileWrite,
  refusal: HostRefusal,
): Promise<ToolError> {
  const { path, branch, sha } = write;
  let current: string | undefined;
  try {
    current = await readCurrentSha(requests, write);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return new ToolError(
      `Nothing was written: ${refusal.message} The current version of ${path} on ${branch} could not be read: ${error.message}`,
    );
  }
  if (current === undefined)
    return new ToolError(
      sha === undefined
        ? `Nothing was written: ${refusal.message}`
        : `Nothing was written: ${path} does not exist on ${branch} (${refusal.reason}). To create it, call again without sha.`,
    );
  const readAdvice =
    'Read it with get_file_contents, apply your change to the current content, and call again with that sha.';
  if (sha === undefined)
    return new ToolError(
      `Nothing was written: ${path} already exists on ${branch}, with the sha ${current}. ${readAdvice}`,
    );
  // The file has the expected version; another change moved the branch concurrently.
  if (sha === current)
    return new ToolError(
      `Nothing was written: the branch ${branch} was changed concurrently (${refusal.reason}). ${path} itself is unchanged: retry.`,
    );
  return new ToolError(
    `Nothing was written: ${path} on ${branch} has changed since you read it; its sha is now ${current}, not ${sha}. ${readAdvice}`,
  );
}

/** Returns the current SHA; undefined if the file does not exist. */
async function readCurrentSha(
  requests: CallRequests,
  { owner, repo, path, branch }: FileWrite,
): Promise<string | undefined> {
  try {
    const { data } = await requests.request(
      'GET /repos/{owner}/{repo}/contents/{path}',
      { owner, repo, path, ref: branch },
      z.union([z.object({ sha: z.string() }), listOf(z.unknown())]),
    );
    return Array.isArray(data) ? undefined : data.sha;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 404) return undefined;
    throw error;
  }
}
