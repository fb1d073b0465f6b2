// Views without the actor tree: calls, audit, runs, deliveries, approvals, and agents with flows. The list is
// on the left; the selected run, delivery or flow is on the right.

import { useState } from 'preact/hooks';
import { flowAt, type PageView, runAt, type Section, sectionView } from './address.ts';
import { AuditView } from './audit/view.tsx';
import { CallsView } from './calls/view.tsx';
import { DeliveriesView } from './deliveries/view.tsx';
import { fetchTargets } from './feed/api.ts';
import { type Go, usePolled } from './feed/hooks.ts';
import type { PageState } from './feed/page-state.ts';
import { mayAct } from './rights.ts';
import { AgentsPane } from './runs/agents-pane.tsx';
import { ApprovalsPane } from './runs/approvals-pane.tsx';
import { FlowPane } from './runs/flow-pane.tsx';
import { allRuns, NoRuns, RunList, type TargetNames } from './runs/list.tsx';
import { RunPane } from './runs/pane.tsx';
import { CONTENT } from './skip-link.tsx';

const AGENTS_MS = 10_000;
/** Sections of any gateway. */
const withoutAgents: ReadonlySet<Section> = new Set(['calls', 'audit', 'deliveries']);

interface SectionsViewProps {
  readonly section: Section;
  readonly view: PageView;
  readonly state: PageState;
  readonly isStale: boolean;
  readonly go: Go;
}

export function SectionsView({ section, view, state, isStale, go }: SectionsViewProps) {
  const [query, setQuery] = useState(allRuns);
  const hasAutomation = state.totals?.automation != null;
  // The key changes if the gateway gains or loses its automation, so that the targets are loaded again.
  const polledTargets = usePolled(
    hasAutomation ? 'names of agents' : '',
    () => (hasAutomation ? fetchTargets() : Promise.resolve(undefined)),
    AGENTS_MS,
  );
  const { agents = [], fleets = [], flows = [] } = polledTargets.value ?? {};
  const names: TargetNames = { agent: namesOf(agents), fleet: namesOf(fleets), flow: namesOf(flows) };
  // `view.actor` is the selected address: here a run, a flow, or the section itself.
  const id = runAt(view.actor);
  const flow = flowAt(view.actor);
  const onRuns = (target: string): void => {
    setQuery({ ...allRuns, target });
    go(sectionView('runs'));
  };
  // A flow has the layout of the section `runs`: a list, and a pane next to it.
  return (
    <main
      id={CONTENT}
      tabIndex={-1}
      class={`sections ${flow === undefined ? section : 'runs'} ${isStale ? 'stale' : ''}`}
    >
      {section === 'calls' && <CallsView state={state} query={view.query ?? ''} go={go} />}
      {section === 'audit' && <AuditView query={view.query ?? ''} go={go} />}
      {section === 'deliveries' && <DeliveriesView view={view} state={state} go={go} />}
      {!withoutAgents.has(section) && state.totals !== null && !hasAutomation && <NoAgents />}
      {hasAutomation && section === 'runs' && (
        <>
          <RunList query={query} names={names} selected={id} now={state.at} go={go} onQuery={setQuery} />
          {id === undefined ? (
            <section class="pane" aria-label="Run details">
              <p class="empty">Select a run to see its steps.</p>
            </section>
          ) : (
            <RunPane key={id} id={id} state={state} go={go} />
          )}
        </>
      )}
      {hasAutomation && section === 'approvals' && (
        <ApprovalsPane now={state.at} mayAct={mayAct(state.totals)} go={go} />
      )}
      {hasAutomation && section === 'agents' && (
        <>
          <AgentsPane selected={flow} go={go} onRuns={onRuns} />
          {flow !== undefined && <FlowPane key={flow} name={flow} onRuns={onRuns} />}
        </>
      )}
    </main>
  );
}

const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

function NoAgents() {
  return (
    <section class="pane" aria-label="Runs">
      <p class="empty">This gateway has no agents. Set spec.agents.directory in gateway.yaml.</p>
      <NoRuns />
    </section>
  );
}
