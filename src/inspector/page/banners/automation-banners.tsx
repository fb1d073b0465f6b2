// Banners for failed triggers, paused triggers and dead deliveries (events that failed every attempt).

import { useState } from 'preact/hooks';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import type { AutomationTotals } from '../../wire/feed.ts';
import { deliveriesView, triggerAddress } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { pluralize, timeUntil } from '../format.ts';
import { Link } from '../link.tsx';

const MAX_SHOWN = 6;

interface AutomationBannersProps {
  readonly state: PageState;
  readonly go: Go;
}

export function AutomationBanners({ state, go }: AutomationBannersProps) {
  const triggers = [...state.triggers.values()];
  const failedTriggers = triggers.filter((trigger) => trigger.state === 'failed');
  const pausedTriggers = triggers.filter((trigger) => trigger.paused);
  return (
    <>
      {failedTriggers.length > 0 && (
        <p class="banner bad" role="alert" id="failed-triggers">
          <strong>
            {failedTriggers.length === 1
              ? 'A trigger has failed'
              : `${failedTriggers.length} triggers have failed`}
            <span class="more">
              {failedTriggers.length === 1 ? ' and accepts no events' : ' and accept no events'}
            </span>
            :
          </strong>{' '}
          <TriggerLinks triggers={failedTriggers} now={state.at} go={go} term="failed" />
        </p>
      )}
      <DeadDeliveryBanner totals={state.totals?.automation} go={go} />
      {pausedTriggers.length > 0 && (
        <p class="banner warn" role="status" id="paused-triggers">
          <strong>
            {pausedTriggers.length === 1
              ? 'A trigger is paused'
              : `${pausedTriggers.length} triggers are paused`}
            <span class="more">; new events wait</span>:
          </strong>{' '}
          <TriggerLinks triggers={pausedTriggers} now={state.at} go={go} term="paused" />
        </p>
      )}
    </>
  );
}

interface NamesProps {
  readonly triggers: readonly TriggerState[];
  readonly now: number;
  readonly go: Go;
  readonly term: string;
}

function TriggerLinks({ triggers, now, go, term }: NamesProps) {
  return (
    <>
      {triggers.slice(0, MAX_SHOWN).map(({ name, state, next_retry_at }) => (
        <span key={name}>
          <Link to={{ actor: triggerAddress(name), tab: 'details' }} go={go}>
            {name}
          </Link>
          {state === 'failed' &&
            next_retry_at !== null &&
            Date.parse(next_retry_at) > now &&
            ` (retry in ${timeUntil(next_retry_at, now)})`}{' '}
        </span>
      ))}
      {triggers.length > MAX_SHOWN &&
        `and ${triggers.length - MAX_SHOWN} more; enter “${term}” in the filter of the tree`}
    </>
  );
}

interface DeadDeliveryBannerProps {
  readonly totals: AutomationTotals | null | undefined;
  readonly go: Go;
}

/** Counts only dead deliveries that the user has not marked as seen. */
function DeadDeliveryBanner({ totals, go }: DeadDeliveryBannerProps) {
  const count = totals?.deliveries?.dead ?? 0;
  const [acknowledged, setAcknowledged] = useState(0);
  // Some dead deliveries were replayed or deleted. Further ones must be shown.
  if (count < acknowledged) setAcknowledged(count);
  if (count <= acknowledged) return null;
  return (
    <p class="banner bad" role="alert" id="dead-deliveries">
      <strong>{pluralize(count, 'dead delivery', 'dead deliveries')}</strong>
      <span class="more">, after the last attempt</span>:{' '}
      <Link to={deliveriesView('state=dead')} go={go}>
        Show
      </Link>{' '}
      <button type="button" onClick={() => setAcknowledged(count)}>
        Mark as seen
      </button>
    </p>
  );
}
