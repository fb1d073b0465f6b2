// A line of the tree about an actor: its name, its state, how often it was started or tried again, and since when it runs.

import { baseName, shownName } from '../address.ts';
import type { ActorView, PageState } from '../feed/store.ts';
import { Pill } from '../pill.tsx';
import { counted, span } from '../words.ts';
import type { TreeRow } from './tree-rows.ts';

export interface ActorRowProps {
  readonly row: TreeRow<ActorView>;
  readonly state: PageState;
  readonly isChosen: boolean;
  onChoose(): void;
  onToggle(): void;
}

export function ActorRow({ row, state, isChosen, onChoose, onToggle }: ActorRowProps) {
  const { actor, depth, children, isOpen } = row;
  const server = actor.machine === 'server' ? state.servers.get(baseName(actor.name)) : undefined;
  const isUp = actor.state === 'running' || actor.state === 'idle';
  const age =
    server === undefined || server.uptime_seconds === 0 || !isUp ? '' : span(ageMs(server, state.at));
  return (
    // The tree itself has the keyboard, as a tree should.
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the tree
    <div
      class={`row ${isChosen ? 'chosen' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isChosen ? 'chosen-row' : undefined}
      aria-level={depth + 1}
      aria-selected={isChosen}
      aria-expanded={children > 0 ? isOpen : undefined}
      data-name={baseName(actor.name)}
      data-machine={actor.machine ?? ''}
      onClick={onChoose}
    >
      <span style={{ width: `${depth * 14}px` }} class="indent" />
      <span
        class="fold"
        aria-hidden="true"
        onClick={(event) => {
          if (children === 0) return;
          event.stopPropagation();
          onToggle();
        }}
      >
        {children === 0 ? '' : isOpen ? '▾' : '▸'}
      </span>
      <span class={actor.name.includes('/') ? 'name key' : 'name'} title={actor.name}>
        <bdi dir="ltr">{shownName(actor.name)}</bdi>
      </span>
      {children > 0 && !isOpen && isGroup(actor) && <span class="aside">{children}</span>}
      {server !== undefined && server.restarts > 0 && (
        <span class="aside" title={`${counted(server.restarts, 'start')} after a failure`}>
          ↻{server.restarts}
        </span>
      )}
      <Again actor={actor} />
      <span class="aside">{age}</span>
      <Pill state={actor.state} />
    </div>
  );
}

/** Whose children are worth counting: what is below any other is a part of it. */
function isGroup({ machine }: ActorView): boolean {
  return machine !== 'server' && machine !== 'trigger' && machine !== 'conversation';
}

/** What its state does not say: an attempt that is not the first, a trigger that is to stay paused. */
function Again({ actor: { machine, state, context } }: { readonly actor: ActorView }) {
  const attempt = Number(context?.attempt ?? 1);
  if (machine === 'conversation' && attempt > 1 && state !== 'ready')
    return <span class="again">attempt {attempt}</span>;
  if (machine === 'trigger' && context?.isPaused === true && state !== 'paused')
    return <span class="again">paused</span>;
  return null;
}

function ageMs({ uptime_seconds, at }: { uptime_seconds: number; at: number }, now: number): number {
  return uptime_seconds * 1000 + (now - at);
}
