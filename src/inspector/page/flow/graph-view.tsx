// Graph of a flow: nodes with states; connections that the run took are highlighted, others faded. The graph
// is one tab stop; arrow keys move between nodes.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import { LINE, type Rect } from '../chart/layout.ts';
import { scrollIntoBox } from '../chart/scroll-into-view.ts';
import { toneOf } from '../state-text.ts';
import {
  arrowLabel,
  arrowState,
  arrowText,
  type ChartNode,
  type FlowArrow,
  type FlowParts,
} from './graph.ts';
import { type FlowLine, layoutFlow } from './layout.ts';
import { nodeLine, turnText } from './node-text.ts';
import { routePath } from './routes.ts';

/** Minimum scale. A larger graph scrolls. */
const MIN_SCALE = 0.7;
/** Approximate width of a character, in the units of the picture. */
const CHAR = 7.4;

interface FlowPictureProps {
  readonly name: string;
  readonly parts: FlowParts;
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  readonly isOver: boolean;
  readonly now: number;
  /** Path of the selected node, such as `poll/check`. */
  readonly selected: string | undefined;
  onSelect(place: string): void;
}

export function FlowPicture({ name, parts, nodes, isOver, now, selected, onSelect }: FlowPictureProps) {
  const chart = useMemo(() => layoutFlow(parts), [parts]);
  const picture = useRef<SVGSVGElement>(null);
  const places = parts.nodes.map(({ place }) => place);
  const focused = selected !== undefined && places.includes(selected) ? selected : places[0];
  useLayoutEffect(
    () =>
      scrollIntoBox(picture.current, selected === undefined ? undefined : boxIn(picture.current, selected)),
    [selected],
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const forward = event.key === 'ArrowDown' || event.key === 'ArrowRight';
    const step = forward ? 1 : event.key === 'ArrowUp' || event.key === 'ArrowLeft' ? -1 : 0;
    const next = step === 0 ? undefined : places[places.indexOf(focused ?? '') + step];
    const isPress = event.key === 'Enter' || event.key === ' ';
    if (next === undefined && !isPress) return;
    event.preventDefault();
    const place = next ?? focused;
    if (place === undefined) return;
    onSelect(place);
    boxIn(picture.current, place)?.focus({ preventScroll: true });
  };
  const renderNode = (node: ChartNode) => {
    const box = chart.boxes.get(node.place);
    if (box === undefined) return null;
    return (
      <NodeBox
        key={node.place}
        node={node}
        box={box}
        row={nodes.get(node.place)}
        isOver={isOver}
        now={now}
        isSelected={node.place === selected}
        isFocusable={node.place === focused}
        onSelect={() => onSelect(node.place)}
      />
    );
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no fieldset
    <svg
      ref={picture}
      role="group"
      aria-label={`Graph of ${name}`}
      class="flow"
      viewBox={`0 0 ${chart.width} ${chart.height}`}
      style={{ width: '100%', maxWidth: `${chart.width}px`, minWidth: `${chart.width * MIN_SCALE}px` }}
      onKeyDown={onKeyDown}
    >
      <defs>
        <Tip id="flow-tip" lit={false} />
        <Tip id="flow-tip-lit" lit />
      </defs>
      {parts.nodes.filter(({ isLoop }) => isLoop).map(renderNode)}
      {[...chart.lines].map(([arrow, line]) => (
        <ArrowLine
          key={`${arrow.source} ${arrow.target} ${arrow.index ?? 'error'}`}
          arrow={arrow}
          line={line}
          nodes={nodes}
        />
      ))}
      {parts.nodes.filter(({ isLoop }) => !isLoop).map(renderNode)}
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
  readonly node: ChartNode;
  readonly box: Rect;
  readonly row: NodeRecord | undefined;
  readonly isSelected: boolean;
  /** True for the node that receives the focus by Tab. */
  readonly isFocusable: boolean;
  onSelect(): void;
}

function NodeBox({ node, box, row, isOver, now, isSelected, isFocusable, onSelect }: NodeBoxProps) {
  // The texts below are at fixed heights from the top of the box: 16, or 21, 38 and 38 + LINE.
  const { x, y, width, height } = box;
  const { id, type, isLoop, place } = node;
  const line = nodeLine(row, isOver, now);
  const state = row?.state ?? 'idle';
  const tone = state === 'idle' ? 'off' : toneOf(state);
  const iteration = row === undefined ? undefined : turnText(row);
  const title = [id, iteration, line].filter(Boolean).join(' · ');
  // The accessible name begins with the visible text, so that speech input works.
  const accessibleName = isLoop ? title : [id, line, iteration].filter(Boolean).join(' · ');
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button
    <g
      role="button"
      // SVG attributes are case-sensitive.
      tabindex={isFocusable ? 0 : -1}
      aria-pressed={isSelected}
      aria-label={[type, accessibleName].join(' ')}
      class={`node ${isLoop ? 'loop' : 'leaf'} ${state} ${tone} ${isSelected ? 'selected' : ''}`}
      data-place={place}
      onClick={onSelect}
    >
      <rect x={x} y={y} width={width} height={height} rx="8" />
      {isLoop ? (
        <text x={x + width / 2} y={y + 16} class="label">
          {truncate(title, width)}
        </text>
      ) : (
        <>
          {/* In the order of the accessible name, not by position. */}
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

const truncate = (text: string, width: number): string => {
  const maxChars = Math.floor(width / CHAR);
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
};

interface ArrowLineProps extends Pick<FlowPictureProps, 'nodes'> {
  readonly arrow: FlowArrow;
  readonly line: FlowLine;
}

function ArrowLine({ arrow, line: { route, label }, nodes }: ArrowLineProps) {
  const state = arrowState(arrow, nodes);
  const kind = arrow.index === undefined ? 'error' : 'plain';
  const lines = arrowLabel(arrow);
  return (
    <g class={`arrow ${kind} ${state}`} data-arrow={`${arrow.source} ${arrow.target}`}>
      {lines.length > 1 && <title>{arrowText(arrow)}</title>}
      <path d={routePath(route)} marker-end={state === 'taken' ? 'url(#flow-tip-lit)' : 'url(#flow-tip)'} />
      {lines.map((text, index) => (
        <text key={index} x={label.x + label.width / 2} y={label.y + 2 + index * LINE + 11}>
          {text}
        </text>
      ))}
    </g>
  );
}
