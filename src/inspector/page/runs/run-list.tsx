// The newest runs, by state and agent, asked for again every second while they are shown.

import type { RunRecord } from '../../../http/api/run-shapes.ts';
import { runView } from '../address.ts';
import { runs as newestRuns, type RunsAsked } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { ago, clock, counted } from '../words.ts';
import { lasted, runLine } from './run-words.ts';

const REFRESH_MS = 1_000;
/** Of one page; as many more with each further one, up to what the gateway gives. */
const PAGE = 50;
const MOST = 200;
const states = ['queued', 'running', 'waiting', 'done', 'failed', 'cancelled'] as const;

export const allRuns: RunsAsked = { state: '', whom: '', limit: PAGE };

/** Names of those who may have runs. */
export type Known = Readonly<Record<'agent' | 'fleet' | 'flow', readonly string[]>>;

interface RunListProps {
  readonly asked: RunsAsked;
  readonly known: Known;
  readonly chosen: string | undefined;
  readonly now: number;
  readonly go: Go;
  onAsk(asked: RunsAsked): void;
}

export function RunList({ asked, known, chosen, now, go, onAsk }: RunListProps) {
  const { value, problem } = useAsked(JSON.stringify(asked), () => newestRuns(asked), REFRESH_MS);
  const hasMore = value !== undefined && value.next_before !== null;
  const isFiltered = asked.state !== '' || asked.whom !== '';
  return (
    <section class="pane" aria-label="Runs">
      <div class="bar">
        <h1>Runs</h1>
        <select
          aria-label="State"
          value={asked.state}
          onChange={({ currentTarget }) => onAsk({ ...asked, state: currentTarget.value, limit: PAGE })}
        >
          <option value="">every state</option>
          {states.map((state) => (
            <option key={state}>{state}</option>
          ))}
        </select>
        <select
          aria-label="Agent, fleet or flow"
          value={asked.whom}
          onChange={({ currentTarget }) => onAsk({ ...asked, whom: currentTarget.value, limit: PAGE })}
        >
          <option value="">every agent, fleet, flow and command</option>
          {groups.map(([kind, label]) => (
            <Names key={kind} label={label} values={valuesOf(known, kind, asked.whom)} />
          ))}
        </select>
      </div>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value === undefined && problem === undefined && <p class="empty">Asking …</p>}
      {value?.runs.length === 0 && (isFiltered ? <p class="empty">No such runs.</p> : <NoRuns />)}
      {value !== undefined && value.runs.length > 0 && (
        <ul class="scroll records" aria-label="The newest runs">
          {value.runs.map((run) => (
            <Line key={run.id} run={run} now={now} isChosen={run.id === chosen} go={go} />
          ))}
          {hasMore && asked.limit < MOST && (
            <li>
              <button type="button" onClick={() => onAsk({ ...asked, limit: asked.limit + PAGE })}>
                Older ones
              </button>
            </li>
          )}
        </ul>
      )}
      {value !== undefined && (
        <p class="foot">
          {isFiltered ? `${value.runs.length} of those` : counted(value.runs.length, 'run')}
          {hasMore && (asked.limit < MOST ? '; there may be more' : '; the command `runs` has the rest')}
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

/** One that is looked for stays in the list although it is loaded no more. */
function valuesOf(known: Known, kind: keyof Known, whom: string): readonly string[] {
  const values = known[kind].map((name) => `${kind} ${name}`);
  return values.includes(whom) || !whom.startsWith(`${kind} `) ? values : [...values, whom];
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
  readonly isChosen: boolean;
}

function Line({ run, now, isChosen, go }: LineProps) {
  return (
    <li class={isChosen ? 'chosen' : ''}>
      <Link to={runView(run.id)} go={go} isCurrent={isChosen}>
        <bdi>{run.name}</bdi>
      </Link>{' '}
      <Pill state={run.state} /> {run.state === 'waiting' && <span class="again">{waitsShort(run)}</span>}
      <span class="aside when" title={`came at ${clock(run.received_at)}, ${lasted(run, now)}`}>
        {ago(run.received_at, now)} ago, {run.ended_at === null ? 'not over' : `took ${lasted(run, now)}`}
      </span>
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

/** A flow says itself at which nodes it waits: for people, or a time. */
function waitsShort({ kind, waiting_for, note }: RunRecord): string {
  if ((kind === 'flow' || kind === 'fleet') && note !== null) return note.replace(/^it waits /, '');
  return waiting_for === 'approval' ? 'for an approval' : '';
}

/** What would be here, and how to get one. */
export function NoRuns() {
  return (
    <div class="empty" id="no-runs">
      <p>There are no runs yet.</p>
      <p>
        A run is the work of an agent with a model, of a fleet or a flow, or of a command that needs an
        approval: here stand its steps, the calls of tools with what came of them, who approved what, and what
        it has cost; of a flow its graph, and how far it has come.
      </p>
      <p>To see one, ask an agent that has a model:</p>
      <pre>actor-gateway agents run NAME --input "Hello"</pre>
      <p>
        Agents that answer over http, or by a script, leave no journal; what they did stands among the
        deliveries.
      </p>
    </div>
  );
}
