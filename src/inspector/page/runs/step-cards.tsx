// Steps of a run. Texts of models, tools and persons are always rendered as plain text.

import type { ComponentChildren } from 'preact';
import type { StepRecord } from '../../../http/api/run-shapes.ts';
import { clock, ms } from '../format.ts';
import { Pill } from '../pill.tsx';
import { cost, tokens } from './figures.ts';
import type { Card } from './state.ts';

/** Length in characters up to which a text is always displayed. A longer text is collapsed. */
const MAX_EXPANDED = 1_600;
/** Displayed length of a collapsed text, in characters. */
const MAX_BEGINNING = 400;
/** Displayed length of collapsed arguments and results, in characters. */
const MAX_SUMMARY = 80;

export function StepCard({ card }: { readonly card: Card }) {
  switch (card.kind) {
    case 'text':
      return (
        <CardFrame at={card.at} title={card.title} part={card.part}>
          <Text text={card.text} />
        </CardFrame>
      );
    case 'answer':
      return <Answer at={card.at} step={card.step} />;
    case 'call': {
      const { tool, call, took_ms, result } = card.step;
      return (
        <CardFrame
          at={card.at}
          part={card.step.part}
          title="tool"
          subject={tool ?? call}
          state={card.state}
          more={[tookText(took_ms)]}
        >
          <CollapsedText name="arguments" text={card.step.arguments} />
          <CollapsedText name="result" text={result} />
        </CardFrame>
      );
    }
    case 'approval': {
      const { step, decision, state } = card;
      return (
        <CardFrame at={card.at} part={step.part} title="approval" subject={step.tool} state={state}>
          <CollapsedText name="arguments" text={step.arguments} />
          {decision !== undefined && (
            <p>
              {decision.by === undefined ? `${state} at ${clock(decision.at)}` : `${state} by `}
              {decision.by !== undefined && <bdi>{decision.by}</bdi>}
              {decision.by !== undefined && ` at ${clock(decision.at)}`}
            </p>
          )}
          {decision?.text !== undefined && <Text text={decision.text} />}
        </CardFrame>
      );
    }
  }
}

function Answer({ at, step }: { readonly at: string; readonly step: StepRecord }) {
  const { iteration, model, tokens: usage, took_ms, text = '' } = step;
  const more = [
    tokens(usage?.input, usage?.output),
    step.cost === undefined ? undefined : `cost ${cost(step.cost)}`,
    tookText(took_ms),
  ];
  return (
    <CardFrame at={at} part={step.part} title={`response ${iteration ?? ''}`} subject={model} more={more}>
      <Text text={text} />
    </CardFrame>
  );
}

function tookText(tookMs: number | undefined): string | undefined {
  return tookMs === undefined ? undefined : `took ${ms(tookMs)}`;
}

interface CardFrameProps {
  readonly at: string;
  readonly title: string;
  /** Node or member, in a flow or a fleet. */
  readonly part?: string | undefined;
  readonly subject?: string | undefined;
  readonly state?: string;
  readonly more?: readonly (string | undefined)[];
  readonly children: ComponentChildren;
}

function CardFrame({ at, title, part, subject, state, more = [], children }: CardFrameProps) {
  const details = more.filter((each) => each !== undefined);
  return (
    <li class="step">
      <div class="head">
        <time>{clock(at).slice(0, 8)}</time>
        {part !== undefined && <bdi class="part">{part}</bdi>}
        <span>{title}</span>
        {subject !== undefined && (
          <strong>
            <bdi>{subject}</bdi>
          </strong>
        )}
        {state !== undefined && <Pill state={state} />}
        <span class="aside">{details.join(' · ')}</span>
      </div>
      {children}
    </li>
  );
}

/** Collapses a long text to its beginning. */
function Text({ text }: { readonly text: string }) {
  if (text === '') return null;
  if (text.length <= MAX_EXPANDED) return <pre>{text}</pre>;
  return (
    <details>
      <summary>{`${text.slice(0, MAX_BEGINNING)} …`}</summary>
      <pre>{text}</pre>
    </details>
  );
}

function CollapsedText({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined || text === '') return null;
  const isShort = text.length <= MAX_SUMMARY && !text.includes('\n');
  const summary = isShort ? text : `${text.slice(0, MAX_SUMMARY).replace(/\s+/g, ' ')} …`;
  return (
    <details>
      <summary>
        {name} <bdi class="aside">{summary}</bdi>
      </summary>
      <pre>{text}</pre>
    </details>
  );
}
