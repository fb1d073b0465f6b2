// Details of an actor and its server or trigger. The root also shows the last dead letters (events that no
// actor received). The conversations and the outbox (messages to platforms) also show the last waiting and
// dead deliveries.

import type { ServerDetails } from '../../../http/api/server-shapes.ts';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import { addressOf, runView, triggerAddress, triggerAt } from '../address.ts';
import { triggerFigures, workAt } from '../automation-figures.ts';
import { fetchDeadLetters, fetchDeliveries } from '../feed/api.ts';
import { type Go, type PollResult, usePolled } from '../feed/hooks.ts';
import type { ActorView, PageState } from '../feed/page-state.ts';
import { clock, pluralize, timeUntil } from '../format.ts';
import { Link } from '../link.tsx';
import { eventText, stateText } from '../state-text.ts';
import { escapeName } from '../visible-text.ts';
import { Fact } from './fact.tsx';

const MAX_SHOWN = 50;
const REFRESH_MS = 2_000;

interface DetailsTabProps {
  readonly state: PageState;
  readonly actor: ActorView | undefined;
  readonly details: PollResult<ServerDetails> | undefined;
  readonly address: string;
  readonly go: Go;
}

export function DetailsTab({ state, actor, details, address, go }: DetailsTabProps) {
  const trigger = state.triggers.get(triggerAt(address) ?? '');
  const parent = actor?.parent === null ? undefined : state.actors.get(actor?.parent ?? '');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll details" tabIndex={0}>
      <table>
        <tbody>
          {actor !== undefined && (
            <>
              <Fact name="actor">{`${actor.name}, ${actor.id}`}</Fact>
              <Fact name="machine">{actor.machine ?? 'none'}</Fact>
              <Fact name="state">{stateText(actor.state)}</Fact>
              {Object.entries(actor.context ?? {}).map(([key, value]) => (
                <Fact key={key} name={key}>
                  {String(value)}
                </Fact>
              ))}
              <Fact name="last event">
                {actor.last === null ? '–' : `${eventText(actor.last.event)} at ${clock(actor.last.at)}`}
              </Fact>
            </>
          )}
          {parent !== undefined && (
            <Fact name="parent">
              <Link to={{ actor: addressOf(parent, state.actors), tab: 'details' }} go={go}>
                {parent.name}
              </Link>
            </Fact>
          )}
          {trigger !== undefined && <TriggerFacts trigger={trigger} now={state.at} />}
          {details?.value !== undefined && <ServerFacts server={details.value} />}
        </tbody>
      </table>
      {details?.problem !== undefined && <p class="empty">{details.problem}</p>}
      {actor?.parent === null && <DeadLetters />}
      {workAt(state.totals?.automation, address) !== undefined && (
        <>
          <WaitingDeliveries go={go} now={state.at} />
          <DeadDeliveries go={go} />
        </>
      )}
    </div>
  );
}

function ServerFacts({ server }: { readonly server: ServerDetails }) {
  const { last_error, connections, tools, lists } = server;
  return (
    <>
      <Fact name="runtime">{`${server.runtime}, isolation ${server.isolation}`}</Fact>
      <Fact name="protocol eras">{server.eras.join(', ') || 'not known yet'}</Fact>
      <Fact name="running since">{server.started_at ?? '–'}</Fact>
      <Fact name="last used">{server.last_used_at ?? '–'}</Fact>
      <Fact name="next retry">{server.next_retry_at ?? '–'}</Fact>
      <Fact name="last error">{last_error === null ? '–' : `${last_error.code}: ${last_error.message}`}</Fact>
      <Fact name="connections">
        {connections.length === 0 && '–'}
        {connections.slice(0, MAX_SHOWN).map((connection, index) => (
          <div key={index}>
            {connection.session ?? 'shared'}
            {connection.pid !== null && `, pid ${connection.pid}`}
            {connection.is_open ? '' : ', closing or opening'}
            {`, ${connection.in_flight} in flight`}
            {connection.protocol_version !== null && `, ${connection.protocol_version}`}
          </div>
        ))}
        {connections.length > MAX_SHOWN && `and ${connections.length - MAX_SHOWN} more`}
      </Fact>
      <Fact name={`tools (${tools.length})`}>{tools.slice(0, MAX_SHOWN).join(', ') || '–'}</Fact>
      <InvalidItems lists={lists} />
    </>
  );
}

