// What the checks say about a pull request. The host has two kinds, and a repository may use both: statuses set from
// outside, and check runs. Looking at one alone would call a pull request fine that is not.

import { z } from 'zod';
import type { Asking } from './asking.ts';
import { HostRefusal } from './host-fault.ts';
import { excerpt, readText } from './shapes/reading.ts';

const MAX_LISTED = 100;
const MAX_TEXT_CHARS = 300;

const checkShape = z.object({
  name: z.string(),
  state: z.string().describe('success, failure, pending, or what else the host says.'),
  description: z.string().optional(),
  url: z.string().optional(),
});

export const statusShape = z.object({
  sha: z.string().describe('The commit that was checked.'),
  state: z
    .enum(['success', 'failure', 'pending', 'none'])
    .describe('All together; none where nothing checks.'),
  total_count: z.number(),
  checks: z.array(checkShape).describe(`At most ${MAX_LISTED} of each kind.`),
  notice: z.string().optional().describe('What to know about this answer.'),
});

type Check = z.input<typeof checkShape>;

const readStatuses = z.object({
  total_count: z.number(),
  statuses: z.array(
    z
      .object({ context: z.string(), state: z.string(), description: readText, target_url: readText })
      .transform(
        ({ context, state, description, target_url }): Check => ({
          name: context,
          state,
          description: excerpt(description, MAX_TEXT_CHARS),
          url: target_url,
        }),
      ),
  ),
});

const readRuns = z.object({
  total_count: z.number(),
  check_runs: z.array(
    z.object({ name: z.string(), status: z.string(), conclusion: readText, html_url: readText }).transform(
      ({ name, status, conclusion, html_url }): Check => ({
        name,
        state: status === 'completed' ? (conclusion ?? 'success') : 'pending',
        url: html_url,
      }),
    ),
  ),
});

/** The checks of the newest commit of a pull request. */
export async function pullRequestStatus(
  asking: Asking,
  input: { readonly owner: string; readonly repo: string; readonly pull_number: number },
): Promise<z.input<typeof statusShape>> {
  const { owner, repo } = input;
  const { data: pull } = await asking.ask(
    'GET /repos/{owner}/{repo}/pulls/{pull_number}',
    input,
    z.object({ head: z.object({ sha: z.string() }) }),
  );
  const { sha } = pull.head;
  const place = { owner, repo, ref: sha, per_page: MAX_LISTED };
  const { data: statuses } = await asking.ask(
    'GET /repos/{owner}/{repo}/commits/{ref}/status',
    place,
    readStatuses,
  );
  const runs = await checkRuns(asking, place);
  const checks = [...statuses.statuses, ...runs.check_runs];
  return {
    sha,
    state: together(checks),
    total_count: statuses.total_count + runs.total_count,
    checks,
    notice: runs.notice,
  };
}

async function checkRuns(
  asking: Asking,
  place: { owner: string; repo: string; ref: string; per_page: number },
): Promise<z.output<typeof readRuns> & { notice?: string }> {
  try {
    const { data } = await asking.ask('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', place, readRuns);
    return data;
  } catch (error) {
    // Hosts without check runs, and tokens that may not see them.
    if (!(error instanceof HostRefusal) || (error.status !== 403 && error.status !== 404)) throw error;
    const notice = `Check runs could not be read (the host answered ${error.status}), so only statuses are here.`;
    return { total_count: 0, check_runs: [], notice };
  }
}

const GOOD = ['success', 'neutral', 'skipped'];

function together(checks: readonly Check[]): z.input<typeof statusShape>['state'] {
  if (checks.length === 0) return 'none';
  if (checks.some(({ state }) => state !== 'pending' && !GOOD.includes(state))) return 'failure';
  return checks.some(({ state }) => state === 'pending') ? 'pending' : 'success';
}
