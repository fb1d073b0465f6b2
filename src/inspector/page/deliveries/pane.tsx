// One delivery (an accepted event or a message to a platform): state, content, failed attempts with reasons,
// and commands.

import type { DeliveryDetails } from '../../../http/api/delivery-shapes.ts';
import { runView, triggerAddress } from '../address.ts';
import { Commands } from '../banners/commands.tsx';
import { deliveryPath, fetchDelivery } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { clock, pluralize, timeSince, timeUntil } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { actionHint, mayAct } from '../rights.ts';
import { Fact } from '../tabs/fact.tsx';
import { readableJson } from '../visible-text.ts';

const REFRESH_MS = 1_500;
/** States in which the gateway accepts each command. */
const replayableStates: readonly string[] = ['done', 'dead', 'ignored', 'waiting'];
const discardableStates: readonly string[] = ['queued', 'retrying', 'held', 'waiting', 'dead'];

interface DeliveryPaneProps {
  readonly id: string;
  readonly state: PageState;
  readonly go: Go;
}

export function DeliveryPane({ id, state, go }: DeliveryPaneProps) {
  const { value: delivery, problem } = usePolled(`delivery ${id}`, () => fetchDelivery(id), REFRESH_MS);
  if (delivery === undefined)
    return (
      <section class="pane" aria-label="Delivery details">
        <p class="empty">{problem ?? 'Loading …'}</p>
      </section>
    );
  return (
    <section class="pane" aria-label="Delivery details" id="delivery">
      <div class="bar">
        <h2>
          <bdi>{delivery.id}</bdi>
        </h2>
        <Pill state={delivery.state} />
        <Actions delivery={delivery} mayAct={mayAct(state.totals)} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
      <div class="scroll details" tabIndex={0}>
        <Facts delivery={delivery} now={state.at} state={state} go={go} />
        <h3>Body</h3>
        <Body delivery={delivery} />
        <h3>Failed attempts</h3>
        <Failures delivery={delivery} />
        {delivery.answer !== null && (
          <>
            <h3>Response</h3>
            <pre>{delivery.answer}</pre>
          </>
        )}
      </div>
    </section>
  );
}

function Actions({ delivery, mayAct }: { readonly delivery: DeliveryDetails; readonly mayAct: boolean }) {
  const { id, state } = delivery;
  const path = deliveryPath(id);
  // Label, path, and text after success.
  const commands = [
    ...(replayableStates.includes(state) ? [['Replay', `${path}/replay`, 'queued again'] as const] : []),
    ...(discardableStates.includes(state) ? [['Discard', `${path}/discard`] as const] : []),
  ];
  if (!mayAct)
    return <span class="aside">{actionHint('replay or discard it')}, or use the command `deliveries`.</span>;
  return <Commands key={id} commands={commands} />;
}

interface FactsProps {
  readonly delivery: DeliveryDetails;
  readonly now: number;
  readonly state: PageState;
  readonly go: Go;
}

function Facts({ delivery, now, state, go }: FactsProps) {
  const { trigger, attempts, crashes, deferrals, note, waiting_for, until, next_attempt_at } = delivery;
  const { received_at, started_at, ended_at, principal, receipt, has_run, id, kind, conversation } = delivery;
  return (
    <table>
      <tbody>
        {note !== null && (
          <Fact name="note">
            <bdi>{note}</bdi>
          </Fact>
        )}
        <Fact name="trigger">
          {trigger !== null && state.triggers.has(trigger) ? (
            <Link to={{ actor: triggerAddress(trigger), tab: 'details' }} go={go}>
              {trigger}
            </Link>
          ) : (
            (trigger ?? '– (unknown before the first attempt)')
          )}
        </Fact>
        <Fact name="kind">{kind}</Fact>
        <Fact name="conversation">
          <bdi>{conversation}</bdi>
        </Fact>
        {has_run && (
          <Fact name="run">
            <Link to={runView(id)} go={go}>
              steps
            </Link>
          </Fact>
        )}
        <Fact name="sent by">{principal ?? 'anonymous'}</Fact>
        <Fact name="received">{`${clock(received_at)}, ${timeSince(received_at, now)} ago`}</Fact>
        {started_at !== null && <Fact name="last attempt">{clock(started_at)}</Fact>}
        {ended_at !== null && <Fact name="ended">{clock(ended_at)}</Fact>}
        <Fact name="attempts">
          {attempts}
          {crashes > 0 && `, ${crashes} interrupted by a gateway crash`}
          {deferrals > 0 && `, deferred ${deferrals === 1 ? 'once' : pluralize(deferrals, 'time')}`}
        </Fact>
        {next_attempt_at !== null && (
          <Fact name="next attempt">{`in ${timeUntil(next_attempt_at, now)}`}</Fact>
        )}
        {waiting_for !== null && (
          <Fact name="waits for">
            <bdi>{waiting_for}</bdi>
            {until !== null && `, for at most ${timeUntil(until, now)}`}
          </Fact>
        )}
        {/* Id that the platform gave to the sent message. */}
        {receipt !== null && (
          <Fact name="receipt">
            <bdi>{receipt}</bdi>
          </Fact>
        )}
      </tbody>
    </table>
  );
}

function Body({ delivery }: { readonly delivery: DeliveryDetails }) {
  const { bytes, text, is_cut } = delivery.body;
  if (bytes === 0) return <p class="empty">Empty.</p>;
  if (text === undefined)
    return (
      <p class="empty">{`${pluralize(bytes, 'byte')} of binary data; use the command "deliveries show".`}</p>
    );
  return (
    <>
      <pre>{is_cut ? text : readableJson(text)}</pre>
      {is_cut && (
        <p class="empty" id="body-cut">
          {`Truncated: ${pluralize(bytes, 'byte')} in total. Use the command "deliveries show" for more.`}
        </p>
      )}
    </>
  );
}

function Failures({ delivery }: { readonly delivery: DeliveryDetails }) {
  if (delivery.failures.length === 0)
    return <p class="empty">{delivery.attempts === 0 ? 'Not attempted yet.' : 'No attempt failed.'}</p>;
  return (
    <table>
      <tbody>
        {delivery.failures.map(({ attempt, at, note }) => (
          <Fact key={`${attempt} ${at}`} name={`attempt ${attempt}`}>
            {clock(at)} <bdi>{note}</bdi>
          </Fact>
        ))}
      </tbody>
    </table>
  );
}