/** One fact for each list with invalid items. */
function InvalidItems({ lists }: Pick<ServerDetails, 'lists'>) {
  return Object.entries(lists).map(([name, list]) => {
    if (!list?.invalid) return null;
    const { repaired, omitted, items } = list.invalid;
    const hiddenCount = repaired + omitted - items.length;
    return (
      <Fact key={name} name={`invalid ${name.replace('_', ' ')}`}>
        {`${repaired} repaired and ${omitted} omitted in merged lists`}
        {items.map((item, index) => (
          <div key={index}>{`${escapeName(item.name)}: ${item.outcome}, ${escapeName(item.reason)}`}</div>
        ))}
        {hiddenCount > 0 && <div>{`and ${hiddenCount} more`}</div>}
      </Fact>
    );
  });
}

function TriggerFacts({ trigger, now }: { readonly trigger: TriggerState; readonly now: number }) {
  return (
    <>
      <Fact name="type">{trigger.type}</Fact>
      {triggerFigures(trigger, now).map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
      <Fact name="last error">{trigger.last_error ?? '–'}</Fact>
    </>
  );
}

function TriggerLink({ name, go }: { readonly name: string | null; readonly go: Go }) {
  if (name === null) return null;
  return (
    <>
      <Link to={{ actor: triggerAddress(name), tab: 'details' }} go={go}>
        {name}
      </Link>
      {', '}
    </>
  );
}

const newest = async (state: string) => (await fetchDeliveries({ state, limit: `${MAX_SHOWN}` })).deliveries;

function WaitingDeliveries({ go, now }: { readonly go: Go; readonly now: number }) {
  const { value, problem } = usePolled('waiting deliveries', () => newest('waiting'), REFRESH_MS);
  if (problem !== undefined) return <p class="empty">{problem}</p>;
  if (value === undefined || value.length === 0) return <p class="empty">No waiting deliveries.</p>;
  return (
    <table>
      <caption>Waiting deliveries, newest first</caption>
      <tbody>
        {value.map(({ id, trigger, waiting_for, until, note }) => (
          <Fact key={id} name={id}>
            <TriggerLink name={trigger} go={go} />
            {waiting_for?.startsWith('approval ') ? (
              <Link to={runView(id)} go={go}>
                for an approval
              </Link>
            ) : (
              `for ${waiting_for}`
            )}
            {until !== null && `, for at most ${timeUntil(until, now)}`}
            {note !== null && <div>{note}</div>}
          </Fact>
        ))}
      </tbody>
    </table>
  );
}

function DeadDeliveries({ go }: { readonly go: Go }) {
  const { value, problem } = usePolled('dead deliveries', () => newest('dead'), REFRESH_MS);
  if (problem !== undefined) return <p class="empty">{problem}</p>;
  if (value === undefined || value.length === 0) return <p class="empty">No dead deliveries.</p>;
  return (
    <table>
      <caption>Dead deliveries, newest first; use the command `deliveries show` for details</caption>
      <tbody>
        {value.map(({ id, trigger, attempts, ended_at, note }) => (
          <Fact key={id} name={id}>
            <TriggerLink name={trigger} go={go} />
            {pluralize(attempts, 'attempt')}
            {ended_at !== null && `, ${clock(ended_at).slice(0, 8)}`}
            {note !== null && <div>{note}</div>}
          </Fact>
        ))}
      </tbody>
    </table>
  );
}

function DeadLetters() {
  const { value } = usePolled('dead letters', fetchDeadLetters, REFRESH_MS);
  if (value === undefined || value.length === 0) return <p class="empty">No dead letters.</p>;
  return (
    <table>
      <caption>Dead letters, newest first</caption>
      <tbody>
        {[...value].reverse().map(({ type, target }, index) => (
          <Fact key={index} name={target}>
            {type}
          </Fact>
        ))}
      </tbody>
    </table>
  );
}
