// One run: state, usage, stored steps, and the answer text in progress. Updated by the event stream of the
// run.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { RunDetails } from '../../../http/api/run-shapes.ts';
import { actorAt, mailboxAddress, triggerAddress } from '../address.ts';
import { Commands } from '../banners/commands.tsx';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { useRun } from '../feed/use-run.ts';
import { clock, pluralize } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { mayAct } from '../rights.ts';
import { Fact } from '../tabs/fact.tsx';
import { runFigures, waitText } from './figures.ts';
import { RunApprovals } from './pending-approvals.tsx';
import { PlanPart } from './plan-view.tsx';
import { cardsOf } from './state.ts';
import { StepCard } from './step-cards.tsx';

/** Distance from the end, in pixels, within which the view follows new steps. */
const NEAR = 40;
const MAX_FAILURES = 5;

interface RunPaneProps {
  readonly id: string;
  readonly state: PageState;
  readonly go: Go;
}

export function RunPane({ id, state, go }: RunPaneProps) {
  const { runState, problem } = useRun(id);
  const { run, steps, text, plan } = runState;
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
      <section class="pane" aria-label="Run details">
        <p class="empty">{problem ?? 'Loading …'}</p>
      </section>
    );
  const omitted = run.steps_count - steps.length;
  return (
    <section class="pane" aria-label="Run details" id="run">
      <div class="bar">
        <h1>
          <bdi>{run.name}</bdi>
        </h1>
        <Pill state={run.state} />
        <RunCommands run={run} mayAct={mayAct(state.totals)} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
      <div class="scroll details" tabIndex={0} ref={box} onScroll={onScroll}>
        {problem !== undefined && <p class="empty">{problem}</p>}
        {mayHaveApprovals(run) && (
          <RunApprovals id={id} now={state.at} mayAct={mayAct(state.totals)} go={go} />
        )}
        {plan !== undefined && (
          <PlanPart name={run.name} runState={runState} isOver={isOver} now={state.at} />
        )}
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
              ? 'No durable steps yet.'
              : 'No journal: this agent does not record steps.'}
          </p>
        )}
        {omitted > 0 && steps.length > 0 && (
          <p class="empty">
            {omitted === 1
              ? `The first of ${pluralize(run.steps_count, 'step')} is omitted.`
              : `The first ${omitted} of ${pluralize(run.steps_count, 'step')} are omitted.`}
          </p>
        )}
        {plan !== undefined && <h2>All steps</h2>}
        <ol class="steps" aria-label="Steps">
          {cards.map((card) => (
            <StepCard key={card.n} card={card} />
          ))}
          {text !== '' && (
            <li class="step live" aria-label="Response in progress">
              <div class="head">
                <span>writing …</span>
              </div>
              <pre>{text}</pre>
            </li>
          )}
          {/* With a journal, the last step contains the response. */}
          {run.steps_count === 0 && run.answer !== null && (
            <li class="step">
              <div class="head">
                <span>response</span>
              </div>
              <pre>{run.answer}</pre>
            </li>
          )}
        </ol>
      </div>
    </section>
  );
}

/** Returns true if a part of the run can wait for approval. */
const mayHaveApprovals = ({ kind, waiting_for, ended_at }: RunDetails): boolean =>
  waiting_for === 'approval' || ((kind === 'flow' || kind === 'fleet') && ended_at === null);

function RunCommands({ run, mayAct }: { readonly run: RunDetails; readonly mayAct: boolean }) {
  const path = `runs/${encodeURIComponent(run.id)}`;
  const canRetry = run.state === 'failed' || run.state === 'cancelled';
  if (!mayAct) return null;
  if (run.ended_at === null) return <Commands key="cancel" commands={[['Cancel', `${path}/cancel`]]} />;
  return canRetry ? (
    <Commands key="retry" commands={[['Retry from the last step', `${path}/retry`]]} />
  ) : null;
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
        {waits !== undefined && <Fact name="waiting for">{waits}</Fact>}
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
        <Fact name="received">{clock(run.received_at)}</Fact>
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
