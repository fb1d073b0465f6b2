// Who has told whom what, lately: lifelines from left to right, time from top to bottom.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { ActorView, LogEntry } from '../feed/store.ts';
import { eventText, stateText, toneOf } from '../state-words.ts';
import { clock } from '../words.ts';
import { type Arrow, laneLabel, lifelines } from './lifelines.ts';

const LANE = 116;
const ROW = 34;
const HEAD = 30;
const TIME = 86;

interface SequenceTabProps {
  readonly log: readonly LogEntry[];
  readonly actor: ActorView | undefined;
}

export function SequenceTab({ log, actor }: SequenceTabProps) {
  const box = useRef<HTMLDivElement>(null);
  const isAll = actor === undefined || actor.parent === null;
  const name = actor?.name ?? '';
  const { lanes, arrows } = useMemo(
    () => lifelines(log, isAll ? undefined : new Set([name])),
    [log, isAll, name],
  );
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, [arrows.length]);
  if (arrows.length === 0) return <p class="empty">Nothing has happened here since the page was opened.</p>;
  const width = TIME + lanes.length * LANE;
  const height = HEAD + arrows.length * ROW + 10;
  const middleOf = (lane: number) => TIME + lane * LANE + LANE / 2;
  return (
    <div class="scroll" ref={box}>
      <svg
        class="sequence"
        role="img"
        aria-label={`The last ${arrows.length} events between ${lanes.map(laneLabel).join(', ')}`}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
      >
        {lanes.map((lane, index) => (
          <g key={lane} class={lane === name ? 'lane chosen' : 'lane'}>
            <text x={middleOf(index)} y="18">
              {laneLabel(lane)}
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
      <text x="0" y={y + 4} class="time">
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
