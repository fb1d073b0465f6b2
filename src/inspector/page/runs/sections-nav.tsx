// The ways to the overview, to the actors, and to what stands in their place: runs, deliveries, approvals, agents.

import { OVERVIEW, ROOT, type Section, sectionAt, sections, sectionView, type View } from '../address.ts';
import { pendingApprovals } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import { Link } from '../link.tsx';

interface SectionsNavProps {
  readonly view: View;
  /** The gateway may have runs. */
  readonly hasAgents: boolean;
  readonly go: Go;
}

const words: Readonly<Record<Section, string>> = {
  runs: 'Runs',
  deliveries: 'Deliveries',
  approvals: 'Approvals',
  agents: 'Agents',
  connect: 'Connect',
};

const PENDING_MS = 5_000;
/** Counted; of more it is said that there are more. */
const MOST = 100;

export function SectionsNav({ view, hasAgents, go }: SectionsNavProps) {
  const { value } = useAsked(
    hasAgents ? 'pending approvals' : '',
    () => (hasAgents ? pendingApprovals({ limit: MOST }) : Promise.resolve(undefined)),
    PENDING_MS,
  );
  const pending = value?.approvals.length ?? 0;
  const here = sectionAt(view.actor);
  const isOverview = view.actor === OVERVIEW;
  return (
    <nav aria-label="What is shown">
      <Link to={{ actor: OVERVIEW, tab: 'log' }} go={go} isCurrent={isOverview}>
        Overview
      </Link>
      <Link to={{ actor: ROOT, tab: 'log' }} go={go} isCurrent={here === undefined && !isOverview}>
        Actors
      </Link>
      {sections.map((section) => (
        <Link key={section} to={sectionView(section)} go={go} isCurrent={here === section}>
          {words[section]}
          {section === 'approvals' && pending > 0 && (
            <span class="chip">{pending < MOST ? pending : `${MOST}+`}</span>
          )}
        </Link>
      ))}
    </nav>
  );
}
