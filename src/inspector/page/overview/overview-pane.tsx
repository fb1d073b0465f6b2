// The page's first view: what is wrong, then who is there and what was done lately. Each line leads to its own view.

import { deliveries, runs as newestRuns, pendingApprovals } from '../feed/api.ts';
import { type Asked, type Go, useAsked } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { allRuns } from '../runs/run-list.tsx';
import { count } from '../words.ts';
import { RunLines, ServerLines, TriggerLines } from './overview-lists.tsx';
import { type AskedWork, MOST, type WrongGroup, wrongThings } from './wrong-things.ts';

const REFRESH_MS = 1_500;
const NEWEST_RUNS = 10;

interface OverviewPaneProps {
  readonly state: PageState;
  readonly go: Go;
}

export function OverviewPane({ state, go }: OverviewPaneProps) {
  const hasAutomation = state.totals?.automation != null;
  const asked = useAsked(
    hasAutomation ? 'overview' : '',
    () => (hasAutomation ? workNow() : Promise.resolve(undefined)),
    REFRESH_MS,
  );
  const isKnown = state.totals !== null && (!hasAutomation || asked.value !== undefined);
  return (
    <section class="pane middle overview" aria-labelledby="overview">
      <div class="bar">
        <h1 id="overview">Overview</h1>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <div class="scroll" tabIndex={0}>
        <Wrong groups={wrongThings(state, asked.value)} asked={asked} isKnown={isKnown} go={go} />
        <ServerLines state={state} go={go} />
        <TriggerLines state={state} go={go} />
        <RunLines state={state} asked={asked.value?.runs} go={go} />
      </div>
    </section>
  );
}

async function workNow(): Promise<AskedWork> {
  const [runs, failed, approvals, dead] = await Promise.all([
    newestRuns({ ...allRuns, limit: NEWEST_RUNS }),
    newestRuns({ ...allRuns, state: 'failed', limit: MOST }),
    pendingApprovals({ limit: MOST }),
    deliveries({ state: 'dead', limit: `${MOST}` }),
  ]);
  return { runs, failed, approvals, dead };
}

interface WrongProps {
  readonly groups: readonly WrongGroup[];
  readonly asked: Asked<AskedWork | undefined>;
  /** All answers are there. */
  readonly isKnown: boolean;
  readonly go: Go;
}

function Wrong({ groups, asked, isKnown, go }: WrongProps) {
  return (
    <section aria-labelledby="wrong">
      <h2 id="wrong">What is wrong</h2>
      {asked.problem !== undefined && <p class="empty note">{asked.problem}</p>}
      {groups.length === 0 && asked.problem === undefined && (
        <p class="empty">
          {isKnown
            ? 'Nothing: no server or trigger has failed, no delivery is dead, and nobody is waited for.'
            : 'Asking …'}
        </p>
      )}
      {groups.length > 0 && (
        <ul class="records" aria-labelledby="wrong">
          {groups.map((group) => (
            <Group key={group.word} group={group} go={go} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Group({ group, go }: { readonly group: WrongGroup; readonly go: Go }) {
  const { word, plural, things, more, all } = group;
  return (
    <>
      {things.map(({ key, name, state, reason, to }) => (
        <li key={key} data-wrong={key}>
          <span class="aside">{word}</span>{' '}
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
        <li data-more={word}>
          <Link to={all} go={go}>
            {`and ${Number.isFinite(more) ? `${count(more)} ` : 'perhaps '}more`}
          </Link>{' '}
          <span class="aside">{more === 1 ? word : plural}</span>
        </li>
      )}
    </>
  );
}
