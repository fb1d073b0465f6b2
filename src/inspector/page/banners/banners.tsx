// Banners: lost connection, draining (stopping) or restarted gateway, alarms, parked servers (stopped after
// too many failures), trigger problems, dead letters (events that no actor received). The overview lists
// problems itself, so it hides their banners.

import { useState } from 'preact/hooks';
import { ROOT } from '../address.ts';
import { addressNow, type Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import type { FeedConnectionState } from '../feed/page-store.ts';
import { clock, pluralize, timeUntil } from '../format.ts';
import { Link } from '../link.tsx';
import { ENTRY_COMMAND, isWatching } from '../rights.ts';
import { AlarmBanner } from './alarm-banner.tsx';
import { AutomationBanners } from './automation-banners.tsx';
import { NodesBanner } from './nodes-banner.tsx';

/** Maximum number of servers that the banner of parked servers names. */
const MAX_SHOWN = 6;
/** Time after a restart of the gateway during which the banner of the restart is displayed. */
const RESTARTED_MS = 60_000;

interface BannersProps {
  readonly state: PageState;
  readonly connection: FeedConnectionState;
  readonly isOverview: boolean;
  readonly go: Go;
}

export function Banners({ state, connection, isOverview, go }: BannersProps) {
  const { totals, gatewayRestarts } = state;
  const wasRestarted = gatewayRestarts > 0 && totals !== null && state.at - totals.started_at < RESTARTED_MS;
  return (
    <div class="banners">
      <ConnectionBanner state={state} connection={connection} />
      {state.totals?.is_draining === true && connection.status === 'live' && (
        <p class="banner warn" role="alert">
          <strong>The gateway is draining.</strong> It accepts no new calls and will stop soon.
        </p>
      )}
      {isWatching() && (
        <p class="banner calm" role="status" id="watching">
          <strong>Read only.</strong> To run commands here, run <code>{ENTRY_COMMAND}</code> and open the
          printed link.
        </p>
      )}
      <NodesBanner state={state} go={go} />
      {/* Hidden instead of removed, so that the banners keep their state (marked as seen). */}
      <div class="listed" hidden={isOverview}>
        <AlarmBanner alarms={state.totals?.alarms ?? []} go={go} />
        <ParkedBanner state={state} go={go} />
        <AutomationBanners state={state} go={go} />
      </div>
      <DeadLetterBanner count={state.totals?.dead_letters ?? 0} run={state.startedAt} go={go} />
      {wasRestarted && (
        <p class="banner calm" role="status" id="restarted">
          The gateway was restarted at {clock(totals.started_at).slice(0, 8)}; the log starts then.
        </p>
      )}
    </div>
  );
}

function ParkedBanner({ state, go }: Pick<BannersProps, 'state' | 'go'>) {
  const parkedServers = [...state.servers.values()].filter((server) => server.is_parked);
  if (parkedServers.length === 0) return null;
  return (
    <p class="banner bad" role="alert" id="parked">
      <strong>
        {parkedServers.length === 1 ? 'A server is parked' : `${parkedServers.length} servers are parked`}
        <span class="more"> after too many failures</span>:
      </strong>{' '}
      {parkedServers.slice(0, MAX_SHOWN).map((server) => (
        <span key={server.id}>
          <Link to={{ actor: server.id, tab: 'stderr' }} go={go}>
            {server.id}
          </Link>
          {server.next_retry_at !== null && ` (for ${timeUntil(server.next_retry_at, state.at)})`}{' '}
        </span>
      ))}
      {parkedServers.length > MAX_SHOWN &&
        `and ${parkedServers.length - MAX_SHOWN} more; enter “parked” in the filter of the tree`}
    </p>
  );
}

function ConnectionBanner({ state, connection }: Pick<BannersProps, 'state' | 'connection'>) {
  if (connection.status === 'live') return null;
  if (connection.status === 'connecting')
    return (
      <p class="banner calm" role="status">
        Connecting …
      </p>
    );
  if (connection.status === 'refused')
    return (
      <p class="banner bad" role="alert" id="refused">
        <strong>The gateway requires the API key again.</strong> <a href={addressNow()}>Enter it</a>
      </p>
    );
  return (
    <p class="banner bad" role="alert" id="lost">
      <strong>Connection lost.</strong> {state.totals?.is_draining === true && 'The gateway is stopping. '}
      {state.at > 0 && `The data below is from ${clock(state.at).slice(0, 8)}. `}Reconnecting every second …
    </p>
  );
}

/**
 * Counts only dead letters that the user has not marked as seen. `run` is the start time of the gateway: the
 * counter begins at 0 with each start.
 */
function DeadLetterBanner({ count, run, go }: { count: number; run: number | null; go: Go }) {
  const [acknowledged, setAcknowledged] = useState({ run, count: 0 });
  const newCount = acknowledged.run === run ? count - acknowledged.count : count;
  if (newCount <= 0) return null;
  return (
    <p class="banner warn" role="alert" id="dead-letters">
      <strong>{pluralize(newCount, 'dead letter')}:</strong> events to ended actors.{' '}
      <Link to={{ actor: ROOT, tab: 'details' }} go={go}>
        Show
      </Link>{' '}
      <button type="button" onClick={() => setAcknowledged({ run, count })}>
        Mark as seen
      </button>
    </p>
  );
}
