// The chosen actor's machine as a chart: where it is, how it got there, and where it can go.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { MachineDefinition } from '../../wire/feed-wire.ts';
import type { ActorView } from '../feed/store.ts';
import { eventText } from '../state-words.ts';
import { clock } from '../words.ts';
import { smooth } from './arrow-path.ts';
import { type Arrow, type Box, type Chart, LINE, layoutOf } from './chart-layout.ts';
import { lightOf } from './chart-light.ts';
import { bringIntoSight } from './into-sight.ts';

/** A chart shrinks so far to fit its place, and scrolls beyond. */
const SMALLEST = 0.6;
const DOT = 4;

interface ChartPaneProps {
  readonly actor: ActorView;
  readonly definition: MachineDefinition | undefined;
  /** Mailboxes of a kind of work stand under it. */
  readonly isWork: boolean;
}

export function ChartPane({ actor, definition, isWork }: ChartPaneProps) {
  const chart = useMemo(() => definition && layoutOf(definition), [definition]);
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef(actor.id);
  // Where the page itself scrolls, the chart is above the tree in which another actor was chosen.
  useLayoutEffect(() => {
    if (shown.current !== actor.id) box.current?.closest('.pane')?.scrollIntoView({ block: 'nearest' });
    shown.current = actor.id;
  }, [actor.id]);
  if (chart === undefined)
    return <p class="empty">{actor.machine === null ? withoutMachine(isWork) : 'No chart yet.'}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div class="chart" tabIndex={0} ref={box}>
      <Picture chart={chart} actor={actor} />
      <p class="foot">
        {chart.everywhere.length > 0 &&
          `In any state: ${chart.everywhere.map(({ text }) => text).join(', ')}. `}
        {actor.last !== null && `Last event: ${eventText(actor.last.event)} at ${clock(actor.last.at)}.`}
      </p>
    </div>
  );
}

function withoutMachine(isWork: boolean): string {
  const more = isWork ? ' Those below it do, one for each key that has something to do.' : '';
  return `This actor runs no machine.${more}`;
}

function Picture({ chart, actor }: { readonly chart: Chart; readonly actor: ActorView }) {
  const light = lightOf(chart, actor.state, actor.last);
  const active = [...light.active].join(', ');
  const picture = useRef<SVGSVGElement>(null);
  // The innermost: what is around it may be larger than the place.
  useLayoutEffect(
    () =>
      bringIntoSight(picture.current, [...(picture.current?.querySelectorAll('.box.active') ?? [])].at(-1)),
    [chart, active],
  );
  return (
    <svg
      ref={picture}
      role="img"
      aria-label={`State chart of ${chart.machine}; active: ${active}`}
      viewBox={`0 0 ${chart.width} ${chart.height}`}
      style={{ width: '100%', maxWidth: `${chart.width}px`, minWidth: `${chart.width * SMALLEST}px` }}
    >
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0L8 4L0 8z" class="tip" />
        </marker>
        <marker
          id="tip-lit"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" class="tip lit" />
        </marker>
      </defs>
      {chart.boxes.map((box) => (
        <BoxView key={box.path} box={box} isActive={light.active.has(box.path)} event={light.event} />
      ))}
      {chart.arrows.map((arrow, index) => (
        <ArrowView
          key={`${arrow.source} ${arrow.target}`}
          arrow={arrow}
          isLit={light.arrows.has(index)}
          event={light.event}
        />
      ))}
    </svg>
  );
}

interface BoxViewProps {
  readonly box: Box;
  readonly isActive: boolean;
  readonly event: string | null;
}

function BoxView({ box, isActive, event }: BoxViewProps) {
  const { x, y, width, height } = box;
  const kind = `${box.isCluster ? 'cluster' : 'leaf'}${box.isFinal ? ' final' : ''}${isActive ? ' active' : ''}`;
  return (
    <g class={`box ${kind}`} data-path={box.path}>
      <rect x={x} y={y} width={width} height={height} rx="8" />
      {box.isFinal && <rect x={x + 3} y={y + 3} width={width - 6} height={height - 6} rx="6" class="inner" />}
      {box.isInitial && <circle cx={x} cy={y + 14} r={DOT} class="initial" />}
      <text x={x + width / 2} y={y + (box.isCluster ? 16 : 21)} class="label">
        {box.label}
      </text>
      {!box.isCluster &&
        box.notes.map(({ text, event: own }, index) => (
          <text
            key={text}
            x={x + width / 2}
            y={y + 38 + index * LINE}
            class={`note ${isActive && own === event ? 'lit' : ''}`}
          >
            {text}
          </text>
        ))}
    </g>
  );
}

interface ArrowViewProps {
  readonly arrow: Arrow;
  readonly isLit: boolean;
  readonly event: string | null;
}

function ArrowView({ arrow, isLit, event }: ArrowViewProps) {
  const { middle, labels } = arrow;
  return (
    <g class={`arrow ${isLit ? 'lit' : ''}`} data-arrow={`${arrow.source} ${arrow.target}`}>
      <path d={smooth(arrow.points)} marker-end={isLit ? 'url(#tip-lit)' : 'url(#tip)'} />
      {middle !== null &&
        labels.map((label, index) => (
          <text
            key={label.text}
            x={middle.x}
            y={middle.y - ((labels.length - 1) * LINE) / 2 + index * LINE + 4}
            class={isLit && label.event === event ? 'lit' : ''}
          >
            {label.text}
          </text>
        ))}
    </g>
  );
}
