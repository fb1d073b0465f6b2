// Navigation: overview, actors, calls, runs, deliveries, approvals, agents, audit, connect.

import { OVERVIEW, type PageView, ROOT, type Section, sectionAt, sections, sectionView } from './address.ts';
import { fetchPendingApprovals } from './feed/api.ts';
import { type Go, usePolled } from './feed/hooks.ts';
import { Link } from './link.tsx';

interface SectionsNavProps {
  readonly view: PageView;
  readonly hasAutomation: boolean;
  readonly go: Go;
}

const labels: Readonly<Record<Section, string>> = {
  calls: 'Calls',
  runs: 'Runs',
  deliveries: 'Deliveries',
  approvals: 'Approvals',
  agents: 'Agents',
  audit: 'Audit',
  connect: 'Connect',
};

const PENDING_MS = 5_000;
/** Maximum number of counted approvals; a higher number is shown as `100+`. */
const MAX_COUNTED = 100;

export function SectionsNav({ view, hasAutomation, go }: SectionsNavProps) {
  const { value } = usePolled(
    hasAutomation ? 'pending approvals' : '',
    () => (hasAutomation ? fetchPendingApprovals({ limit: MAX_COUNTED }) : Promise.resolve(undefined)),
    PENDING_MS,
  );
  const pending = value?.approvals.length ?? 0;
  const currentSection = sectionAt(view.actor);
  const isOverview = view.actor === OVERVIEW;
  return (
    <nav aria-label="Views">
      <Link to={{ actor: OVERVIEW, tab: 'log' }} go={go} isCurrent={isOverview}>
        Overview
      </Link>
      <Link to={{ actor: ROOT, tab: 'log' }} go={go} isCurrent={currentSection === undefined && !isOverview}>
        Actors
      </Link>
      {sections.map((section) => (
        <Link key={section} to={sectionView(section)} go={go} isCurrent={currentSection === section}>
          {labels[section]}
          {section === 'approvals' && pending > 0 && (
            <span class="chip">{pending < MAX_COUNTED ? pending : `${MAX_COUNTED}+`}</span>
          )}
        </Link>
      ))}
    </nav>
  );
}
