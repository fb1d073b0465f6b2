// The page: what must not be missed on top, the tree, the chart of the chosen actor, and the tabs about it.

import { useEffect, useRef } from 'preact/hooks';
import type { ServerDetails } from '../../http/api/server-shapes.ts';
import {
  actorAt,
  addressOf,
  deliveryAt,
  flowAt,
  isOfNodes,
  isOfSessions,
  NODES,
  nameAt,
  nodeAt,
  OVERVIEW,
  runAt,
  SESSIONS,
  sectionAt,
  sessionAt,
  type Tab,
  tabs,
  toolIn,
  toolsView,
  triggerAt,
  type View,
} from './address.ts';
import { workAt } from './automation-words.ts';
import { Banners } from './banners/banners.tsx';
import { Commands } from './banners/commands.tsx';
import { ChartPane } from './chart/chart-pane.tsx';
import { ConnectView } from './connect/connect-view.tsx';
import { machines, server as serverDetails } from './feed/api.ts';
import { type Asked, type Go, useAsked, useStore, useView } from './feed/hooks.ts';
import type { PageStore } from './feed/page-store.ts';
import type { ActorView, PageState, ServerView } from './feed/store.ts';
import { Link } from './link.tsx';
import { OverviewPane } from './overview/overview-pane.tsx';
import { Pill } from './pill.tsx';
import { mayAct } from './rights.ts';
import { SectionsNav } from './runs/sections-nav.tsx';
import { SectionsView } from './runs/sections-view.tsx';
import { CONTENT, SkipLink } from './skip-link.tsx';
import { stateText } from './state-words.ts';
import { DetailsTab } from './tabs/details-tab.tsx';
import { LogTab } from './tabs/log-tab.tsx';
import { NodesPane } from './tabs/nodes-pane.tsx';
import { NumbersTab } from './tabs/numbers-tab.tsx';
import { SequenceTab } from './tabs/sequence-tab.tsx';
import { SessionPane, SessionsPane } from './tabs/session-pane.tsx';
import { StderrTab } from './tabs/stderr-tab.tsx';
import { benchOf } from './tools/benches.ts';
import { ToolsTab } from './tools/tools-tab.tsx';
import { TreePane } from './tree/tree-pane.tsx';
import { count, counted } from './words.ts';

const DETAILS_MS = 2_000;
const HOUR_MS = 3_600_000;

