// Sequence diagram of the latest events: lanes from left to right, time from top to bottom.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { displayName } from '../address.ts';
import type { ActorView, LogEntry } from '../feed/page-state.ts';
import { clock, pluralize } from '../format.ts';
import { eventText, stateText, toneOf } from '../state-text.ts';
import { laneLabel, lifelinesWithin, type SequenceArrow } from './lifelines.ts';

// Sizes in the units of the diagram: width of a lane, letters of its label, height of a row, height of the
// labels, width of the times, and width of a character.
const LANE = 88;
const LETTERS = 12;
const ROW = 34;
const HEAD = 30;
const TIME = 86;
const CHAR = 6.4;
/** Minimum scale. A larger diagram scrolls. */
const MIN_SCALE = 0.7;
/** Scale from which the number of lanes is computed. */
const TYPICAL_SCALE = 0.82;
const MIN_LANES = 3;

interface SequenceTabProps {
  readonly log: readonly LogEntry[];
  readonly actor: ActorView | undefined;
}

export function SequenceTab({ log, actor }: SequenceTabProps) {
  const box = useRef<HTMLDivElement>(null);
  const isAll = actor === undefined || actor.parent === null;
  const name = actor?.name ?? '';
  const [maxLanes, setMaxLanes] = useState(MIN_LANES);
  const { lanes, arrows } = useMemo(
    () => lifelinesWithin(log, isAll ? undefined : new Set([name]), maxLanes),
    [log, isAll, name, maxLanes],
  );
  const hasArrows = arrows.length > 0;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () =>
      setMaxLanes(Math.max(MIN_LANES, Math.floor((element.clientWidth / TYPICAL_SCALE - TIME - 12) / LANE)));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [hasArrows]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, [arrows.length]);
  if (arrows.length === 0)
    return (
      <p class="empty">
        No events since the first viewer connected. Actors log state changes, not single calls.
      </p>
    );
  const height = HEAD + arrows.length * ROW + 10;
  const middleOf = (lane: number) => TIME + lane * LANE + LANE / 2;
  const width = Math.max(TIME + lanes.length * LANE, ...arrows.map((arrow) => endOf(arrow, middleOf)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll" ref={box} tabIndex={0}>
      <svg
        class="sequence"
        role="img"
        aria-label={`The last ${pluralize(arrows.length, 'event')} between ${lanes.map((lane) => laneLabel(lane)).join(', ')}`}
        viewBox={`0 0 ${width} ${height}`}
        style={{ width: '100%', maxWidth: `${width}px`, minWidth: `${width * MIN_SCALE}px` }}
      >
        {lanes.map((lane, index) => (
          <g key={lane} class={lane === name ? 'lane selected' : 'lane'}>
            <title>{displayName(lane)}</title>
            <text x={middleOf(index)} y="18">
              {laneLabel(lane, LETTERS)}
            </text>
            <line x1={middleOf(index)} y1={HEAD - 4} x2={middleOf(index)} y2={height} />
          </g>
        ))}
        {arrows.map((arrow, index) => (
          <ArrowView key={arrow.n} arrow={arrow} y={HEAD + index * ROW + 20} middleOf={middleOf} />
        ))}
      </svg>
    </div>
  );
}

/** Returns the right end of the arrow's texts. */
function endOf({ event, from, to, state }: SequenceArrow, middleOf: (lane: number) => number): number {
  const stateEnd = state === null ? 0 : middleOf(to) + 5 + stateText(state).length * CHAR;
  const eventWidth = eventText(event).length * CHAR;
  // The label of an arrow to the own lane is right of the arrow; other labels are centred.
  const eventEnd =
    from === to ? middleOf(from) + 30 + eventWidth : (middleOf(from) + middleOf(to) + eventWidth) / 2;
  return Math.ceil(Math.max(stateEnd, eventEnd)) + 6;
}

interface ArrowViewProps {
  readonly arrow: SequenceArrow;
  readonly y: number;
  middleOf(lane: number): number;
}

function ArrowView({ arrow, y, middleOf }: ArrowViewProps) {
  const { event, from, to, at, state } = arrow;
  const start = middleOf(from);
  const end = middleOf(to);
  const isToItself = from === to;
  // Width of the tip, against the direction of the arrow.
  const tip = end > start || isToItself ? -6 : 6;
  return (
    <g class="message">
      <text x="6" y={y + 4} class="time">
        {clock(at)}
      </text>
      {isToItself ? (
        <path d={`M${start} ${y - 8}h26v10H${end + 2}`} />
      ) : (
        <path d={`M${start} ${y}H${end}M${end + tip} ${y - 4}L${end} ${y}L${end + tip} ${y + 4}`} />
      )}
      <text
        x={isToItself ? start + 30 : (start + end) / 2}
        y={y - 5}
        class={isToItself ? 'event own' : 'event'}
      >
        {eventText(event)}
      </text>
      {state !== null && (
        <text x={end + 5} y={y + 11} class={`after ${toneOf(state)}`}>
          {stateText(state)}
        </text>
      )}
    </g>
  );
}
