// What the page knows: a plain state, and how each message of the feed changes it. No browser in here, so that it can be
// tested as a table. Connection, drawing and address are elsewhere.
//
// PS1  everything is bounded: the log by MAX_LOG, actors, servers and triggers by what the gateway has.
// PS2  a state is never changed, only followed by another: whoever holds an old one (a paused log) still has it whole.

import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import type {
  ActorFrame,
  ActorNode,
  Frame,
  NumbersMessage,
  ServerNumbers,
  StateValue,
  Step,
  Totals,
  TreeMessage,
} from '../../wire/feed-wire.ts';

export const MAX_LOG = 2_000;

/** The last step that left the actor where its chart can show it. */
export interface LastStep {
  readonly event: string;
  readonly from: StateValue;
  readonly to: StateValue;
  readonly at: number;
}

export interface ActorView extends ActorNode {
  readonly last: LastStep | null;
}

export interface LogEntry extends Omit<Step, 'n'> {
  /** Counts up over everything the page has seen. */
  readonly n: number;
  readonly actor: string;
  readonly name: string;
  readonly machine: string | null;
  /** Who sent the event, by name; null when it came from outside of the tree. */
  readonly sourceName: string | null;
}

export interface ServerView extends ServerNumbers {
  /** When these numbers were taken: those of a quiet server are old and still right. */
  readonly at: number;
}

export interface PageState {
  /** The gateway's clock, as of its last message; 0 before the first. */
  readonly at: number;
  readonly startedAt: number | null;
  readonly actors: ReadonlyMap<string, ActorView>;
  /** Oldest first. */
  readonly log: readonly LogEntry[];
  readonly logged: number;
  readonly totals: Totals | null;
  readonly servers: ReadonlyMap<string, ServerView>;
  readonly triggers: ReadonlyMap<string, TriggerState>;
  /** What the feed had no room for. */
  readonly dropped: number;
  /** What this page was too slow for. */
  readonly missed: number;
  /** How often the gateway has been started anew while the page was open. */
  readonly gatewayStarts: number;
}

export type FeedMessage =
  | { readonly kind: 'tree'; readonly data: TreeMessage }
  | { readonly kind: 'frame'; readonly data: Frame }
  | { readonly kind: 'numbers'; readonly data: NumbersMessage };

export const emptyState: PageState = {
  at: 0,
  startedAt: null,
  actors: new Map(),
  log: [],
  logged: 0,
  totals: null,
  servers: new Map(),
  triggers: new Map(),
  dropped: 0,
  missed: 0,
  gatewayStarts: 0,
};

/** The state after a message. */
export function reduce(state: PageState, message: FeedMessage): PageState {
  switch (message.kind) {
    case 'tree':
      return withTree(state, message.data);
    case 'frame':
      return withFrame(state, message.data);
    case 'numbers':
      return withNumbers(state, message.data);
  }
}

export function withoutLog(state: PageState): PageState {
  return { ...state, log: [] };
}

function withTree(state: PageState, tree: TreeMessage): PageState {
  // Ids are used anew by the next run of the gateway: nothing of the last one may be mistaken for it.
  const isSameRun = state.startedAt === tree.started_at;
  const known = isSameRun ? state : { ...state, actors: new Map<string, ActorView>(), log: [] };
  const actors = new Map(
    tree.actors.map((node) => [node.id, { ...node, last: known.actors.get(node.id)?.last ?? null }]),
  );
  const newest = known.log.at(-1)?.at ?? 0;
  const fresh = tree.recent.filter(({ at }) => at > newest);
  const entries = fresh.map((step, index) => ({
    ...step,
    n: state.logged + index,
    sourceName: nameOf(actors, step.source),
  }));
  return {
    ...known,
    at: tree.at,
    startedAt: tree.started_at,
    actors,
    log: bounded([...known.log, ...entries]),
    logged: state.logged + entries.length,
    // Those that are there are told of right after the tree.
    servers: new Map(),
    triggers: new Map(),
    dropped: tree.dropped,
    missed: tree.missed,
    gatewayStarts: state.gatewayStarts + (isSameRun || state.startedAt === null ? 0 : 1),
  };
}

function withFrame(state: PageState, frame: Frame): PageState {
  const actors = new Map(state.actors);
  const entries: LogEntry[] = [];
  // Names first: an actor of this frame may have sent to one that stands before it.
  const names = new Map(frame.actors.map(({ id, name }) => [id, name]));
  for (const actor of frame.actors) {
    for (const step of actor.steps) {
      const sourceName =
        step.source === null ? null : (names.get(step.source) ?? nameOf(actors, step.source));
      entries.push({ ...step, actor: actor.id, name: actor.name, machine: actor.machine, sourceName });
    }
    if (actor.isGone) continue;
    actors.set(actor.id, after(actors.get(actor.id), actor));
  }
  for (const { id, isGone } of frame.actors) if (isGone) actors.delete(id);
  entries.sort((a, b) => a.n - b.n);
  const numbered = entries.map((entry, index) => ({ ...entry, n: state.logged + index }));
  return {
    ...state,
    at: frame.at,
    actors,
    log: bounded([...state.log, ...numbered]),
    logged: state.logged + entries.length,
    dropped: frame.dropped,
  };
}

function after(before: ActorView | undefined, frame: ActorFrame): ActorView {
  const { id, parent, name, machine, state, context, steps } = frame;
  let last = before?.last ?? null;
  let from = before?.state;
  for (const step of steps) {
    const to = step.state ?? from;
    if (from !== undefined && to !== undefined) last = { event: step.event, from, to, at: step.at };
    from = to;
  }
  return { id, parent, name, machine, state, context, last };
}

function withNumbers(state: PageState, message: NumbersMessage): PageState {
  const { servers, gone, triggers, gone_triggers, ...totals } = message;
  const { at } = totals;
  return {
    ...state,
    at,
    totals,
    servers: withRows(
      state.servers,
      servers.map((server) => [server.id, { ...server, at }]),
      gone,
    ),
    triggers: withRows(
      state.triggers,
      triggers.map((trigger) => [trigger.name, trigger]),
      gone_triggers,
    ),
  };
}

/** The same map where there is nothing new. */
function withRows<Row>(
  before: ReadonlyMap<string, Row>,
  changed: readonly (readonly [string, Row])[],
  gone: readonly string[],
): ReadonlyMap<string, Row> {
  if (changed.length + gone.length === 0) return before;
  const after = new Map([...before, ...changed]);
  for (const id of gone) after.delete(id);
  return after;
}

function nameOf(actors: ReadonlyMap<string, ActorNode>, id: string | null): string | null {
  return id === null ? null : (actors.get(id)?.name ?? id);
}

function bounded(log: readonly LogEntry[]): readonly LogEntry[] {
  return log.length > MAX_LOG ? log.slice(-MAX_LOG) : log;
}
