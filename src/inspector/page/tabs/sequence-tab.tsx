// Who has told whom what, lately: lifelines from left to right, time from top to bottom.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { shownName } from '../address.ts';
import type { ActorView, LogEntry } from '../feed/store.ts';
import { eventText, stateText, toneOf } from '../state-words.ts';
import { clock, counted } from '../words.ts';
import { type Arrow, fittingLifelines, laneLabel } from './lifelines.ts';

const LANE = 88;
/** Of a name above a line. */
const LETTERS = 12;
const ROW = 34;
const HEAD = 30;
const TIME = 86;
const CHAR = 6.4;
/** It shrinks so far to fit its place, and scrolls beyond. */
const SMALLEST = 0.7;
/** At this scale as many lines stand beside each other as have room. */
const USUAL = 0.82;
const FEWEST = 3;

interface SequenceTabProps {
  readonly log: readonly LogEntry[];
  readonly actor: ActorView | undefined;
}

export function SequenceTab({ log, actor }: SequenceTabProps) {
  const box = useRef<HTMLDivElement>(null);
  const isAll = actor === undefined || actor.parent === null;
  const name = actor?.name ?? '';
  const [room, setRoom] = useState(FEWEST);
  const { lanes, arrows } = useMemo(
    () => fittingLifelines(log, isAll ? undefined : new Set([name]), room),
    [log, isAll, name, room],
  );
  const hasArrows = arrows.length > 0;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () =>
      setRoom(Math.max(FEWEST, Math.floor((element.clientWidth / USUAL - TIME - 12) / LANE)));
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
        Nothing has happened here since somebody began to watch: events come as actors change, not with each
        call.
      </p>
    );
  const height = HEAD + arrows.length * ROW + 10;
  const middleOf = (lane: number) => TIME + lane * LANE + LANE / 2;
  const width = Math.max(TIME + lanes.length * LANE, ...arrows.map((arrow) => endOf(arrow, middleOf)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div class="scroll" ref={box} tabIndex={0}>
      <svg
        class="sequence"
        role="img"
        aria-label={`The last ${counted(arrows.length, 'event')} between ${lanes.map((lane) => laneLabel(lane)).join(', ')}`}
        viewBox={`0 0 ${width} ${height}`}
        style={{ width: '100%', maxWidth: `${width}px`, minWidth: `${width * SMALLEST}px` }}
      >
        {lanes.map((lane, index) => (
          <g key={lane} class={lane === name ? 'lane chosen' : 'lane'}>
            <title>{shownName(lane)}</title>
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

/** How far to the right the texts of an arrow may reach. */
function endOf({ event, from, to, state }: Arrow, middleOf: (lane: number) => number): number {
  const after = state === null ? 0 : middleOf(to) + 5 + stateText(state).length * CHAR;
  const text = eventText(event).length * CHAR;
  const label = from === to ? middleOf(from) + 30 + text : (middleOf(from) + middleOf(to) + text) / 2;
  return Math.ceil(Math.max(after, label)) + 6;
}

interface ArrowViewProps {
  readonly arrow: Arrow;
  readonly y: number;
  middleOf(lane: number): number;
}

function ArrowView({ arrow, y, middleOf }: ArrowViewProps) {
  const { event, from, to, at, state } = arrow;
  const start = middleOf(from);
  const end = middleOf(to);
  const isOwn = from === to;
  const tip = end > start || isOwn ? -6 : 6;
  return (
    <g class="message">
      <text x="6" y={y + 4} class="time">
        {clock(at)}
      </text>
      {isOwn ? (
        <path d={`M${start} ${y - 8}h26v10H${end + 2}`} />
      ) : (
        <path d={`M${start} ${y}H${end}M${end + tip} ${y - 4}L${end} ${y}L${end + tip} ${y + 4}`} />
      )}
      <text x={isOwn ? start + 30 : (start + end) / 2} y={y - 5} class={isOwn ? 'event own' : 'event'}>
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
