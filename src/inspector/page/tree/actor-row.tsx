// Tree row for one actor: name, state, restarts or attempt, uptime.

import { baseName, displayName } from '../address.ts';
import type { ActorView, PageState } from '../feed/page-state.ts';
import { pluralize, span } from '../format.ts';
import { RowText } from './row-text.tsx';
import type { TreeRow } from './rows.ts';
import { type SelectableProps, TreeItem } from './tree-item.tsx';

export interface ActorRowProps extends SelectableProps {
  readonly row: TreeRow<ActorView>;
  readonly state: PageState;
  onToggle(): void;
}

export function ActorRow({ row, state, onToggle, ...selectable }: ActorRowProps) {
  const { actor, depth, children, isOpen } = row;
  const server = actor.machine === 'server' ? state.servers.get(baseName(actor.name)) : undefined;
  const isUp = actor.state === 'running' || actor.state === 'idle';
  const age =
    server === undefined || server.uptime_seconds === 0 || !isUp ? '' : span(ageMs(server, state.at));
  return (
    <TreeItem
      level={depth + 1}
      fold={{ isExpanded: children > 0 ? isOpen : undefined, onToggle }}
      data={{ 'data-name': baseName(actor.name), 'data-machine': actor.machine ?? '' }}
      {...selectable}
    >
      <RowText
        name={displayName(actor.name)}
        title={actor.name}
        isKey={actor.name.includes('/')}
        state={actor.state}
      >
        <ActorNotice actor={actor} />
        {server !== undefined && server.restarts > 0 && (
          <span class="aside" title={`${pluralize(server.restarts, 'start')} after a failure`}>
            ↻{server.restarts}
          </span>
        )}
        {age !== '' && <span class="aside">{age}</span>}
        {children > 0 && !isOpen && isGroup(actor) && <span class="aside">{children}</span>}
      </RowText>
    </TreeItem>
  );
}

/**
 * Returns true if the number of children is shown. Servers, triggers and conversations have only internal
 * children.
 */
function isGroup({ machine }: ActorView): boolean {
  return machine !== 'server' && machine !== 'trigger' && machine !== 'conversation';
}

/** Notice next to the state: a repeated attempt, or a trigger that is paused in another state. */
function ActorNotice({ actor: { machine, state, context } }: { readonly actor: ActorView }) {
  const attempt = Number(context?.attempt ?? 1);
  if (machine === 'conversation' && attempt > 1 && state !== 'ready')
    return <span class="notice">attempt {attempt}</span>;
  if (machine === 'trigger' && context?.isPaused === true && state !== 'paused')
    return <span class="notice">paused</span>;
  return null;
}

function ageMs({ uptime_seconds, at }: { uptime_seconds: number; at: number }, now: number): number {
  return uptime_seconds * 1000 + (now - at);
}
