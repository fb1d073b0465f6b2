// The servers, the triggers and the newest runs, a line for each, as they are at the moment. Where there are none it is said why, and
// what to do about it.

import type { ComponentChildren } from 'preact';
import type { RunList } from '../../../http/api/run-shapes.ts';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import { runView, serverAddress, triggerAddress } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState, ServerView } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { lasted, runLine } from '../runs/run-words.ts';
import { ago, counted } from '../words.ts';

/** Of each list; the tree has the others. */
const SHOWN = 100;

interface ListProps {
  readonly state: PageState;
  readonly go: Go;
}

export function ServerLines({ state, go }: ListProps) {
  const servers = sorted(state.servers, ({ id }) => id);
  return (
    <Lines name="Servers" length={servers.length} isKnown={state.totals !== null}>
      <p class="empty" id="no-servers">
        The catalog has no servers. A server is an entry under servers, or mcpServers, in the file that
        catalog_path of gateway.yaml names.
      </p>
      {servers.slice(0, SHOWN).map((server) => (
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
    counted(requests, 'request'),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(in_flight > 0 ? [`${in_flight} in flight`] : []),
    ...(restarts > 0 ? [counted(restarts, 'restart')] : []),
  ].join(' · ');
}

export function TriggerLines({ state, go }: ListProps) {
  const triggers = sorted(state.triggers, ({ name }) => name);
  const hasAutomation = state.totals?.automation != null;
  return (
    <Lines name="Triggers" length={triggers.length} isKnown={state.totals !== null}>
      <p class="empty" id="no-triggers">
        {hasAutomation
          ? 'No trigger is loaded. A trigger is a file with kind: Trigger in the folder that spec.triggers.directory of gateway.yaml names.'
          : 'This gateway has no triggers. A trigger takes in chats, webhooks or a schedule; the folder of their files is spec.triggers.directory in gateway.yaml.'}
      </p>
      {triggers.slice(0, SHOWN).map((trigger) => (
        <li key={trigger.name}>
          <Link to={{ actor: triggerAddress(trigger.name), tab: 'log' }} go={go}>
            {trigger.name}
          </Link>{' '}
          <Pill state={trigger.paused ? 'paused' : trigger.state} />{' '}
          <span class="aside">{triggerLine(trigger, state.at)}</span>
        </li>
      ))}
    </Lines>
  );
}

function triggerLine({ type, handled, failed, last_event_at }: TriggerState, now: number): string {
  return [
    type,
    `${handled} answered`,
    ...(failed > 0 ? [counted(failed, 'failed attempt')] : []),
    ...(last_event_at === null ? [] : [`last ${ago(last_event_at, now)} ago`]),
  ].join(' · ');
}

export function RunLines({ state, asked, go }: ListProps & { readonly asked: RunList | undefined }) {
  const hasAutomation = state.totals?.automation != null;
  const runs = asked?.runs ?? [];
  return (
    <Lines
      name="Newest runs"
      length={runs.length}
      isKnown={state.totals !== null && (!hasAutomation || asked !== undefined)}
    >
      <p class="empty" id="no-newest-runs">
        {hasAutomation
          ? 'There are no runs yet. A run begins when an agent with a model, a fleet or a flow is asked, by a trigger or by the command agents run NAME --input "Hello".'
          : 'This gateway has no agents, so no runs; the folder of their files is spec.agents.directory in gateway.yaml.'}
      </p>
      {runs.map((run) => (
        <li key={run.id}>
          <Link to={runView(run.id)} go={go}>
            <bdi>{run.name}</bdi>
          </Link>{' '}
          <Pill state={run.state} />{' '}
          <span class="aside">
            {`${ago(run.received_at, state.at)} ago, ${run.ended_at === null ? 'not over' : `took ${lasted(run, state.at)}`} · `}
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
  /** An empty list is an answer. */
  readonly isKnown: boolean;
  /** What is said of an empty list, then the lines. */
  readonly children: [ComponentChildren, ComponentChildren];
}

function Lines({ name, length, isKnown, children: [empty, lines] }: LinesProps) {
  const id = `overview-${name.replace(' ', '-').toLowerCase()}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {length === 0 ? (
        isKnown ? (
          empty
        ) : (
          <p class="empty">Asking …</p>
        )
      ) : (
        <ul class="records lines" aria-labelledby={id}>
          {lines}
        </ul>
      )}
      {length > SHOWN && <p class="empty">{`and ${length - SHOWN} more, in the tree of actors`}</p>}
    </section>
  );
}

function sorted<Row>(rows: ReadonlyMap<string, Row>, nameOf: (row: Row) => string): Row[] {
  return [...rows.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
