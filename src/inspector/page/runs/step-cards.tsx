// The steps of a run. Whatever a model, a tool or a person wrote is shown as text and never as anything else.

import type { ComponentChildren } from 'preact';
import type { StepRecord } from '../../../http/api/run-shapes.ts';
import { Pill } from '../pill.tsx';
import { clock, ms } from '../words.ts';
import type { Card } from './run-state.ts';
import { cost, tokens } from './run-words.ts';

/** A text that is longer than this is folded away at first. */
const SHORT = 400;

export function StepCard({ card }: { readonly card: Card }) {
  switch (card.kind) {
    case 'text':
      return (
        <Frame at={card.at} title={card.title} part={card.part}>
          <Text text={card.text} />
        </Frame>
      );
    case 'answer':
      return <Answer at={card.at} step={card.step} />;
    case 'call': {
      const { tool, call, took_ms, result } = card.step;
      return (
        <Frame
          at={card.at}
          part={card.step.part}
          title="tool"
          what={tool ?? call}
          state={card.state}
          more={[tookText(took_ms)]}
        >
          <Folded name="arguments" text={card.step.arguments} />
          <Folded name="result" text={result} />
        </Frame>
      );
    }
    case 'approval': {
      const { step, decided, state } = card;
      return (
        <Frame at={card.at} part={step.part} title="approval" what={step.tool} state={state}>
          <Folded name="arguments" text={step.arguments} />
          {decided !== undefined && (
            <p>
              {decided.by === undefined ? `${state} at ${clock(decided.at)}` : `${state} by `}
              {decided.by !== undefined && <bdi>{decided.by}</bdi>}
              {decided.by !== undefined && ` at ${clock(decided.at)}`}
            </p>
          )}
          {decided?.text !== undefined && <Text text={decided.text} />}
        </Frame>
      );
    }
  }
}

function Answer({ at, step }: { readonly at: string; readonly step: StepRecord }) {
  const { iteration, model, tokens: used, took_ms, text = '' } = step;
  const more = [
    tokens(used?.input, used?.output),
    step.cost === undefined ? undefined : `cost ${cost(step.cost)}`,
    tookText(took_ms),
  ];
  return (
    <Frame at={at} part={step.part} title={`answer ${iteration ?? ''}`} what={model} more={more}>
      <Text text={text} />
    </Frame>
  );
}

function tookText(tookMs: number | undefined): string | undefined {
  return tookMs === undefined ? undefined : `took ${ms(tookMs)}`;
}

interface FrameProps {
  readonly at: string;
  readonly title: string;
  /** Of a flow or a fleet: who. */
  readonly part?: string | undefined;
  readonly what?: string | undefined;
  readonly state?: string;
  readonly more?: readonly (string | undefined)[];
  readonly children: ComponentChildren;
}

function Frame({ at, title, part, what, state, more = [], children }: FrameProps) {
  const said = more.filter((each) => each !== undefined);
  return (
    <li class="step">
      <div class="head">
        <time>{clock(at).slice(0, 8)}</time>
        {part !== undefined && <bdi class="part">{part}</bdi>}
        <span>{title}</span>
        {what !== undefined && (
          <strong>
            <bdi>{what}</bdi>
          </strong>
        )}
        {state !== undefined && <Pill state={state} />}
        <span class="aside">{said.join(' · ')}</span>
      </div>
      {children}
    </li>
  );
}

/** Long ones begin with their beginning. */
function Text({ text }: { readonly text: string }) {
  if (text === '') return null;
  if (text.length <= 4 * SHORT) return <pre>{text}</pre>;
  return (
    <details>
      <summary>{`${text.slice(0, SHORT)} …`}</summary>
      <pre>{text}</pre>
    </details>
  );
}

function Folded({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined || text === '') return null;
  const line = text.length <= 80 && !text.includes('\n');
  return (
    <details>
      <summary>
        {name} <bdi class="aside">{line ? text : `${text.slice(0, 80).replace(/\s+/g, ' ')} …`}</bdi>
      </summary>
      <pre>{text}</pre>
    </details>
  );
}
