// Session details, or session totals, in place of the state chart.

import type { Totals } from '../../wire/feed.ts';
import { fetchSession } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { dateAndTime, span } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { Fact } from './fact.tsx';

const REFRESH_MS = 1_000;

interface SessionPaneProps {
  readonly number: number;
  readonly go: Go;
}

export function SessionPane({ number, go }: SessionPaneProps) {
  const { value, problem } = usePolled(`session ${number}`, () => fetchSession(number, ''), REFRESH_MS);
  if (value === undefined) return <p class="empty">{problem ?? 'Loading …'}</p>;
  const { session, at: now } = value;
  const [, server] = /^\/mcp\/(.+)$/.exec(session.endpoint) ?? [];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll details" id="session" tabIndex={0}>
      <table>
        <tbody>
          <Fact name="state">
            <Pill state={session.state} />
          </Fact>
          <Fact name="client">
            <bdi>{session.client || '–'}</bdi> <bdi>{session.version}</bdi>
          </Fact>
          <Fact name="endpoint">
            {server === undefined ? (
              session.endpoint
            ) : (
              <Link to={{ actor: server, tab: 'log' }} go={go}>
                {session.endpoint}
              </Link>
            )}
          </Fact>
          {/* `legacy`: MCP with sessions. `modern`: stateless requests, since 2026-07-28. */}
          <Fact name="protocol era">{`${session.era}, ${session.protocol_version}`}</Fact>
          <Fact name="connected">{`since ${dateAndTime(session.opened_at)}, for ${span(now - session.opened_at)}`}</Fact>
          <Fact name="last message">{`${span(now - session.last_seen_at)} ago`}</Fact>
          <Fact name="open streams">{session.streams}</Fact>
          <Fact name="calls in flight">{session.in_flight}</Fact>
        </tbody>
      </table>
    </div>
  );
}

export function SessionsPane({ totals }: { readonly totals: Totals | null }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll details" tabIndex={0}>
      <table>
        <tbody>
          <Fact name="sessions">{totals?.sessions ?? '–'}</Fact>
          <Fact name="listening without a session">{totals?.listens ?? '–'}</Fact>
        </tbody>
      </table>
      {totals !== null && totals.sessions + totals.listens === 0 && (
        <p class="empty">
          No client is connected. Clients connect to /mcp for all servers, or to /mcp/SERVER for one.
        </p>
      )}
      <p class="empty">Sessions have no state machine, and their events are not logged.</p>
    </div>
  );
}
