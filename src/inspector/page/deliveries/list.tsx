// Delivery list with a filter by state and trigger, newest first. Shows one page, and polls it.

import { useEffect, useState } from 'preact/hooks';
import type { DeliveryRecord } from '../../../http/api/delivery-shapes.ts';
import { deliveriesView } from '../address.ts';
import { fetchDeliveries } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { clock, pluralize, timeSince, timeUntil } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { deliveryStates, filterText, pageQuery, parseFilter, requestParams } from './filter.ts';

const REFRESH_MS = 1_500;

interface DeliveryListProps {
  readonly state: PageState;
  readonly query: string;
  readonly selected: string | undefined;
  readonly go: Go;
}

export function DeliveryList({ state, query, selected, go }: DeliveryListProps) {
  const params = requestParams(query);
  const { value, problem } = usePolled(`${params}`, () => fetchDeliveries(params), REFRESH_MS);
  const isFiltered = params.has('state') || params.has('trigger');
  const isLaterPage = params.has('before');
  return (
    <section class="pane" aria-label="Deliveries">
      <div class="bar">
        <h1>Deliveries</h1>
        <Filter state={state} query={query} selected={selected} go={go} />
      </div>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value === undefined && problem === undefined && <p class="empty">Loading …</p>}
      {value?.deliveries.length === 0 && (
        <p class="empty" id="no-deliveries">
          {emptyText(isFiltered, isLaterPage, value.next_before !== null)}
        </p>
      )}
      {value !== undefined && value.deliveries.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
        <ul class="scroll records" aria-label="Deliveries, newest first" tabIndex={0}>
          {value.deliveries.map((row) => (
            <DeliveryLine
              key={row.id}
              row={row}
              now={state.at}
              to={deliveriesView(query, row.id)}
              isSelected={row.id === selected}
              go={go}
            />
          ))}
        </ul>
      )}
      {value !== undefined && (
        <p class="foot pages">
          {pluralize(value.deliveries.length, 'delivery', 'deliveries')}
          {isFiltered && ' match the filter'}
          {isLaterPage && (
            <Link to={deliveriesView(pageQuery(query, undefined))} go={go}>
              Newest
            </Link>
          )}
          {value.next_before !== null && (
            <Link to={deliveriesView(pageQuery(query, value.next_before))} go={go}>
              Older
            </Link>
          )}
        </p>
      )}
    </section>
  );
}

function emptyText(isFiltered: boolean, isLaterPage: boolean, hasMore: boolean): string {
  if (hasMore) return 'No match on this page; there may be older deliveries.';
  if (isLaterPage) return 'No older deliveries.';
  if (isFiltered)
    return 'No deliveries match. The filter accepts states and a trigger name. Ended deliveries are deleted after deliveries.retention_days of gateway.yaml.';
  return 'No deliveries yet. Each accepted event, each request to an agent and each outbound message is a delivery.';
}

function Filter({ state, query, selected, go }: DeliveryListProps) {
  const [text, setText] = useState(() => filterText(query));
  const names = [...state.triggers.keys()];
  // The newest page is requested without a position, so the query contains only the filter.
  const filterQuery = pageQuery(query, undefined);
  // A link to another list changes the text; typing does not, because then the query matches the text.
  useEffect(() => {
    if (parseFilter(text, names) !== filterQuery) setText(filterText(query));
  }, [filterQuery]);
  const onInput = (input: string): void => {
    setText(input);
    go(deliveriesView(parseFilter(input, names), selected), { isReplacing: true });
  };
  const states = new URLSearchParams(filterQuery).get('state') ?? '';
  const withStates = (value: string): string => {
    const next = new URLSearchParams(filterQuery);
    if (value === '') next.delete('state');
    else next.set('state', value);
    return next.toString();
  };
  return (
    <>
      <input
        id="filter"
        type="search"
        placeholder="Filter, such as dead  ( / )"
        aria-label="Filter by state or trigger"
        value={text}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <nav class="choices" aria-label="State">
        {['', ...deliveryStates].map((each) => (
          <Link
            key={each}
            to={deliveriesView(withStates(each), selected)}
            go={go}
            isCurrent={each === states}
          >
            {each === '' ? 'all states' : each}
          </Link>
        ))}
      </nav>
    </>
  );
}

interface LineProps {
  readonly row: DeliveryRecord;
  readonly now: number;
  readonly to: ReturnType<typeof deliveriesView>;
  readonly isSelected: boolean;
  readonly go: Go;
}

function DeliveryLine({ row, now, to, isSelected, go }: LineProps) {
  const { id, state, trigger, conversation, attempts, received_at, next_attempt_at, note } = row;
  const facts = [
    trigger ?? conversation,
    ...(attempts > 0 ? [pluralize(attempts, 'attempt')] : []),
    ...(next_attempt_at === null ? [] : [`retry in ${timeUntil(next_attempt_at, now)}`]),
  ];
  return (
    <li class={isSelected ? 'selected' : ''} data-delivery={id}>
      <div class="head">
        <Link to={to} go={go} isCurrent={isSelected}>
          <bdi>{id}</bdi>
        </Link>
        <Pill state={state} />
        <span class="aside when" title={clock(received_at)}>{`${timeSince(received_at, now)} ago`}</span>
      </div>
      <div class="aside">
        <bdi>{facts.join(' · ')}</bdi>
      </div>
      {note !== null && (state === 'dead' || state === 'retrying') && (
        <div class="note">
          <bdi>{note}</bdi>
        </div>
      )}
    </li>
  );
}
