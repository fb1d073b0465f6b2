// Page layout. Below the header and the banners: the overview, or the tree of actors with the state chart and
// the tabs of the selected actor, or another section of the page, such as runs or approvals.

import { useEffect, useRef } from 'preact/hooks';
import type { ServerDetails } from '../../http/api/server-shapes.ts';
import {
  actorAt,
  addressOf,
  deliveryAt,
  flowAt,
  isNodeView,
  isSessionView,
  NODES,
  nameAt,
  nodeAt,
  OVERVIEW,
  type PageView,
  runAt,
  SESSIONS,
  sectionAt,
  sessionAt,
  type Tab,
  tabs,
  toolIn,
  toolsView,
  triggerAt,
} from './address.ts';
import { workAt } from './automation-figures.ts';
import { Banners } from './banners/banners.tsx';
import { Commands } from './banners/commands.tsx';
import { ChartPane } from './chart/pane.tsx';
import { ConnectView } from './connect/view.tsx';
import { fetchMachines, fetchServer } from './feed/api.ts';
import { type Go, type PollResult, usePolled, useStore, useView } from './feed/hooks.ts';
import type { ActorView, PageState, ServerView } from './feed/page-state.ts';
import type { PageStore } from './feed/page-store.ts';
import { count, pluralize } from './format.ts';
import { Link } from './link.tsx';
import { OverviewPane } from './overview/pane.tsx';
import { Pill } from './pill.tsx';
import { mayAct } from './rights.ts';
import { SectionsNav } from './sections-nav.tsx';
import { SectionsView } from './sections-view.tsx';
import { CONTENT, SkipLink } from './skip-link.tsx';
import { stateText } from './state-text.ts';
import { DetailsTab } from './tabs/details.tsx';
import { LogTab } from './tabs/log.tsx';
import { NodesPane } from './tabs/nodes-pane.tsx';
import { NumbersTab } from './tabs/numbers.tsx';
import { SequenceTab } from './tabs/sequence.tsx';
import { SessionPane, SessionsPane } from './tabs/session-pane.tsx';
import { StderrTab } from './tabs/stderr.tsx';
import { ToolsTab } from './tools/tab.tsx';
import { workspaceOf } from './tools/workspaces.ts';
import { TreePane } from './tree/pane.tsx';

const DETAILS_MS = 2_000;
/** Refresh interval of the machine definitions, which change only with a restart of the gateway. */
const HOUR_MS = 3_600_000;

