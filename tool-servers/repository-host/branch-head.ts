// The newest commit of a branch, and what it means when there is none.

import { z } from 'zod';
import { ToolError } from '../tool-error.ts';
import type { Asking } from './asking.ts';
import { HostRefusal } from './host-fault.ts';

interface BranchPlace {
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
}

const readRef = z.object({ ref: z.string(), object: z.object({ sha: z.string() }) });

/**
 * The SHA of the newest commit of a branch.
 * @throws ToolError when there is no such branch, or no commit at all
 */
export async function headOf(asking: Asking, { owner, repo, branch }: BranchPlace): Promise<string> {
  try {
    const { data } = await asking.ask(
      'GET /repos/{owner}/{repo}/git/ref/{ref}',
      { owner, repo, ref: `heads/${branch}` },
      readRef,
    );
    return data.object.sha;
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 409)
      throw new ToolError(
        `${owner}/${repo} is empty: it has no commit to start from. Give it its first file with create_or_update_file, then call again.`,
      );
    if (error.status === 404)
      throw new ToolError(
        `There is no branch ${branch} in ${owner}/${repo}, or this server may not see the repository. Check the names; create_branch makes a new branch.`,
      );
    throw error;
  }
}
