// One delivery: how it stands, what came in it, each attempt that failed and why, and what may be done about it.

import type { DeliveryDetails } from '../../../http/api/delivery-shapes.ts';
import { runView, triggerAddress } from '../address.ts';
import { Commands } from '../banners/commands.tsx';
import { delivery as asked, deliveryPath } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { howToAct, mayAct } from '../rights.ts';
import { Fact } from '../tabs/fact.tsx';
import { readableJson } from '../visible-text.ts';
import { ago, clock, counted, left } from '../words.ts';

const REFRESH_MS = 1_500;
/** The states in which the gateway takes each. */
const mayRunAgain: readonly string[] = ['done', 'dead', 'ignored', 'waiting'];
const mayBeDiscarded: readonly string[] = ['queued', 'retrying', 'held', 'waiting', 'dead'];

interface DeliveryPaneProps {
  readonly id: string;
  readonly state: PageState;
  readonly go: Go;
}

export function DeliveryPane({ id, state, go }: DeliveryPaneProps) {
  const { value: delivery, problem } = useAsked(`delivery ${id}`, () => asked(id), REFRESH_MS);
  if (delivery === undefined)
    return (
      <section class="pane" aria-label="The delivery">
        <p class="empty">{problem ?? 'Asking …'}</p>
      </section>
    );
  return (
    <section class="pane" aria-label="The delivery" id="delivery">
      <div class="bar">
        <h2>
          <bdi>{delivery.id}</bdi>
        </h2>
        <Pill state={delivery.state} />
        <Actions delivery={delivery} mayAct={mayAct(state.totals)} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <div class="scroll details" tabIndex={0}>
        <Facts delivery={delivery} now={state.at} state={state} go={go} />
        <h3>Body</h3>
        <Body delivery={delivery} />
        <h3>Attempts that failed</h3>
        <Failures delivery={delivery} />
        {delivery.answer !== null && (
          <>
            <h3>Answer</h3>
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
  const possible = [
    ...(mayRunAgain.includes(state) ? [['Replay', `${path}/replay`, 'it is queued once more'] as const] : []),
    ...(mayBeDiscarded.includes(state) ? [['Discard', `${path}/discard`] as const] : []),
  ];
  if (!mayAct)
    return <span class="aside">{howToAct('replay or discard it')}; or use the command deliveries.</span>;
  return <Commands key={id} commands={possible} />;
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
            (trigger ?? '– (none before its first attempt has ended)')
          )}
        </Fact>
        <Fact name="kind">{kind}</Fact>
        <Fact name="conversation">
          <bdi>{conversation}</bdi>
        </Fact>
        {has_run && (
          <Fact name="run">
            <Link to={runView(id)} go={go}>
              its steps
            </Link>
          </Fact>
        )}
        <Fact name="sent by">{principal ?? 'nobody'}</Fact>
        <Fact name="came">{`${clock(received_at)}, ${ago(received_at, now)} ago`}</Fact>
        {started_at !== null && <Fact name="last attempt">{clock(started_at)}</Fact>}
        {ended_at !== null && <Fact name="ended">{clock(ended_at)}</Fact>}
        <Fact name="attempts">
          {attempts}
          {crashes > 0 && `, ${crashes} of them ended with the gateway`}
          {deferrals > 0 && `, put off ${deferrals === 1 ? 'once' : counted(deferrals, 'time')}`}
        </Fact>
        {next_attempt_at !== null && <Fact name="next attempt">{`in ${left(next_attempt_at, now)}`}</Fact>}
        {waiting_for !== null && (
          <Fact name="waits for">
            <bdi>{waiting_for}</bdi>
            {until !== null && `, until in ${left(until, now)}`}
          </Fact>
        )}
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
  if (bytes === 0) return <p class="empty">It is empty.</p>;
  if (text === undefined)
    return (
      <p class="empty">
        {`${counted(bytes, 'byte')} that are no text; the command deliveries show gives them.`}
      </p>
    );
  return (
    <>
      <pre>{is_cut ? text : readableJson(text)}</pre>
      {is_cut && (
        <p class="empty" id="body-cut">
          {`Cut here: it has ${counted(bytes, 'byte')}. The command deliveries show gives more of it.`}
        </p>
      )}
    </>
  );
}

function Failures({ delivery }: { readonly delivery: DeliveryDetails }) {
  if (delivery.failures.length === 0)
    return <p class="empty">{delivery.attempts === 0 ? 'It was not attempted yet.' : 'None has failed.'}</p>;
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
