// What an operator must not miss: no connection, a gateway that stops, parked servers, what is wrong with triggers, dead letters. What the
// overview lists is said there only.

import { useState } from 'preact/hooks';
import { ROOT } from '../address.ts';
import { addressNow, type Go } from '../feed/hooks.ts';
import type { LinkState } from '../feed/page-store.ts';
import type { PageState } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { ENTRY_COMMAND, isWatching } from '../rights.ts';
import { clock, counted, left } from '../words.ts';
import { AutomationBanners } from './automation-banners.tsx';
import { NodesBanner } from './nodes-banner.tsx';

const SHOWN = 6;

interface BannersProps {
  readonly state: PageState;
  readonly link: LinkState;
  readonly isOverview: boolean;
  readonly go: Go;
}

export function Banners({ state, link, isOverview, go }: BannersProps) {
  return (
    <div class="banners">
      <LinkBanner state={state} link={link} />
      {state.totals?.is_draining === true && link.status === 'live' && (
        <p class="banner warn" role="alert">
          <strong>The gateway is draining.</strong> It takes no new calls and is about to stop.
        </p>
      )}
      {isWatching() && (
        <p class="banner calm" role="status" id="watching">
          <strong>Watching only.</strong> To act here, run <code>{ENTRY_COMMAND}</code> and open the link that
          it prints.
        </p>
      )}
      <NodesBanner state={state} go={go} />
      {/* Hidden and not left out: what was marked as seen stays so. */}
      <div class="listed" hidden={isOverview}>
        <ParkedBanner state={state} go={go} />
        <AutomationBanners state={state} go={go} />
      </div>
      <DeadLetterBanner count={state.totals?.dead_letters ?? 0} run={state.startedAt} go={go} />
      {state.gatewayStarts > 0 && state.totals !== null && state.at - state.totals.started_at < 60_000 && (
        <p class="banner calm" role="status" id="restarted">
          The gateway was started anew at {clock(state.totals.started_at).slice(0, 8)}; the log begins there.
        </p>
      )}
    </div>
  );
}

function ParkedBanner({ state, go }: Pick<BannersProps, 'state' | 'go'>) {
  const parked = [...state.servers.values()].filter((server) => server.is_parked);
  if (parked.length === 0) return null;
  return (
    <p class="banner bad" role="alert" id="parked">
      <strong>
        {parked.length === 1 ? 'A server is parked' : `${parked.length} servers are parked`}
        <span class="more"> after too many failures</span>:
      </strong>{' '}
      {parked.slice(0, SHOWN).map((server) => (
        <span key={server.id}>
          <Link to={{ actor: server.id, tab: 'stderr' }} go={go}>
            {server.id}
          </Link>
          {server.next_retry_at !== null && ` (for ${left(server.next_retry_at, state.at)})`}{' '}
        </span>
      ))}
      {parked.length > SHOWN && `and ${parked.length - SHOWN} more; filter the tree by “parked”`}
    </p>
  );
}

function LinkBanner({ state, link }: Pick<BannersProps, 'state' | 'link'>) {
  if (link.status === 'live') return null;
  if (link.status === 'connecting')
    return (
      <p class="banner calm" role="status">
        Connecting …
      </p>
    );
  if (link.status === 'refused')
    return (
      <p class="banner bad" role="alert" id="refused">
        <strong>The gateway wants the API key again.</strong> <a href={addressNow()}>Enter it</a>
      </p>
    );
  return (
    <p class="banner bad" role="alert" id="lost">
      <strong>Connection lost.</strong> {state.totals?.is_draining === true && 'The gateway is stopping. '}
      {state.at > 0 && `What is below was so at ${clock(state.at).slice(0, 8)}. `}Trying again every second …
    </p>
  );
}

/** Those that were there before somebody has looked are not shown again. */
function DeadLetterBanner({ count, run, go }: { count: number; run: number | null; go: Go }) {
  const [seen, setSeen] = useState({ run, count: 0 });
  const fresh = seen.run === run ? count - seen.count : count;
  if (fresh <= 0) return null;
  return (
    <p class="banner warn" role="alert" id="dead-letters">
      <strong>{counted(fresh, 'dead letter')}:</strong> events to actors that had ended.{' '}
      <Link to={{ actor: ROOT, tab: 'details' }} go={go}>
        Which ones
      </Link>{' '}
      <button type="button" onClick={() => setSeen({ run, count })}>
        Seen
      </button>
    </p>
  );
}
