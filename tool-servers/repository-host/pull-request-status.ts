// What the checks say about a pull request. The host has two kinds, and a repository may use both: statuses set from
// outside, and check runs. Looking at one alone would call a pull request fine that is not.
//
// 1. A failure that was seen is a failure. 2. Nothing is called good, or unchecked, unless everything was read.

import { z } from 'zod';
import type { Asking } from './asking.ts';
import { HostRefusal } from './host-fault.ts';
import { nextPageOf } from './next-page.ts';
import { excerpt, readList, readText } from './shapes/reading.ts';

const PER_PAGE = 100;
/** Of check runs; the host keeps 1,000 of a commit. */
const MAX_PAGES = 10;
const MAX_LISTED = 100;
const MAX_TEXT_CHARS = 300;

const checkShape = z.object({
  name: z.string(),
  state: z.string().describe('success, failure, pending, unknown, or what else the host says.'),
  description: z.string().optional(),
  url: z.string().optional(),
});

export const statusShape = z.object({
  sha: z.string().describe('The commit that was checked.'),
  state: z
    .enum(['success', 'failure', 'pending', 'unknown', 'none'])
    .describe('All together; unknown where not everything could be read, none where nothing checks.'),
  total_count: z.number(),
  checks: z.array(checkShape).describe(`At most ${MAX_LISTED} of each kind, those that are not good first.`),
  notice: z.string().optional().describe('What to know about this answer.'),
});

type Check = z.input<typeof checkShape>;

/** All checks of one kind. */
interface Reading {
  readonly total: number;
  /** Those that were read. */
  readonly checks: readonly Check[];
  /** What the host says of all of them together. */
  readonly combined: string | undefined;
  readonly notice?: string;
}

const readStatuses = z.object({
  state: readText,
  total_count: z.number(),
  statuses: readList(
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
  check_runs: readList(
    z.object({ name: z.string(), status: z.string(), conclusion: readText, html_url: readText }).transform(
      ({ name, status, conclusion, html_url }): Check => ({
        name,
        state: status === 'completed' ? (conclusion ?? 'unknown') : 'pending',
        url: html_url,
      }),
    ),
  ),
});

interface CommitPlace {
  readonly owner: string;
  readonly repo: string;
  readonly ref: string;
}

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
  const place = { owner, repo, ref: sha };
  const readings = [await statuses(asking, place), await checkRuns(asking, place)];
  return {
    sha,
    state: together(readings),
    total_count: readings.reduce((sum, { total }) => sum + total, 0),
    checks: readings.flatMap(({ checks }) => badFirst(checks).slice(0, MAX_LISTED)),
    notice: noticeOf(readings),
  };
}

async function statuses(asking: Asking, place: CommitPlace): Promise<Reading> {
  const { data } = await asking.ask(
    'GET /repos/{owner}/{repo}/commits/{ref}/status',
    { ...place, per_page: PER_PAGE },
    readStatuses,
  );
  // Of no statuses the host says that they are pending.
  const combined = data.total_count > 0 ? data.state : undefined;
  return { total: data.total_count, checks: data.statuses, combined };
}

async function checkRuns(asking: Asking, place: CommitPlace): Promise<Reading> {
  const checks: Check[] = [];
  let total = 0;
  try {
    for (let page: number | undefined = 1; page !== undefined && page <= MAX_PAGES; ) {
      const { data, link } = await asking.ask(
        'GET /repos/{owner}/{repo}/commits/{ref}/check-runs',
        { ...place, per_page: PER_PAGE, page },
        readRuns,
      );
      checks.push(...data.check_runs);
      total = data.total_count;
      page = nextPageOf(link, page);
    }
    return { total, checks, combined: undefined };
  } catch (error) {
    // Hosts without check runs, and tokens that may not see them.
    if (!(error instanceof HostRefusal) || (error.status !== 403 && error.status !== 404)) throw error;
    const notice = `Check runs could not be read (the host answered ${error.status}), so only statuses are here.`;
    return { total, checks, combined: undefined, notice };
  }
}

const GOOD = ['success', 'neutral', 'skipped'];
const OPEN = ['pending', 'unknown'];

function badFirst(checks: readonly Check[]): readonly Check[] {
  const isGood = ({ state }: Check) => GOOD.includes(state);
  return [...checks.filter((check) => !isGood(check)), ...checks.filter(isGood)];
}

function isWhole({ total, checks, combined, notice }: Reading): boolean {
  return notice === undefined && (combined !== undefined || checks.length >= total);
}

function together(readings: readonly Reading[]): z.input<typeof statusShape>['state'] {
  const states = readings.flatMap(({ checks, combined }) => [
    ...checks.map(({ state }) => state),
    ...(combined === undefined ? [] : [combined]),
  ]);
  if (states.some((state) => !OPEN.includes(state) && !GOOD.includes(state))) return 'failure';
  if (states.includes('unknown') || !readings.every(isWhole)) return 'unknown';
  if (states.includes('pending')) return 'pending';
  return states.length === 0 ? 'none' : 'success';
}

function noticeOf(readings: readonly Reading[]): string | undefined {
  const notices = readings.flatMap(({ notice, total, checks }) => {
    if (notice !== undefined) return [notice];
    if (checks.length < total)
      return [`${total - checks.length} of ${total} checks of one kind were not read.`];
    return checks.length > MAX_LISTED ? [`Of ${total} checks of one kind ${MAX_LISTED} are listed.`] : [];
  });
  if (readings.some(({ checks }) => checks.some(({ state }) => state === 'unknown')))
    notices.push('Of some checks the host does not say how they ended.');
  return notices.length === 0 ? undefined : notices.join(' ');
}
