// Reads the newest commit of the given branch. Its errors explain missing branches and empty repositories.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import type { CallRequests } from './call-requests.ts';
import { HostRefusal } from './host-error.ts';

interface BranchName {
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
}

const refResponse = z.object({ ref: z.string(), object: z.object({ sha: z.string() }) });

/**
 * Returns the SHA of the branch's newest commit.
 * @throws ToolError if the branch does not exist or the repository is empty
 */
export async function readHead(requests: CallRequests, { owner, repo, branch }: BranchName): Promise<string> {
  try {
    const { data } = await requests.request(
      'GET /repos/{owner}/{repo}/git/ref/{ref}',
      { owner, repo, ref: `heads/${branch}` },
      refResponse,
    );
    return data.object.sha;
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 409)
      throw new ToolError(
        `${owner}/${repo} is empty: it has no commit to start from. Create the first file with create_or_update_file, then retry.`,
      );
    if (error.status === 404)
      throw new ToolError(
        `The branch ${branch} does not exist in ${owner}/${repo}, or this server has no access to the repository. Check the names; use create_branch for a new branch.`,
      );
    throw error;
  }
}
