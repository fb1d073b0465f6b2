// Usage of the shared limits in the overview, with the largest holders.

import type { Stats } from '../../../http/api/stats-shapes.ts';
import type { PageState } from '../feed/page-state.ts';
import { count } from '../format.ts';
import { Lines } from './lists.tsx';

export function LimitLines({ state }: { readonly state: PageState }) {
  const limits = Object.entries(state.totals?.automation?.limits ?? {}).filter(([, { used }]) => used > 0);
  return (
    <Lines name="Limits used" length={limits.length} isLoaded={state.totals !== null}>
      <p class="empty">No limit of events and runs is in use.</p>
      {limits.map(([name, usage]) => (
        <li key={name} data-limit={name}>
          {name} <span class="aside">{usageLine(usage)}</span>
        </li>
      ))}
    </Lines>
  );
}

function usageLine({ used, max, holders }: NonNullable<Stats['limits']>[string]): string {
  const names = holders.map((holder) => `${holder.name} ${count(holder.used)}`);
  return [`${count(used)} of ${count(max)}`, ...names].join(' · ');
}
