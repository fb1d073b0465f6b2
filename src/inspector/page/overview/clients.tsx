// Connected clients in the overview: sessions, and listening clients without a session.

import type { SessionRow } from '../../wire/feed.ts';
import { SESSIONS, sessionAddress } from '../address.ts';
import { fetchSessions } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { dateAndTime, pluralize, span } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { Lines, MAX_SHOWN } from './lists.tsx';

const REFRESH_MS = 2_000;

export function ClientLines({ go }: { readonly go: Go }) {
  const { value, problem } = usePolled('clients', () => fetchSessions(0, MAX_SHOWN, ''), REFRESH_MS);
  return (
    <>
      <Lines name="Connected clients" length={value?.total ?? 0} isLoaded={value !== undefined}>
        <p class="empty" id="no-clients">
          No client is connected. Clients connect to /mcp for all servers, or to /mcp/SERVER for one; the
          section Connect shows how. Clients without a session, and calls to /rpc, appear in Calls.
        </p>
        {value?.sessions.map((session) => (
          <li key={session.number} data-client={session.number}>
            <Link to={{ actor: sessionAddress(session.number), tab: 'log' }} go={go}>
              <bdi>{session.client || `session ${session.number}`}</bdi> <bdi>{session.version}</bdi>
            </Link>{' '}
            <Pill state={session.state} /> <span class="aside">{clientLine(session, value.at)}</span>
          </li>
        ))}
      </Lines>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value !== undefined && value.total > 0 && (
        <p class="empty">
          <Link to={{ actor: SESSIONS, tab: 'log' }} go={go}>
            All sessions
          </Link>
        </p>
      )}
    </>
  );
}

function clientLine({ endpoint, opened_at, in_flight }: SessionRow, now: number): string {
  return [
    endpoint,
    `connected for ${span(now - opened_at)}, since ${dateAndTime(opened_at)}`,
    ...(in_flight > 0 ? [`${pluralize(in_flight, 'call')} in flight`] : []),
  ].join(' · ');
}
