// Newest runs, filtered by state, agent, fleet or flow; polled every second.

import type { RunRecord } from '../../../http/api/run-shapes.ts';
import { runView } from '../address.ts';
import { fetchRuns, type RunsQuery } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { clock, pluralize, timeSince } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { durationText, runLine, shortWait } from './figures.ts';

const REFRESH_MS = 1_000;
/** Page size; "Load more" adds a page, up to the API's maximum. */
const PAGE = 50;
const MAX_RUNS = 200;
const states = ['queued', 'running', 'waiting', 'done', 'failed', 'cancelled'] as const;

export const allRuns: RunsQuery = { state: '', target: '', limit: PAGE };

/** Names of agents, fleets and flows. */
export type TargetNames = Readonly<Record<'agent' | 'fleet' | 'flow', readonly string[]>>;

interface RunListProps {
  readonly query: RunsQuery;
  readonly names: TargetNames;
  readonly selected: string | undefined;
  readonly now: number;
  readonly go: Go;
  onQuery(query: RunsQuery): void;
}

export function RunList({ query, names, selected, now, go, onQuery }: RunListProps) {
  const { value, problem } = usePolled(JSON.stringify(query), () => fetchRuns(query), REFRESH_MS);
  const hasMore = value !== undefined && value.next_before !== null;
  const isFiltered = query.state !== '' || query.target !== '';
  return (
    <section class="pane" aria-label="Runs">
      <div class="bar">
        <h1>Runs</h1>
        <select
          aria-label="State"
          value={query.state}
          onChange={({ currentTarget }) => onQuery({ ...query, state: currentTarget.value, limit: PAGE })}
        >
          <option value="">all states</option>
          {states.map((state) => (
            <option key={state}>{state}</option>
          ))}
        </select>
        <select
          aria-label="Agent, fleet or flow"
          value={query.target}
          onChange={({ currentTarget }) => onQuery({ ...query, target: currentTarget.value, limit: PAGE })}
        >
          <option value="">all agents, fleets, flows and commands</option>
          {groups.map(([kind, label]) => (
            <Names key={kind} label={label} values={valuesOf(names, kind, query.target)} />
          ))}
        </select>
      </div>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value === undefined && problem === undefined && <p class="empty">Loading …</p>}
      {value?.runs.length === 0 && (isFiltered ? <p class="empty">No runs match the filter.</p> : <NoRuns />)}
      {value !== undefined && value.runs.length > 0 && (
        <ul class="scroll records" aria-label="Newest runs">
          {value.runs.map((run) => (
            <RunLine key={run.id} run={run} now={now} isSelected={run.id === selected} go={go} />
          ))}
          {hasMore && query.limit < MAX_RUNS && (
            <li>
              <button type="button" onClick={() => onQuery({ ...query, limit: query.limit + PAGE })}>
                Load more
              </button>
            </li>
          )}
        </ul>
      )}
      {value !== undefined && (
        <p class="foot">
          {isFiltered ? `${value.runs.length} matching` : pluralize(value.runs.length, 'run')}
          {hasMore &&
            (query.limit < MAX_RUNS ? '; more available' : '; use the command `runs` for older runs')}
        </p>
      )}
    </section>
  );
}

const groups = [
  ['agent', 'Agents'],
  ['fleet', 'Fleets'],
  ['flow', 'Flows'],
] as const;

/** Returns the options of one kind, with the selected target, even if it is no longer loaded. */
function valuesOf(names: TargetNames, kind: keyof TargetNames, target: string): readonly string[] {
  const values = names[kind].map((name) => `${kind} ${name}`);
  return values.includes(target) || !target.startsWith(`${kind} `) ? values : [...values, target];
}

function Names({ label, values }: { readonly label: string; readonly values: readonly string[] }) {
  if (values.length === 0) return null;
  return (
    <optgroup label={label}>
      {values.map((value) => (
        <option key={value} value={value}>
          {value.slice(value.indexOf(' ') + 1)}
        </option>
      ))}
    </optgroup>
  );
}

interface LineProps extends Pick<RunListProps, 'now' | 'go'> {
  readonly run: RunRecord;
  readonly isSelected: boolean;
}

function RunLine({ run, now, isSelected, go }: LineProps) {
  return (
    <li class={isSelected ? 'selected' : ''}>
      <div class="head">
        <Link to={runView(run.id)} go={go} isCurrent={isSelected}>
          <bdi>{run.name}</bdi>
        </Link>
        <Pill state={run.state} />
        {run.state === 'waiting' && <span class="notice">{shortWait(run)}</span>}
        <span class="aside when" title={`received at ${clock(run.received_at)}, ${durationText(run, now)}`}>
          {timeSince(run.received_at, now)} ago,{' '}
          {run.ended_at === null ? 'in progress' : `took ${durationText(run, now)}`}
        </span>
      </div>
      <div class="aside">
        <bdi>{runLine(run)}</bdi>
      </div>
      {run.note !== null && run.state === 'failed' && (
        <div class="note">
          <bdi>{run.note}</bdi>
        </div>
      )}
    </li>
  );
}

/** Explains the empty list. */
export function NoRuns() {
  return (
    <div class="empty" id="no-runs">
      <p>No runs yet.</p>
      <p>
        Agents with a model, fleets, flows, and commands with approval create runs. A run shows its steps,
        tool calls with results, approvals, cost, and for a flow its graph and progress.
      </p>
      <p>Start a run of an agent with a model:</p>
      <pre>actor-gateway agents run NAME --input "Hello"</pre>
      <p>Agents with runtime http or script record no steps; see their deliveries.</p>
    </div>
  );
}
