// One run: how it stands, what it has used, and its steps as they become durable; the text of an answer while it is written.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { RunDetails } from '../../../http/api/run-shapes.ts';
import { actorAt, mailboxAddress, triggerAddress } from '../address.ts';
import { Commands } from '../banners/commands.tsx';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { useRun } from '../feed/use-run.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { mayAct } from '../rights.ts';
import { Fact } from '../tabs/fact.tsx';
import { clock, counted } from '../words.ts';
import { PlanPart } from './plan-part.tsx';
import { RunApprovals } from './run-approvals.tsx';
import { cardsOf } from './run-state.ts';
import { runFigures, waitText } from './run-words.ts';
import { StepCard } from './step-cards.tsx';

/** From the end, in pixels: whoever is there is kept there. */
const NEAR = 40;
const MAX_FAILURES = 5;

interface RunPaneProps {
  readonly id: string;
  readonly state: PageState;
  readonly go: Go;
}

export function RunPane({ id, state, go }: RunPaneProps) {
  const { shown, problem } = useRun(id);
  const { run, steps, text, plan } = shown;
  const isOver = run !== undefined && run.ended_at !== null;
  const cards = useMemo(() => cardsOf(steps, isOver), [steps, isOver]);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [cards, text]);
  const onScroll = ({
    currentTarget: { scrollTop, clientHeight, scrollHeight },
  }: Event & { currentTarget: HTMLElement }) => {
    isAtEnd.current = scrollTop > 0 && scrollTop + clientHeight > scrollHeight - NEAR;
  };
  if (run === undefined)
    return (
      <section class="pane" aria-label="The run">
        <p class="empty">{problem ?? 'Asking …'}</p>
      </section>
    );
  const left = run.steps_count - steps.length;
  return (
    <section class="pane" aria-label="The run" id="run">
      <div class="bar">
        <h1>
          <bdi>{run.name}</bdi>
        </h1>
        <Pill state={run.state} />
        <RunCommands run={run} mayAct={mayAct(state.totals)} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <div class="scroll details" tabIndex={0} ref={box} onScroll={onScroll}>
        {problem !== undefined && <p class="empty">{problem}</p>}
        {asks(run) && <RunApprovals id={id} now={state.at} mayAct={mayAct(state.totals)} go={go} />}
        {plan !== undefined && <PlanPart name={run.name} shown={shown} isOver={isOver} now={state.at} />}
        <dl class="figures">
          {runFigures(run, state.at).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <Facts run={run} state={state} go={go} />
        {run.steps_count === 0 && (
          <p class="empty">
            {run.ended_at === null
              ? 'No step has become durable yet.'
              : 'This one has no journal: its agent keeps none.'}
          </p>
        )}
        {left > 0 && steps.length > 0 && (
          <p class="empty">
            {left === 1
              ? `The first of ${counted(run.steps_count, 'step')} is left out.`
              : `The first ${left} of ${counted(run.steps_count, 'step')} are left out.`}
          </p>
        )}
        {plan !== undefined && <h2>All steps</h2>}
        <ol class="steps" aria-label="Steps">
          {cards.map((card) => (
            <StepCard key={card.n} card={card} />
          ))}
          {text !== '' && (
            <li class="step live" aria-label="The answer that is being written">
              <div class="head">
                <span>being written …</span>
              </div>
              <pre>{text}</pre>
            </li>
          )}
          {/* The last step of a journal contains the answer. */}
          {run.steps_count === 0 && run.answer !== null && (
            <li class="step">
              <div class="head">
                <span>answer</span>
              </div>
              <pre>{run.answer}</pre>
            </li>
          )}
        </ol>
      </div>
    </section>
  );
}

/** Of a flow, or a fleet, somebody may be asked while others go on. */
const asks = ({ kind, waiting_for, ended_at }: RunDetails): boolean =>
  waiting_for === 'approval' || ((kind === 'flow' || kind === 'fleet') && ended_at === null);

function RunCommands({ run, mayAct }: { readonly run: RunDetails; readonly mayAct: boolean }) {
  const path = `runs/${encodeURIComponent(run.id)}`;
  const canGoOn = run.state === 'failed' || run.state === 'cancelled';
  if (!mayAct) return null;
  if (run.ended_at === null) return <Commands key="cancel" commands={[['Cancel', `${path}/cancel`]]} />;
  return canGoOn ? <Commands key="retry" commands={[['Go on where it was', `${path}/retry`]]} /> : null;
}

function Facts({ run, state, go }: { readonly run: RunDetails } & Pick<RunPaneProps, 'state' | 'go'>) {
  const mailbox = mailboxAddress(run.conversation);
  const hasMailbox = actorAt(mailbox, state.actors) !== undefined;
  const hasTrigger = run.trigger !== null && state.triggers.has(run.trigger);
  const waits = waitText(run, state.at);
  return (
    <table>
      <tbody>
        <Fact name="id">{run.id}</Fact>
        {waits !== undefined && <Fact name="waits for">{waits}</Fact>}
        {run.note !== null && (
          <Fact name="note">
            <bdi>{run.note}</bdi>
          </Fact>
        )}
        <Fact name="model">{run.usage?.model ?? '–'}</Fact>
        <Fact name="trigger">
          {hasTrigger && run.trigger !== null ? (
            <Link to={{ actor: triggerAddress(run.trigger), tab: 'details' }} go={go}>
              {run.trigger}
            </Link>
          ) : (
            (run.trigger ?? '–')
          )}
        </Fact>
        <Fact name="conversation">
          {hasMailbox ? (
            <Link to={{ actor: mailbox, tab: 'log' }} go={go}>
              <bdi>{run.conversation}</bdi>
            </Link>
          ) : (
            <bdi>{run.conversation}</bdi>
          )}
        </Fact>
        <Fact name="came">{clock(run.received_at)}</Fact>
        {run.ended_at !== null && <Fact name="ended">{clock(run.ended_at)}</Fact>}
        {run.attempts > 1 && <Fact name="attempts">{run.attempts}</Fact>}
        {run.failures.slice(-MAX_FAILURES).map(({ attempt, at, note }) => (
          <Fact key={`${attempt} ${at}`} name={`attempt ${attempt} failed`}>
            {clock(at)} <bdi>{note}</bdi>
          </Fact>
        ))}
      </tbody>
    </table>
  );
}
