// A flow drawn: its nodes with their states, the connections that were taken lit, those that were not faded. It is reached by the keyboard as
// one thing; arrows go from node to node.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import { smooth } from '../chart/arrow-path.ts';
import { type Arrow, type Box, LINE, placedGraph } from '../chart/chart-layout.ts';
import { bringIntoSight } from '../chart/into-sight.ts';
import { toneOf } from '../state-words.ts';
import {
  arrowLabel,
  arrowState,
  dotted,
  type FlowArrow,
  type FlowNode,
  type FlowParts,
  graphOfFlow,
} from './flow-graph.ts';
import { nodeLine, turnText } from './node-words.ts';

/** As a chart of states does. */
const SMALLEST = 0.7;
const CHAR = 7.4;

interface FlowPictureProps {
  readonly name: string;
  readonly parts: FlowParts;
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  readonly isOver: boolean;
  readonly now: number;
  readonly chosen: string | undefined;
  onChoose(place: string): void;
}

export function FlowPicture({ name, parts, nodes, isOver, now, chosen, onChoose }: FlowPictureProps) {
  const chart = useMemo(() => placedGraph(name, graphOfFlow(parts)), [name, parts]);
  const picture = useRef<SVGSVGElement>(null);
  const places = parts.nodes.map(({ place }) => place);
  const reached = chosen !== undefined && places.includes(chosen) ? chosen : places[0];
  useLayoutEffect(
    () => bringIntoSight(picture.current, chosen === undefined ? undefined : boxIn(picture.current, chosen)),
    [chosen],
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const forward = event.key === 'ArrowDown' || event.key === 'ArrowRight';
    const step = forward ? 1 : event.key === 'ArrowUp' || event.key === 'ArrowLeft' ? -1 : 0;
    const next = step === 0 ? undefined : places[places.indexOf(reached ?? '') + step];
    const isPress = event.key === 'Enter' || event.key === ' ';
    if (next === undefined && !isPress) return;
    event.preventDefault();
    const place = next ?? reached;
    if (place === undefined) return;
    onChoose(place);
    boxIn(picture.current, place)?.focus({ preventScroll: true });
  };
  const box = (node: FlowNode) => {
    const placed = chart.boxes.find(({ path }) => path === dotted(node.place));
    if (placed === undefined) return null;
    return (
      <NodeBox
        key={node.place}
        node={node}
        box={placed}
        row={nodes.get(node.place)}
        {...{ isOver, now, isChosen: node.place === chosen, isReached: node.place === reached }}
        onChoose={() => onChoose(node.place)}
      />
    );
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot stand in a picture
    <svg
      ref={picture}
      role="group"
      aria-label={`Graph of ${name}`}
      class="flow"
      viewBox={`0 0 ${chart.width} ${chart.height}`}
      style={{ width: '100%', maxWidth: `${chart.width}px`, minWidth: `${chart.width * SMALLEST}px` }}
      onKeyDown={onKeyDown}
    >
      <defs>
        <Tip id="flow-tip" lit={false} />
        <Tip id="flow-tip-lit" lit />
      </defs>
      {parts.nodes.filter(({ isLoop }) => isLoop).map(box)}
      {parts.arrows.map((arrow, index) => (
        <ArrowLine
          key={`${arrow.source} ${arrow.target} ${arrow.index ?? 'error'}`}
          arrow={arrow}
          placed={chart.arrows[index]}
          isIntoLoop={parts.nodes.some(({ place, isLoop }) => isLoop && place === arrow.target)}
          nodes={nodes}
        />
      ))}
      {parts.nodes.filter(({ isLoop }) => !isLoop).map(box)}
    </svg>
  );
}

const boxIn = (picture: SVGElement | null, place: string) =>
  picture?.querySelector<SVGElement>(`[data-place="${CSS.escape(place)}"]`);

function Tip({ id, lit }: { readonly id: string; readonly lit: boolean }) {
  return (
    <marker
      id={id}
      viewBox="0 0 8 8"
      refX="7"
      refY="4"
      markerWidth={lit ? 4 : 7}
      markerHeight={lit ? 4 : 7}
      orient="auto"
    >
      <path d="M0 0L8 4L0 8z" class={lit ? 'tip lit' : 'tip'} />
    </marker>
  );
}

interface NodeBoxProps extends Pick<FlowPictureProps, 'isOver' | 'now'> {
  readonly node: FlowNode;
  readonly box: Box;
  readonly row: NodeRecord | undefined;
  readonly isChosen: boolean;
  /** By Tab. */
  readonly isReached: boolean;
  onChoose(): void;
}

function NodeBox({ node, box, row, isOver, now, isChosen, isReached, onChoose }: NodeBoxProps) {
  const { x, y, width, height } = box;
  const { id, type, isLoop, place } = node;
  const line = nodeLine(row, isOver, now);
  const state = row?.state ?? 'idle';
  const tone = state === 'idle' ? 'off' : toneOf(state);
  const turn = row === undefined ? undefined : turnText(row);
  const title = [id, turn, line].filter(Boolean).join(' · ');
  // What stands in the box is in its name as it stands there: whoever speaks to the page says that.
  const spoken = isLoop ? title : [id, line, turn].filter(Boolean).join(' · ');
  return (
    // biome-ignore lint/a11y/useSemanticElements: a button cannot stand in a picture
    <g
      role="button"
      // In SVG names of attributes are as they are written.
      tabindex={isReached ? 0 : -1}
      aria-pressed={isChosen}
      aria-label={[type, spoken].join(' ')}
      class={`node ${isLoop ? 'loop' : 'leaf'} ${state} ${tone} ${isChosen ? 'chosen' : ''}`}
      data-place={place}
      onClick={onChoose}
    >
      <rect x={x} y={y} width={width} height={height} rx="8" />
      {isLoop ? (
        <text x={x + width / 2} y={y + 16} class="label">
          {cut(title, width)}
        </text>
      ) : (
        <>
          {/* Read in this order, as the name of the box has it. */}
          <text x={x + width / 2} y={y + 38} class="note">
            {type}
          </text>{' '}
          <text x={x + width / 2} y={y + 21} class="label">
            {id}
          </text>
          {' · '}
          <text x={x + width / 2} y={y + 38 + LINE} class="note state">
            {line}
          </text>
        </>
      )}
    </g>
  );
}

const cut = (text: string, width: number): string => {
  const most = Math.floor(width / CHAR);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
};

interface ArrowLineProps extends Pick<FlowPictureProps, 'nodes'> {
  readonly arrow: FlowArrow;
  readonly placed: Arrow | undefined;
  readonly isIntoLoop: boolean;
}

function ArrowLine({ arrow, placed, nodes, isIntoLoop }: ArrowLineProps) {
  if (placed === undefined) return null;
  const state = arrowState(arrow, nodes);
  const kind = arrow.index === undefined ? 'error' : 'plain';
  const label = arrowLabel(arrow);
  // Not over the tip.
  const raised = isIntoLoop ? 8 : 0;
  return (
    <g class={`arrow ${kind} ${state}`} data-arrow={`${arrow.source} ${arrow.target}`}>
      <path
        d={smooth(placed.points)}
        marker-end={state === 'taken' ? 'url(#flow-tip-lit)' : 'url(#flow-tip)'}
      />
      {placed.middle !== null && label !== '' && (
        <text x={placed.middle.x} y={placed.middle.y + 4 - raised}>
          {label}
        </text>
      )}
    </g>
  );
}