export function App({ store }: { readonly store: PageStore }) {
  const { state, link } = useStore(store);
  const [view, go] = useView();
  const charts = useAsked(`machines ${state.startedAt}`, machines, HOUR_MS);
  // Beside the overview stands what there is to say of the gateway as a whole.
  const chosen = actorAt(view.actor, state.actors);
  const session = sessionAt(view.actor);
  const section = sectionAt(view.actor);
  const title = titleOf(view, chosen, session, state);
  const server = state.servers.get(view.actor.split('/')[0] ?? '');
  const trigger = state.triggers.get(triggerAt(view.actor) ?? '');
  useEffect(() => {
    document.title = `${title}${chosen === undefined ? '' : `: ${stateText(chosen.state)}`} · actor-gateway`;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const filter = document.getElementById('filter');
      if (event.key !== '/' || filter === null || isWrittenIn(event.target)) return;
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
      <Banners state={state} link={link} isOverview={view.actor === OVERVIEW} go={go} />
      {section === 'connect' ? (
        <ConnectView />
      ) : section !== undefined ? (
        <SectionsView section={section} view={view} state={state} isStale={link.status !== 'live'} go={go} />
      ) : view.actor === OVERVIEW ? (
        <main id={CONTENT} tabIndex={-1} class={link.status === 'live' ? '' : 'stale'}>
          <TreePane state={state} view={view} chosen={undefined} go={go} />
          <OverviewPane state={state} go={go} />
          <TabsPane store={store} view={view} chosen={chosen} server={undefined} go={go} />
        </main>
      ) : (
        <main id={CONTENT} tabIndex={-1} class={link.status === 'live' ? '' : 'stale'}>
          <TreePane state={state} view={view} chosen={chosen} go={go} />
          <section class="pane middle" aria-label="State chart">
            <div class="bar">
              <h1>{title}</h1>
              {chosen !== undefined && <Pill state={chosen.state} />}
              {chosen === undefined && !isOfSessions(view.actor) && !isOfNodes(view.actor) && (
                <span class="aside">not there</span>
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
            {isOfNodes(view.actor) && (
              <NodesPane cluster={state.totals?.cluster} chosen={nodeAt(view.actor)} />
            )}
            {chosen !== undefined && (
              <ChartPane
                actor={chosen}
                definition={charts.value?.find(({ id }) => id === chosen.machine)}
                isWork={workAt(state.totals?.automation, view.actor) !== undefined}
              />
            )}
          </section>
          <TabsPane store={store} view={view} chosen={chosen} server={server} go={go} />
        </main>
      )}
    </>
  );
}

function isWrittenIn(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input, textarea, select');
}

function titleOf(
  view: View,
  chosen: ActorView | undefined,
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
  return nameAt(chosen === undefined ? view.actor : addressOf(chosen, actors));
}

function Header({ state, view, go }: { readonly state: PageState; readonly view: View; readonly go: Go }) {
  const { totals, dropped, missed } = state;
  const lost = [
    ...(dropped > 0 ? [`${counted(dropped, 'step')} dropped by the feed`] : []),
    ...(missed > 0 ? [`${counted(missed, 'message')} missed by this page`] : []),
  ];
  return (
    <header>
      <span class="brand">actor-gateway</span>
      <SectionsNav view={view} hasAgents={totals?.automation != null} go={go} />
      {totals !== null && (
        <span class="aside">
          {totals.version} · {counted(state.servers.size, 'server')} ·{' '}
          {totals.automation !== null && `${counted(state.triggers.size, 'trigger')} · `}
          <Link to={{ actor: SESSIONS, tab: 'log' }} go={go}>
            {counted(totals.sessions, 'session')}
            {totals.listens > 0 && `, ${count(totals.listens)} listening`}
          </Link>{' '}
          · {count(totals.requests.in_flight)} in flight
        </span>
      )}
      {lost.length > 0 && <span class="chip">{lost.join(', ')}</span>}
      {mayAct(totals) && <Commands commands={[['Reload catalog', 'admin/reload']]} />}
    </header>
  );
}

interface TabsPaneProps {
  readonly store: PageStore;
  readonly view: View;
  readonly chosen: ActorView | undefined;
  readonly server: ServerView | undefined;
  readonly go: Go;
}

function TabsPane({ store, view, chosen, server, go }: TabsPaneProps) {
  const list = useRef<HTMLDivElement>(null);
  const offered = tabs.filter((tab) =>
    tab === 'stderr' || tab === 'tools'
      ? server !== undefined
      : tab !== 'details' || !(isOfSessions(view.actor) || isOfNodes(view.actor)),
  );
  const tab: Tab = offered.includes(view.tab) ? view.tab : 'log';
  /** Of the tools the one that was looked at last. */
  const viewOf = (name: Tab): View =>
    name === 'tools' && server !== undefined
      ? toolsView(view.actor, benchOf(server.id).chosen)
      : { actor: view.actor, tab: name };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const next = offered[(offered.indexOf(tab) + step + offered.length) % offered.length];
    if (step === 0 || next === undefined) return;
    go(viewOf(next), true);
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <section class="pane tabs" aria-label="About the chosen actor">
      <div class="bar tablist" role="tablist" ref={list} onKeyDown={onKeyDown}>
        {offered.map((name) => (
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
            chosen={toolIn(view)}
            mayCall={mayAct(store.state.totals)}
            onChoose={(tool) => go(toolsView(view.actor, tool))}
          />
        ) : server !== undefined && (tab === 'stderr' || tab === 'details') ? (
          <WithDetails
            key={server.id}
            id={server.id}
            draw={(asked) =>
              tab === 'stderr' ? (
                <StderrTab asked={asked} />
              ) : (
                <DetailsTab state={store.state} actor={chosen} asked={asked} address={view.actor} go={go} />
              )
            }
          />
        ) : (
          <PlainTab tab={tab} store={store} chosen={chosen} server={server} address={view.actor} go={go} />
        )}
      </div>
    </section>
  );
}

/** Asks for a server's details while a tab that needs them is shown. */
function WithDetails({ id, draw }: { id: string; draw(asked: Asked<ServerDetails>): preact.JSX.Element }) {
  return draw(useAsked(id, () => serverDetails(id), DETAILS_MS));
}

interface PlainTabProps extends Omit<TabsPaneProps, 'view'> {
  readonly tab: Tab;
  readonly address: string;
}

function PlainTab({ tab, store, chosen, server, address, go }: PlainTabProps) {
  const { state, history } = store;
  switch (tab) {
    case 'sequence':
      return <SequenceTab log={state.log} actor={chosen} />;
    case 'numbers':
      return <NumbersTab state={state} history={history} server={server} address={address} />;
    case 'details':
      return <DetailsTab state={state} actor={chosen} asked={undefined} address={address} go={go} />;
    default:
      return (
        <LogTab
          log={state.log}
          actors={state.actors}
          actor={chosen}
          go={go}
          onClear={() => store.clearLog()}
        />
      );
  }
}
