// State of the page, and the pure function `reduce`, which returns the next state for a message of the feed.
// PageStore (page-store.ts) holds the current state.
//
// - The log has up to MAX_LOG entries. The gateway limits the numbers of actors, servers and triggers.
// - States are immutable, so a paused log view keeps its entries.

import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import type {
  ActorFrame,
  ActorNode,
  Frame,
  MachineStep,
  NumbersMessage,
  ServerNumbers,
  StateValue,
  Totals,
  TreeMessage,
} from '../../wire/feed.ts';

export const MAX_LOG = 2_000;

/** Last step that changed the actor's state, for the chart. */
export interface LastStep {
  readonly event: string;
  readonly from: StateValue;
  readonly to: StateValue;
  readonly at: number;
}

export interface ActorView extends ActorNode {
  readonly last: LastStep | null;
}

export interface LogEntry extends Omit<MachineStep, 'n'> {
  /** Sequence number within this page. */
  readonly n: number;
  readonly actor: string;
  readonly name: string;
  readonly machine: string | null;
  /** Name of the actor that sent the event; null for events from outside the tree. */
  readonly sourceName: string | null;
}

export interface ServerView extends ServerNumbers {
  /** Time of these numbers; idle servers have old numbers. */
  readonly at: number;
}

export interface PageState {
  /** Time of the last message, by the gateway's clock; 0 before the first message. */
  readonly at: number;
  readonly startedAt: number | null;
  readonly actors: ReadonlyMap<string, ActorView>;
  /** Oldest first. */
  readonly log: readonly LogEntry[];
  /** Number of log entries since the page was opened. */
  readonly loggedCount: number;
  readonly totals: Totals | null;
  readonly servers: ReadonlyMap<string, ServerView>;
  readonly triggers: ReadonlyMap<string, TriggerState>;
  /** Number of steps and actors omitted by the feed. */
  readonly dropped: number;
  /** Number of messages that this page missed because it was slow. */
  readonly missed: number;
  /** Number of gateway restarts since the page was opened. */
  readonly gatewayRestarts: number;
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
  loggedCount: 0,
  totals: null,
  servers: new Map(),
  triggers: new Map(),
  dropped: 0,
  missed: 0,
  gatewayRestarts: 0,
};

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

/** Returns the state with an empty log. */
export function withoutLog(state: PageState): PageState {
  return { ...state, log: [] };
}

/** Applies the complete tree, which is sent first on each connection, and again after lost messages. */
function withTree(state: PageState, tree: TreeMessage): PageState {
  // The next run of the gateway reuses actor ids, so the actors of the previous run are discarded.
  const isSameRun = state.startedAt === tree.started_at;
  const previous = isSameRun ? state : { ...state, actors: new Map<string, ActorView>(), log: [] };
  const actors = new Map(
    tree.actors.map((node) => [node.id, { ...node, last: previous.actors.get(node.id)?.last ?? null }]),
  );
  const newest = previous.log.at(-1)?.at ?? 0;
  const newSteps = tree.recent.filter(({ at }) => at > newest);
  const entries = newSteps.map((step, index) => ({
    ...step,
    n: state.loggedCount + index,
    sourceName: nameOf(actors, step.source),
  }));
  return {
    ...previous,
    at: tree.at,
    startedAt: tree.started_at,
    actors,
    log: truncate([...previous.log, ...entries]),
    loggedCount: state.loggedCount + entries.length,
    // The next `numbers` message contains all servers and triggers.
    servers: new Map(),
    triggers: new Map(),
    dropped: tree.dropped,
    missed: tree.missed,
    gatewayRestarts: state.gatewayRestarts + (isSameRun || state.startedAt === null ? 0 : 1),
  };
}

/** Applies a frame: a message with the steps of actors since the previous frame. */
function withFrame(state: PageState, frame: Frame): PageState {
  const actors = new Map(state.actors);
  const entries: LogEntry[] = [];
  // Collected first, because the sender of an event may be listed later in this frame.
  const names = new Map(frame.actors.map(({ id, name }) => [id, name]));
  for (const actor of frame.actors) {
    for (const step of actor.steps) {
      const sourceName =
        step.source === null ? null : (names.get(step.source) ?? nameOf(actors, step.source));
      entries.push({ ...step, actor: actor.id, name: actor.name, machine: actor.machine, sourceName });
    }
    if (actor.isGone) continue;
    actors.set(actor.id, withSteps(actors.get(actor.id), actor));
  }
  for (const { id, isGone } of frame.actors) if (isGone) actors.delete(id);
  entries.sort((a, b) => a.n - b.n);
  const numbered = entries.map((entry, index) => ({ ...entry, n: state.loggedCount + index }));
  return {
    ...state,
    at: frame.at,
    actors,
    log: truncate([...state.log, ...numbered]),
    loggedCount: state.loggedCount + entries.length,
    dropped: frame.dropped,
  };
}

function withSteps(before: ActorView | undefined, frame: ActorFrame): ActorView {
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

/** Applies new numbers: totals, and the servers and triggers that have changed. */
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

/** Returns the same map if nothing changed. */
function withRows<Row>(
  before: ReadonlyMap<string, Row>,
  changed: readonly (readonly [string, Row])[],
  gone: readonly string[],
): ReadonlyMap<string, Row> {
  if (changed.length + gone.length === 0) return before;
  const rows = new Map([...before, ...changed]);
  for (const id of gone) rows.delete(id);
  return rows;
}

function nameOf(actors: ReadonlyMap<string, ActorNode>, id: string | null): string | null {
  return id === null ? null : (actors.get(id)?.name ?? id);
}

function truncate(log: readonly LogEntry[]): readonly LogEntry[] {
  return log.length > MAX_LOG ? log.slice(-MAX_LOG) : log;
}
