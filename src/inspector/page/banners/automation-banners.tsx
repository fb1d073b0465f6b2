// What an operator must not miss of the triggers: those that could not be opened, those that are paused, and deliveries
// that were given up.

import { useState } from 'preact/hooks';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import type { AutomationTotals } from '../../wire/feed-wire.ts';
import { deliveriesView, triggerAddress } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { counted, left } from '../words.ts';

const SHOWN = 6;

interface AutomationBannersProps {
  readonly state: PageState;
  readonly go: Go;
}

export function AutomationBanners({ state, go }: AutomationBannersProps) {
  const triggers = [...state.triggers.values()];
  const failed = triggers.filter((trigger) => trigger.state === 'failed');
  const paused = triggers.filter((trigger) => trigger.paused);
  return (
    <>
      {failed.length > 0 && (
        <p class="banner bad" role="alert" id="failed-triggers">
          <strong>
            {failed.length === 1 ? 'A trigger has failed' : `${failed.length} triggers have failed`}
            <span class="more">{failed.length === 1 ? ' and takes in nothing' : ' and take in nothing'}</span>
            :
          </strong>{' '}
          <Names triggers={failed} now={state.at} go={go} word="failed" />
        </p>
      )}
      <DeadDeliveryBanner totals={state.totals?.automation} go={go} />
      {paused.length > 0 && (
        <p class="banner warn" role="status" id="paused-triggers">
          <strong>
            {paused.length === 1 ? 'A trigger is paused' : `${paused.length} triggers are paused`}
            <span class="more">
              {paused.length === 1 ? '; what comes for it waits' : '; what comes for them waits'}
            </span>
            :
          </strong>{' '}
          <Names triggers={paused} now={state.at} go={go} word="paused" />
        </p>
      )}
    </>
  );
}

interface NamesProps {
  readonly triggers: readonly TriggerState[];
  readonly now: number;
  readonly go: Go;
  readonly word: string;
}

function Names({ triggers, now, go, word }: NamesProps) {
  return (
    <>
      {triggers.slice(0, SHOWN).map(({ name, state, next_retry_at }) => (
        <span key={name}>
          <Link to={{ actor: triggerAddress(name), tab: 'details' }} go={go}>
            {name}
          </Link>
          {state === 'failed' &&
            next_retry_at !== null &&
            Date.parse(next_retry_at) > now &&
            ` (again in ${left(next_retry_at, now)})`}{' '}
        </span>
      ))}
      {triggers.length > SHOWN && `and ${triggers.length - SHOWN} more; filter the tree by “${word}”`}
    </>
  );
}

interface DeadDeliveryBannerProps {
  readonly totals: AutomationTotals | null | undefined;
  readonly go: Go;
}

/** Those that were there before somebody has looked are not shown again. */
function DeadDeliveryBanner({ totals, go }: DeadDeliveryBannerProps) {
  const count = totals?.deliveries?.dead ?? 0;
  const [seen, setSeen] = useState(0);
  // Some ran again, or their time in the store was up: the next ones are new.
  if (count < seen) setSeen(count);
  if (count <= seen) return null;
  return (
    <p class="banner bad" role="alert" id="dead-deliveries">
      <strong>{counted(count, 'dead delivery', 'dead deliveries')}</strong>
      <span class="more">, given up after the last attempt</span>:{' '}
      <Link to={deliveriesView('state=dead')} go={go}>
        Which ones
      </Link>{' '}
      <button type="button" onClick={() => setSeen(count)}>
        Seen
      </button>
    </p>
  );
}
