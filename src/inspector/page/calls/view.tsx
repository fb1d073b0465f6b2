// Recent calls of clients, newest first, with a filter by result and server. Shows one page, and polls it.

import type { CallRecord } from '../../../http/api/call-shapes.ts';
import { callsView, serverAddress } from '../address.ts';
import { fetchCalls } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { count, dateAndTime, ms } from '../format.ts';
import { Link } from '../link.tsx';
import { PageFoot } from '../page-foot.tsx';
import { Pill } from '../pill.tsx';
import { requestParams, resultChoices, withValue } from './filter.ts';

const REFRESH_MS = 1_500;

interface CallsViewProps {
  readonly state: PageState;
  readonly query: string;
  readonly go: Go;
}

export function CallsView({ state, query, go }: CallsViewProps) {
  const params = requestParams(query);
  const { value, problem } = usePolled(`calls ${params}`, () => fetchCalls(params), REFRESH_MS);
  // `of` is the parameter of the API for the filter by server.
  const isFiltered = params.has('outcome') || params.has('of');
  return (
    <section class="pane" aria-label="Calls">
      <div class="bar">
        <h1>Calls</h1>
        <Filter state={state} query={query} go={go} />
      </div>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value === undefined && problem === undefined && <p class="empty">Loading …</p>}
      {value?.calls.length === 0 && (
        <p class="empty" id="no-calls">
          {emptyText(isFiltered, params.has('before'))}
        </p>
      )}
      {value !== undefined && value.calls.length > 0 && (
        <CallTable calls={value.calls} state={state} go={go} />
      )}
      {value !== undefined && (
        <PageFoot
          count={value.calls.length}
          noun="call"
          isFiltered={isFiltered}
          isNewest={!params.has('before')}
          nextBefore={value.next_before}
          pageAt={(before) => callsView(withValue(query, 'before', before))}
          go={go}
        />
      )}
    </section>
  );
}

function emptyText(isFiltered: boolean, isLaterPage: boolean): string {
  if (isLaterPage) return 'No older calls.';
  if (isFiltered)
    return 'No calls match. The gateway keeps a fixed number of recent calls, and of failed or slow ones.';
  return 'No calls yet. Each request of a client, an agent or a flow to a server is a call. Connect a client, or try: actor-gateway tools call SERVER TOOL.';
}

function Filter({ state, query, go }: CallsViewProps) {
  const params = new URLSearchParams(query);
  const outcome = params.get('outcome') ?? '';
  const server = params.get('server') ?? '';
  // A removed server may have calls.
  const names = [...new Set([...state.servers.keys(), server])].filter(Boolean).sort();
  return (
    <>
      <nav class="choices" aria-label="Result">
        {resultChoices.map((choice) => (
          <Link
            key={choice}
            to={callsView(withValue(query, 'outcome', choice))}
            go={go}
            isCurrent={choice === outcome}
          >
            {choice === '' ? 'all results' : choice}
          </Link>
        ))}
      </nav>
      <select
        aria-label="Server"
        value={server}
        onChange={({ currentTarget }) => go(callsView(withValue(query, 'server', currentTarget.value)))}
      >
        <option value="">all servers</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  );
}

interface CallTableProps {
  readonly calls: readonly CallRecord[];
  readonly state: PageState;
  readonly go: Go;
}

function CallTable({ calls, state, go }: CallTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll details" tabIndex={0}>
      <table class="calls" aria-label="Calls, newest first">
        <thead>
          <tr>
            {['ended', 'server', 'tool', 'result', 'duration', 'bytes', 'client'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <CallRow key={call.n} call={call} hasServer={state.servers.has(call.server ?? '')} go={go} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CallRowProps {
  readonly call: CallRecord;
  /** True if the server is in the catalog. */
  readonly hasServer: boolean;
  readonly go: Go;
}

function CallRow({ call, hasServer, go }: CallRowProps) {
  const { n, at, server, tool, method, outcome, bytes, client, session, code, request_id } = call;
  return (
    <tr data-call={n}>
      <td title={at}>{dateAndTime(at)}</td>
      <td>
        {hasServer && server !== null ? (
          <Link to={{ actor: serverAddress(server), tab: 'log' }} go={go}>
            {server}
          </Link>
        ) : (
          (server ?? '–')
        )}
      </td>
      <td>{tool === null ? <span class="aside">{method}</span> : <bdi>{tool}</bdi>}</td>
      <td>
        <Pill state={outcome} />{' '}
        {code !== null && (
          <span class="aside" title={request_id === null ? undefined : `request ${request_id}`}>
            {code}
          </span>
        )}
      </td>
      <td>{ms(call.ms)}</td>
      <td>{count(bytes)}</td>
      <td>
        <bdi>{client ?? '–'}</bdi>
        {session !== null && <span class="aside">{` session ${session}`}</span>}
      </td>
    </tr>
  );
}
