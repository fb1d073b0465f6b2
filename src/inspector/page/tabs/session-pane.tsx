// What there is to know of one session, or of all of them. They run no machine, so it stands where the chart of an actor does.

import type { Totals } from '../../wire/feed-wire.ts';
import { sessionPlace } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { clock, span } from '../words.ts';
import { Fact } from './fact.tsx';

const REFRESH_MS = 1_000;

interface SessionPaneProps {
  readonly number: number;
  readonly go: Go;
}

export function SessionPane({ number, go }: SessionPaneProps) {
  const { value, problem } = useAsked(`session ${number}`, () => sessionPlace(number, ''), REFRESH_MS);
  if (value === undefined) return <p class="empty">{problem ?? 'Asking …'}</p>;
  const { session, at } = value;
  const [, server] = /^\/mcp\/(.+)$/.exec(session.endpoint) ?? [];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
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
          <Fact name="era">{`${session.era}, ${session.protocol_version}`}</Fact>
          <Fact name="open">{`for ${span(at - session.opened_at)}, since ${clock(session.opened_at)}`}</Fact>
          <Fact name="last message">{`${span(at - session.last_seen_at)} ago`}</Fact>
          <Fact name="open streams">{session.streams}</Fact>
          <Fact name="calls in flight">{session.in_flight}</Fact>
        </tbody>
      </table>
    </div>
  );
}

export function SessionsPane({ totals }: { readonly totals: Totals | null }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div class="scroll details" tabIndex={0}>
      <table>
        <tbody>
          <Fact name="sessions">{totals?.sessions ?? '–'}</Fact>
          <Fact name="listening without a session">{totals?.listens ?? '–'}</Fact>
        </tbody>
      </table>
      {totals !== null && totals.sessions + totals.listens === 0 && (
        <p class="empty">
          No client is connected. Clients begin a session at /mcp, for all servers, or at /mcp/SERVER for one.
        </p>
      )}
      <p class="empty">
        Sessions are plain records: they run no machine, and their events are not in the log.
      </p>
    </div>
  );
}
