// First view of the page: problems, servers, connected clients, triggers and newest runs, each with a link.

import { fetchDeliveries, fetchPendingApprovals, fetchRuns } from '../feed/api.ts';
import { type Go, type PollResult, usePolled } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { count } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { allRuns } from '../runs/list.tsx';
import { ClientLines } from './clients.tsx';
import { LimitLines } from './limits.tsx';
import { RunLines, ServerLines, TriggerLines } from './lists.tsx';
import { findProblems, MAX_PROBLEMS, type PolledRecords, type ProblemGroup } from './problems.ts';

const REFRESH_MS = 1_500;
const NEWEST_RUNS = 10;

interface OverviewPaneProps {
  readonly state: PageState;
  readonly go: Go;
}

export function OverviewPane({ state, go }: OverviewPaneProps) {
  const hasAutomation = state.totals?.automation != null;
  const records = usePolled(
    hasAutomation ? 'overview' : '',
    () => (hasAutomation ? fetchRecords() : Promise.resolve(undefined)),
    REFRESH_MS,
  );
  const isLoaded = state.totals !== null && (!hasAutomation || records.value !== undefined);
  return (
    <section class="pane middle overview" aria-labelledby="overview">
      <div class="bar">
        <h1 id="overview">Overview</h1>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
      <div class="scroll" tabIndex={0}>
        <Problems groups={findProblems(state, records.value)} records={records} isLoaded={isLoaded} go={go} />
        <ServerLines state={state} go={go} />
        <ClientLines go={go} />
        <TriggerLines state={state} go={go} />
        {hasAutomation && <LimitLines state={state} />}
        <RunLines state={state} runList={records.value?.runs} go={go} />
      </div>
    </section>
  );
}

async function fetchRecords(): Promise<PolledRecords> {
  const [runs, failed, approvals, dead] = await Promise.all([
    fetchRuns({ ...allRuns, limit: NEWEST_RUNS }),
    fetchRuns({ ...allRuns, state: 'failed', limit: MAX_PROBLEMS }),
    fetchPendingApprovals({ limit: MAX_PROBLEMS }),
    fetchDeliveries({ state: 'dead', limit: `${MAX_PROBLEMS}` }),
  ]);
  return { runs, failed, approvals, dead };
}

interface ProblemsProps {
  readonly groups: readonly ProblemGroup[];
  readonly records: PollResult<PolledRecords | undefined>;
  /** True when the first responses have arrived. */
  readonly isLoaded: boolean;
  readonly go: Go;
}

function Problems({ groups, records, isLoaded, go }: ProblemsProps) {
  return (
    <section aria-labelledby="wrong">
      <h2 id="wrong">Problems</h2>
      {records.problem !== undefined && <p class="empty note">{records.problem}</p>}
      {groups.length === 0 && records.problem === undefined && (
        <p class="empty">
          {isLoaded
            ? 'No problems: no alarms, no pending approvals, no failed servers, triggers or runs, no dead deliveries.'
            : 'Loading …'}
        </p>
      )}
      {groups.length > 0 && (
        <ul class="records" aria-labelledby="wrong">
          {groups.map((group) => (
            <Group key={group.singular} group={group} go={go} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Group({ group, go }: { readonly group: ProblemGroup; readonly go: Go }) {
  const { singular, plural, problems, more, all } = group;
  return (
    <>
      {problems.map(({ key, name, state, reason, to }) => (
        <li key={key} data-wrong={key}>
          <span class="aside">{singular}</span>{' '}
          <Link to={to} go={go}>
            <bdi>{name}</bdi>
          </Link>{' '}
          <Pill state={state} />
          <div>
            <bdi>{reason}</bdi>
          </div>
        </li>
      ))}
      {more > 0 && (
        <li data-more={singular}>
          <Link to={all} go={go}>
            {`and ${Number.isFinite(more) ? `${count(more)} ` : 'possibly '}more`}
          </Link>{' '}
          <span class="aside">{more === 1 ? singular : plural}</span>
        </li>
      )}
    </>
  );
}
