// Check results for pull requests. The host has two kinds, commit statuses and check runs. A repository may
// use both.
//
// 1. Any failed check means failure.
// 2. The states `success` and `none` require that all checks were read.

import { z } from 'zod';
import type { CallRequests } from './call-requests.ts';
import { HostRefusal } from './host-error.ts';
import { nextPageOf } from './next-page.ts';
import { excerpt, listOf, optionalText } from './shapes/fields.ts';

const PER_PAGE = 100;
/** Maximum pages of check runs; the host stores 1,000 per commit. */
const MAX_PAGES = 10;
const MAX_LISTED = 100;
const MAX_TEXT_CHARS = 300;

const checkShape = z.object({
  name: z.string(),
  state: z.string().describe('success, failure, pending, unknown, or another state of the host.'),
  description: z.string().optional(),
  url: z.string().optional(),
});

export const statusShape = z.object({
  sha: z.string().describe('SHA of the checked commit.'),
  state: z
    .enum(['success', 'failure', 'pending', 'unknown', 'none'])
    .describe('Combined state; unknown if not all checks could be read, none without checks.'),
  total_count: z.number(),
  checks: z.array(checkShape).describe(`Up to ${MAX_LISTED} of each kind, unsuccessful ones first.`),
  notice: z.string().optional().describe('Note about the result.'),
});

type Check = z.input<typeof checkShape>;

/** Either the commit statuses or the check runs. */
interface CheckList {
  readonly total: number;
  /** Checks that were read. */
  readonly checks: readonly Check[];
  /** Combined state, if the host reports one. */
  readonly combined: string | undefined;
  readonly notice?: string;
}

const statusesResponse = z.object({
  state: optionalText,
  total_count: z.number(),
  statuses: listOf(
    z
      .object({ context: z.string(), state: z.string(), description: optionalText, target_url: optionalText })
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

const checkRunsResponse = z.object({
  total_count: z.number(),
  check_runs: listOf(
    z
      .object({ name: z.string(), status: z.string(), conclusion: optionalText, html_url: optionalText })
      .transform(
        ({ name, status, conclusion, html_url }): Check => ({
          name,
          state: status === 'completed' ? (conclusion ?? 'unknown') : 'pending',
          url: html_url,
        }),
      ),
  ),
});

interface CommitName {
  readonly owner: string;
  readonly repo: string;
  readonly ref: string;
}

/** Reads the checks for the newest commit in the pull request. */
export async function readPullRequestStatus(
  requests: CallRequests,
  input: { readonly owner: string; readonly repo: string; readonly pull_number: number },
): Promise<z.input<typeof statusShape>> {
  const { owner, repo } = input;
  const { data: pull } = await requests.request(
    'GET /repos/{owner}/{repo}/pulls/{pull_number}',
    input,
    z.object({ head: z.object({ sha: z.string() }) }),
  );
  const { sha } = pull.head;
  const commit = { owner, repo, ref: sha };
  const lists = [await readStatuses(requests, commit), await readCheckRuns(requests, commit)];
  return {
    sha,
    state: combinedState(lists),
    total_count: lists.reduce((sum, { total }) => sum + total, 0),
    checks: lists.flatMap(({ checks }) => unsuccessfulFirst(checks).slice(0, MAX_LISTED)),
    notice: noticeOf(lists),
  };
}

async function readStatuses(requests: CallRequests, commit: CommitName): Promise<CheckList> {
  const { data } = await requests.request(
    'GET /repos/{owner}/{repo}/commits/{ref}/status',
    { ...commit, per_page: PER_PAGE },
    statusesResponse,
  );
  // Without statuses the host reports pending.
  const combined = data.total_count > 0 ? data.state : undefined;
  return { total: data.total_count, checks: data.statuses, combined };
}

async function readCheckRuns(requests: CallRequests, commit: CommitName): Promise<CheckList> {
  const checks: Check[] = [];
  let total = 0;
  try {
    for (let page: number | undefined = 1; page !== undefined && page <= MAX_PAGES; ) {
      const { data, link } = await requests.request(
        'GET /repos/{owner}/{repo}/commits/{ref}/check-runs',
        { ...commit, per_page: PER_PAGE, page },
        checkRunsResponse,
      );
      checks.push(...data.check_runs);
      total = data.total_count;
      page = nextPageOf(link, page);
    }
    return { total, checks, combined: undefined };
  } catch (error) {
    // The host does not support check runs, or the token cannot read them.
    if (!(error instanceof HostRefusal) || (error.status !== 403 && error.status !== 404)) throw error;
    const notice = `Check runs could not be read (status ${error.status}); only commit statuses are included.`;
    return { total, checks, combined: undefined, notice };
  }
}

const SUCCESSFUL_STATES = ['success', 'neutral', 'skipped'];
const PENDING_STATES = ['pending', 'unknown'];

function unsuccessfulFirst(checks: readonly Check[]): readonly Check[] {
  const isGood = ({ state }: Check) => SUCCESSFUL_STATES.includes(state);
  return [...checks.filter((check) => !isGood(check)), ...checks.filter(isGood)];
}

function isComplete({ total, checks, combined, notice }: CheckList): boolean {
  return notice === undefined && (combined !== undefined || checks.length >= total);
}

function combinedState(lists: readonly CheckList[]): z.input<typeof statusShape>['state'] {
  const states = lists.flatMap(({ checks, combined }) => [
    ...checks.map(({ state }) => state),
    ...(combined === undefined ? [] : [combined]),
  ]);
  if (states.some((state) => !PENDING_STATES.includes(state) && !SUCCESSFUL_STATES.includes(state)))
    return 'failure';
  if (states.includes('unknown') || !lists.every(isComplete)) return 'unknown';
  if (states.includes('pending')) return 'pending';
  return states.length === 0 ? 'none' : 'success';
}

function noticeOf(lists: readonly CheckList[]): string | undefined {
  const notices = lists.flatMap(({ notice, total, checks }) => {
    if (notice !== undefined) return [notice];
    if (checks.length < total)
      return [`${total - checks.length} of ${total} checks of one kind were not read.`];
    return checks.length > MAX_LISTED ? [`${MAX_LISTED} of ${total} checks of one kind are listed.`] : [];
  });
  if (lists.some(({ checks }) => checks.some(({ state }) => state === 'unknown')))
    notices.push('Some checks have no conclusion.');
  return notices.length === 0 ? undefined : notices.join(' ');
}
