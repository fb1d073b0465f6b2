// Servers, triggers and newest runs in the overview. Empty lists explain how to fill them.

import type { ComponentChildren } from 'preact';
import type { RunList } from '../../../http/api/run-shapes.ts';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import { runView, serverAddress, triggerAddress } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState, ServerView } from '../feed/page-state.ts';
import { pluralize, timeSince } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { durationText, runLine } from '../runs/figures.ts';

/** Maximum number of rows per list. */
export const MAX_SHOWN = 100;

interface ListProps {
  readonly state: PageState;
  readonly go: Go;
}

export function ServerLines({ state, go }: ListProps) {
  const servers = sortRows(state.servers, ({ id }) => id);
  return (
    <Lines name="Servers" length={servers.length} isLoaded={state.totals !== null}>
      <p class="empty" id="no-servers">
        The catalog has no servers. Add entries to servers, or mcpServers, in the file that catalog_path of
        gateway.yaml names.
      </p>
      {servers.slice(0, MAX_SHOWN).map((server) => (
        <li key={server.id}>
          <Link to={{ actor: serverAddress(server.id), tab: 'log' }} go={go}>
            {server.id}
          </Link>{' '}
          <Pill state={server.state} /> <span class="aside">{serverLine(server)}</span>
        </li>
      ))}
    </Lines>
  );
}

function serverLine({ requests, failed, in_flight, restarts }: ServerView): string {
  return [
    pluralize(requests, 'request'),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(in_flight > 0 ? [`${in_flight} in flight`] : []),
    ...(restarts > 0 ? [pluralize(restarts, 'restart')] : []),
  ].join(' · ');
}

export function TriggerLines({ state, go }: ListProps) {
  const triggers = sortRows(state.triggers, ({ name }) => name);
  const hasAutomation = state.totals?.automation != null;
  return (
    <Lines name="Triggers" length={triggers.length} isLoaded={state.totals !== null}>
      <p class="empty" id="no-triggers">
        {hasAutomation
          ? 'No trigger is loaded. Add a file with kind: Trigger to the folder spec.triggers.directory of gateway.yaml.'
          : 'This gateway has no triggers. Triggers receive chat messages, webhooks and schedules; set spec.triggers.directory in gateway.yaml.'}
      </p>
      {triggers.slice(0, MAX_SHOWN).map((trigger) => (
        <li key={trigger.name}>
          <Link to={{ actor: triggerAddress(trigger.name), tab: 'log' }} go={go}>
            {trigger.name}
          </Link>{' '}
          <Pill state={triggerPill(trigger)} /> <span class="aside">{triggerLine(trigger, state.at)}</span>
        </li>
      ))}
    </Lines>
  );
}

function triggerPill({ state, paused, blocked_by }: TriggerState): string {
  if (blocked_by !== null) return 'blocked';
  return paused ? 'paused' : state;
}

function triggerLine({ type, handled, failed, last_event_at }: TriggerState, now: number): string {
  return [
    type,
    `${handled} handled`,
    ...(failed > 0 ? [pluralize(failed, 'failed attempt')] : []),
    ...(last_event_at === null ? [] : [`last ${timeSince(last_event_at, now)} ago`]),
  ].join(' · ');
}

export function RunLines({ state, runList, go }: ListProps & { readonly runList: RunList | undefined }) {
  const hasAutomation = state.totals?.automation != null;
  const runs = runList?.runs ?? [];
  return (
    <Lines
      name="Newest runs"
      length={runs.length}
      isLoaded={state.totals !== null && (!hasAutomation || runList !== undefined)}
    >
      <p class="empty" id="no-newest-runs">
        {hasAutomation
          ? 'No runs yet. A trigger, or the command agents run NAME --input "Hello", starts a run of an agent with a model, a fleet or a flow.'
          : 'This gateway has no agents, so there are no runs; set spec.agents.directory in gateway.yaml.'}
      </p>
      {runs.map((run) => (
        <li key={run.id}>
          <Link to={runView(run.id)} go={go}>
            <bdi>{run.name}</bdi>
          </Link>{' '}
          <Pill state={run.state} />{' '}
          <span class="aside">
            {`${timeSince(run.received_at, state.at)} ago, ${run.ended_at === null ? 'in progress' : `took ${durationText(run, state.at)}`} · `}
            <bdi>{runLine(run)}</bdi>
          </span>
        </li>
      ))}
    </Lines>
  );
}

interface LinesProps {
  readonly name: string;
  readonly length: number;
  /** True if the list is loaded, even if it is empty. */
  readonly isLoaded: boolean;
  /** Text for the empty list, then the rows. */
  readonly children: [ComponentChildren, ComponentChildren];
}

export function Lines({ name, length, isLoaded, children: [empty, lines] }: LinesProps) {
  const id = `overview-${name.replace(' ', '-').toLowerCase()}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {length === 0 ? (
        isLoaded ? (
          empty
        ) : (
          <p class="empty">Loading …</p>
        )
      ) : (
        <ul class="records lines" aria-labelledby={id}>
          {lines}
        </ul>
      )}
      {length > MAX_SHOWN && <p class="empty">{`${length - MAX_SHOWN} more in the actor tree`}</p>}
    </section>
  );
}

function sortRows<Row>(rows: ReadonlyMap<string, Row>, nameOf: (row: Row) => string): Row[] {
  return [...rows.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