export function App({ store }: { readonly store: PageStore }) {
  const { state, connection } = useStore(store);
  const [view, go] = useView();
  const isStale = connection.status !== 'live';
  // The key contains the start time, so the definitions are loaded again after a restart of the gateway.
  const definitions = usePolled(`machines ${state.startedAt}`, fetchMachines, HOUR_MS);
  // In the overview this is the root, so the tabs show the whole gateway.
  const selected = actorAt(view.actor, state.actors);
  const session = sessionAt(view.actor);
  const section = sectionAt(view.actor);
  const title = titleOf(view, selected, session, state);
  const server = state.servers.get(view.actor.split('/')[0] ?? '');
  const trigger = state.triggers.get(triggerAt(view.actor) ?? '');
  useEffect(() => {
    document.title = `${title}${selected === undefined ? '' : `: ${stateText(selected.state)}`} · actor-gateway`;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const filter = document.getElementById('filter');
      if (event.key !== '/' || filter === null || isTextInput(event.target)) return;
      event.preventDefault();
      filter.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <SkipLink />
      <Header state={state} view={view} go={go} />
      <Banners state={state} connection={connection} isOverview={view.actor === OVERVIEW} go={go} />
      {section === 'connect' ? (
        <ConnectView />
      ) : section !== undefined ? (
        <SectionsView section={section} view={view} state={state} isStale={isStale} go={go} />
      ) : view.actor === OVERVIEW ? (
        <main id={CONTENT} tabIndex={-1} class={isStale ? 'stale' : ''}>
          <TreePane state={state} view={view} selected={undefined} go={go} />
          <OverviewPane state={state} go={go} />
          <TabsPane store={store} view={view} selected={selected} server={undefined} go={go} />
        </main>
      ) : (
        <main id={CONTENT} tabIndex={-1} class={isStale ? 'stale' : ''}>
          <TreePane state={state} view={view} selected={selected} go={go} />
          <section class="pane middle" aria-label="State chart">
            <div class="bar">
              <h1>{title}</h1>
              {selected !== undefined && <Pill state={selected.state} />}
              {selected === undefined && !isSessionView(view.actor) && !isNodeView(view.actor) && (
                <span class="aside">not found</span>
              )}
              {server !== undefined && mayAct(state.totals) && (
                <Commands
                  key={server.id}
                  commands={[
                    ['Start', `servers/${encodeURIComponent(server.id)}/start`],
                    ['Stop', `servers/${encodeURIComponent(server.id)}/stop`],
                  ]}
                />
              )}
              {trigger !== undefined && mayAct(state.totals) && (
                <Commands
                  key={`trigger ${trigger.name}`}
                  commands={[
                    ['Pause', `triggers/${encodeURIComponent(trigger.name)}/pause`],
                    ['Resume', `triggers/${encodeURIComponent(trigger.name)}/resume`],
                  ]}
                />
              )}
            </div>
            {session !== undefined && <SessionPane key={session} number={session} go={go} />}
            {view.actor === SESSIONS && <SessionsPane totals={state.totals} />}
            {isNodeView(view.actor) && (
              <NodesPane cluster={state.totals?.cluster} selected={nodeAt(view.actor)} />
            )}
            {selected !== undefined && (
              <ChartPane
                actor={selected}
                definition={definitions.value?.find(({ id }) => id === selected.machine)}
                isMailboxParent={workAt(state.totals?.automation, view.actor) !== undefined}
              />
            )}
          </section>
          <TabsPane store={store} view={view} selected={selected} server={server} go={go} />
        </main>
      )}
    </>
  );
}

function isTextInput(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input, textarea, select');
}

function titleOf(
  view: PageView,
  selected: ActorView | undefined,
  session: number | undefined,
  { actors }: PageState,
): string {
  if (view.actor === OVERVIEW) return 'overview';
  if (session !== undefined) return `session ${session}`;
  if (view.actor === SESSIONS) return 'sessions';
  if (view.actor === NODES) return 'nodes';
  const node = nodeAt(view.actor);
  if (node !== undefined) return `node ${node}`;
  if (sectionAt(view.actor) !== undefined)
    return runAt(view.actor) === undefined
      ? (flowAt(view.actor) ?? deliveryAt(view.actor) ?? nameAt(view.actor))
      : 'run';
  return nameAt(selected === undefined ? view.actor : addressOf(selected, actors));
}

function Header({
  state,
  view,
  go,
}: {
  readonly state: PageState;
  readonly view: PageView;
  readonly go: Go;
}) {
  const { totals, dropped, missed } = state;
  const losses = [
    ...(dropped > 0 ? [`${pluralize(dropped, 'step')} dropped by the feed`] : []),
    ...(missed > 0 ? [`${pluralize(missed, 'message')} missed by this page`] : []),
  ];
  return (
    <header>
      <span class="brand">actor-gateway</span>
      <SectionsNav view={view} hasAutomation={totals?.automation != null} go={go} />
      {totals !== null && (
        <span class="aside">
          {totals.version} · {pluralize(state.servers.size, 'server')} ·{' '}
          {totals.automation !== null && `${pluralize(state.triggers.size, 'trigger')} · `}
          <Link to={{ actor: SESSIONS, tab: 'log' }} go={go}>
            {pluralize(totals.sessions, 'session')}
            {totals.listens > 0 && `, ${count(totals.listens)} listening`}
          </Link>{' '}
          · {count(totals.requests.in_flight)} in flight
        </span>
      )}
      {losses.length > 0 && <span class="chip">{losses.join(', ')}</span>}
      {mayAct(totals) && <Commands commands={[['Reload catalog', 'admin/reload']]} />}
    </header>
  );
}

interface TabsPaneProps {
  readonly store: PageStore;
  readonly view: PageView;
  readonly selected: ActorView | undefined;
  readonly server: ServerView | undefined;
  readonly go: Go;
}

function TabsPane({ store, view, selected, server, go }: TabsPaneProps) {
  const list = useRef<HTMLDivElement>(null);
  const availableTabs = tabs.filter((tab) => {
    switch (tab) {
      case 'stderr':
      case 'tools':
        return server !== undefined;
      case 'details':
        return !isSessionView(view.actor) && !isNodeView(view.actor);
      default:
        return true;
    }
  });
  const tab: Tab = availableTabs.includes(view.tab) ? view.tab : 'log';
  /** The tools tab opens with the last selected tool. */
  const viewOf = (name: Tab): PageView =>
    name === 'tools' && server !== undefined
      ? toolsView(view.actor, workspaceOf(server.id).selected)
      : { actor: view.actor, tab: name };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const next =
      availableTabs[(availableTabs.indexOf(tab) + step + availableTabs.length) % availableTabs.length];
    if (step === 0 || next === undefined) return;
    go(viewOf(next), { isReplacing: true });
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <section class="pane tabs" aria-label="Selected actor">
      <div class="bar tablist" role="tablist" ref={list} onKeyDown={onKeyDown}>
        {availableTabs.map((name) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`tab-${name}`}
            aria-selected={name === tab}
            aria-controls="tab-panel"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => go(viewOf(name))}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
        {server !== undefined && tab === 'tools' ? (
          <ToolsTab
            key={server.id}
            server={server.id}
            selected={toolIn(view)}
            mayCall={mayAct(store.state.totals)}
            onSelect={(tool) => go(toolsView(view.actor, tool))}
          />
        ) : server !== undefined && (tab === 'stderr' || tab === 'details') ? (
          <WithDetails
            key={server.id}
            id={server.id}
            draw={(details) =>
              tab === 'stderr' ? (
                <StderrTab details={details} />
              ) : (
                <DetailsTab
                  state={store.state}
                  actor={selected}
                  details={details}
                  address={view.actor}
                  go={go}
                />
              )
            }
          />
        ) : (
          <PlainTab
            tab={tab}
            store={store}
            selected={selected}
            server={server}
            address={view.actor}
            go={go}
          />
        )}
      </div>
    </section>
  );
}

/** Polls server details while a tab shows them. */
function WithDetails({
  id,
  draw,
}: {
  id: string;
  draw(details: PollResult<ServerDetails>): preact.JSX.Element;
}) {
  return draw(usePolled(id, () => fetchServer(id), DETAILS_MS));
}

interface PlainTabProps extends Omit<TabsPaneProps, 'view'> {
  readonly tab: Tab;
  readonly address: string;
}

function PlainTab({ tab, store, selected, server, address, go }: PlainTabProps) {
  const { state, history } = store;
  switch (tab) {
    case 'sequence':
      return <SequenceTab log={state.log} actor={selected} />;
    case 'numbers':
      return <NumbersTab state={state} history={history} server={server} address={address} />;
    case 'details':
      return <DetailsTab state={state} actor={selected} details={undefined} address={address} go={go} />;
    default:
      return (
        <LogTab
          log={state.log}
          actors={state.actors}
          actor={selected}
          go={go}
          onClear={() => store.clearLog()}
        />
      );
  }
}
