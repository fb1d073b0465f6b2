// State chart of the selected actor: active states, last transition, possible transitions.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { MachineDefinition } from '../../wire/feed.ts';
import type { ActorView } from '../feed/page-state.ts';
import { clock } from '../format.ts';
import { eventText } from '../state-text.ts';
import { curvePath } from './arrow-path.ts';
import { highlightOf } from './highlight.ts';
import { type Box, type Chart, type ChartArrow, LINE, layoutOf } from './layout.ts';
import { scrollIntoBox } from './scroll-into-view.ts';

/** Minimum scale. A larger chart scrolls. */
const MIN_SCALE = 0.6;
/** Radius of the dot that marks an initial state. */
const DOT = 4;

interface ChartPaneProps {
  readonly actor: ActorView;
  readonly definition: MachineDefinition | undefined;
  /**
   * True if the actor is the parent of mailboxes (queues): conversations, or the outbox (messages to
   * platforms).
   */
  readonly isMailboxParent: boolean;
}

export function ChartPane({ actor, definition, isMailboxParent }: ChartPaneProps) {
  const chart = useMemo(() => definition && layoutOf(definition), [definition]);
  const box = useRef<HTMLDivElement>(null);
  const shownActor = useRef(actor.id);
  // On narrow screens the chart is above the tree, and may be out of view after a selection there.
  useLayoutEffect(() => {
    if (shownActor.current !== actor.id) box.current?.closest('.pane')?.scrollIntoView({ block: 'nearest' });
    shownActor.current = actor.id;
  }, [actor.id]);
  if (chart === undefined)
    return <p class="empty">{actor.machine === null ? noMachineText(isMailboxParent) : 'No chart yet.'}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
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

function noMachineText(isMailboxParent: boolean): string {
  const more = isMailboxParent ? ' Each child has one, for a conversation or a destination.' : '';
  return `This actor has no state machine.${more}`;
}

function Picture({ chart, actor }: { readonly chart: Chart; readonly actor: ActorView }) {
  const highlight = highlightOf(chart, actor.state, actor.last);
  const active = [...highlight.active].join(', ');
  const picture = useRef<SVGSVGElement>(null);
  // Show the innermost active box; outer boxes may be larger than the pane.
  useLayoutEffect(
    () =>
      scrollIntoBox(picture.current, [...(picture.current?.querySelectorAll('.box.active') ?? [])].at(-1)),
    [chart, active],
  );
  return (
    <svg
      ref={picture}
      role="img"
      aria-label={`State chart of ${chart.machine}; active: ${active}`}
      viewBox={`0 0 ${chart.width} ${chart.height}`}
      style={{ width: '100%', maxWidth: `${chart.width}px`, minWidth: `${chart.width * MIN_SCALE}px` }}
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
        <BoxView key={box.path} box={box} isActive={highlight.active.has(box.path)} event={highlight.event} />
      ))}
      {chart.arrows.map((arrow, index) => (
        <ArrowView
          key={`${arrow.source} ${arrow.target}`}
          arrow={arrow}
          isHighlighted={highlight.arrows.has(index)}
          event={highlight.event}
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

/** The texts are at fixed heights from the top of the box. */
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
        box.notes.map(({ text, event: noteEvent }, index) => (
          <text
            key={text}
            x={x + width / 2}
            y={y + 38 + index * LINE}
            class={`note ${isActive && noteEvent === event ? 'lit' : ''}`}
          >
            {text}
          </text>
        ))}
    </g>
  );
}

interface ArrowViewProps {
  readonly arrow: ChartArrow;
  readonly isHighlighted: boolean;
  readonly event: string | null;
}

function ArrowView({ arrow, isHighlighted, event }: ArrowViewProps) {
  const { middle, labels } = arrow;
  return (
    <g class={`arrow ${isHighlighted ? 'lit' : ''}`} data-arrow={`${arrow.source} ${arrow.target}`}>
      <path d={curvePath(arrow.points)} marker-end={isHighlighted ? 'url(#tip-lit)' : 'url(#tip)'} />
      {middle !== null &&
        labels.map((label, index) => (
          <text
            key={label.text}
            x={middle.x}
            y={middle.y - ((labels.length - 1) * LINE) / 2 + index * LINE + 4}
            class={isHighlighted && label.event === event ? 'lit' : ''}
          >
            {label.text}
          </text>
        ))}
    </g>
  );
}
