// The deliveries, the newest first, by state and trigger; a page at a time, asked for again while it is shown.

import { useEffect, useState } from 'preact/hooks';
import type { DeliveryRecord } from '../../../http/api/delivery-shapes.ts';
import { deliveriesView } from '../address.ts';
import { deliveries } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { ago, clock, counted, left } from '../words.ts';
import { askedBy, deliveryStates, queryFrom, queryOf, textOf } from './delivery-filter.ts';

const REFRESH_MS = 1_500;

interface DeliveryListProps {
  readonly state: PageState;
  readonly query: string;
  readonly chosen: string | undefined;
  readonly go: Go;
}

export function DeliveryList({ state, query, chosen, go }: DeliveryListProps) {
  const asked = askedBy(query);
  const { value, problem } = useAsked(`${asked}`, () => deliveries(asked), REFRESH_MS);
  const isFiltered = asked.has('state') || asked.has('trigger');
  const isFurther = asked.has('before');
  return (
    <section class="pane" aria-label="Deliveries">
      <div class="bar">
        <h1>Deliveries</h1>
        <Filter {...{ state, query, chosen, go }} />
      </div>
      {problem !== undefined && <p class="empty">{problem}</p>}
      {value === undefined && problem === undefined && <p class="empty">Asking …</p>}
      {value?.deliveries.length === 0 && (
        <p class="empty" id="no-deliveries">
          {emptyText(isFiltered, isFurther, value.next_before !== null)}
        </p>
      )}
      {value !== undefined && value.deliveries.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        <ul class="scroll records" aria-label="The newest first" tabIndex={0}>
          {value.deliveries.map((row) => (
            <Line
              key={row.id}
              row={row}
              now={state.at}
              to={deliveriesView(query, row.id)}
              isChosen={row.id === chosen}
              go={go}
            />
          ))}
        </ul>
      )}
      {value !== undefined && (
        <p class="foot pages">
          {counted(value.deliveries.length, 'delivery', 'deliveries')}
          {isFiltered && ' by this filter'}
          {isFurther && (
            <Link to={deliveriesView(queryFrom(query, undefined))} go={go}>
              From the newest
            </Link>
          )}
          {value.next_before !== null && (
            <Link to={deliveriesView(queryFrom(query, value.next_before))} go={go}>
              Older ones
            </Link>
          )}
        </p>
      )}
    </section>
  );
}

function emptyText(isFiltered: boolean, isFurther: boolean, hasMore: boolean): string {
  if (hasMore) return 'None among those that were looked at; there may be older ones.';
  if (isFurther) return 'There are no older ones.';
  if (isFiltered)
    return 'There are none of these: the filter takes states, and the name of a trigger. What has ended is forgotten after deliveries.retention_days of gateway.yaml.';
  return 'There are none yet. One begins with each event that a trigger takes in, each question to an agent, and each answer that is sent.';
}

function Filter({ state, query, chosen, go }: DeliveryListProps) {
  const [text, setText] = useState(() => textOf(query));
  const names = [...state.triggers.keys()];
  const own = queryFrom(query, undefined);
  // A link has led to another list; whoever types is left alone.
  useEffect(() => {
    if (queryOf(text, names) !== own) setText(textOf(query));
  }, [own]);
  const onInput = (typed: string): void => {
    setText(typed);
    go(deliveriesView(queryOf(typed, names), chosen), true);
  };
  const states = new URLSearchParams(own).get('state') ?? '';
  const withStates = (wanted: string): string => {
    const next = new URLSearchParams(own);
    if (wanted === '') next.delete('state');
    else next.set('state', wanted);
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
          <Link key={each} to={deliveriesView(withStates(each), chosen)} go={go} isCurrent={each === states}>
            {each === '' ? 'every state' : each}
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
  readonly isChosen: boolean;
  readonly go: Go;
}

function Line({ row, now, to, isChosen, go }: LineProps) {
  const { id, state, trigger, conversation, attempts, received_at, next_attempt_at, note } = row;
  const words = [
    trigger ?? conversation,
    ...(attempts > 0 ? [counted(attempts, 'attempt')] : []),
    ...(next_attempt_at === null ? [] : [`again in ${left(next_attempt_at, now)}`]),
  ];
  return (
    <li class={isChosen ? 'chosen' : ''} data-delivery={id}>
      <Link to={to} go={go} isCurrent={isChosen}>
        <bdi>{id}</bdi>
      </Link>{' '}
      <Pill state={state} />
      <span class="aside when" title={clock(received_at)}>{`${ago(received_at, now)} ago`}</span>
      <div class="aside">
        <bdi>{words.join(' · ')}</bdi>
      </div>
      {note !== null && (state === 'dead' || state === 'retrying') && (
        <div class="note">
          <bdi>{note}</bdi>
        </div>
      )}
    </li>
  );
}
