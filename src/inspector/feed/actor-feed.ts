// Publishes the events of the actor tree (the gateway's state machines) to viewers. XState inspection runs
// only while viewers are connected; without viewers the feed costs nothing.
//
// AF2  Frames contain event types and state values, never payloads or contexts (actor-tree.ts,
//      actor-names.ts).
// AF3  Actors per frame, steps per actor and frame, and recent steps are bounded. `dropped` counts
//      omitted steps. If a frame omits whole actors (`unseen`), viewers need a complete tree.
//
// A frame is a message with the actors that had events since the previous frame, each with the new steps. A
// step is one event, with the new state if it changed. The limit is ten frames per second.

import type { AnyActorRef, InspectionEvent, Subscription } from 'xstate';
import type { Frame, MachineStep, RecentStep, Tree } from '../wire/feed.ts';
import type { ActorNames } from './actor-names.ts';
import { isActive, nodeOf, stateOf, treeOf } from './actor-tree.ts';

/** Interval of the frames. */
const TICK_MS = 100;
/** Maximum steps per actor and frame. */
const MAX_STEPS = 16;
/** Maximum actors per frame. */
const MAX_ACTORS = 2_000;
/** Maximum steps per frame, summed over the actors: about a megabyte of text. */
const MAX_FRAME_STEPS = 8_000;
/** Maximum recent steps, which a new viewer receives with the tree. */
const MAX_RECENT = 1_024;

interface ActorSteps {
  readonly ref: AnyActorRef;
  readonly steps: MachineStep[];
}

export class ActorFeed {
  readonly #root: AnyActorRef;
  readonly #names: ActorNames;
  readonly #watchers = new Set<(frame: Frame) => void>();
  #pending = new Map<string, ActorSteps>();
  /** Number of steps in `#pending`. */
  #pendingSteps = 0;
  /** Last known state of each actor, as JSON, to recognise steps that change it. */
  readonly #states = new WeakMap<AnyActorRef, string>();
  /**
   * Source, time and number of each event, because XState reports a snapshot with its event only. If an event
   * causes another event, the snapshot of the second one arrives first, so steps are sorted by the number.
   */
  readonly #origins = new WeakMap<object, Pick<MachineStep, 'n' | 'source' | 'at'>>();
  #eventCount = 0;
  #recent: RecentStep[] = [];
  #dropped = 0;
  #unseen = 0;
  #subscription: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(root: AnyActorRef, names: ActorNames) {
    this.#root = root;
    this.#names = names;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Number of actors that did not fit into a frame. */
  get unseen(): number {
    return this.#unseen;
  }

  /** Subscribes to frames. Returns a function that unsubscribes. */
  watch(onFrame: (frame: Frame) => void): () => void {
    this.#watchers.add(onFrame);
    if (this.#subscription === undefined) this.#startInspection();
    return () => {
      if (this.#watchers.delete(onFrame) && this.#watchers.size === 0) this.#stopInspection();
    };
  }

  /** Returns the current tree. It includes changes that are not in a frame yet. */
  tree(): Tree {
    const actors = [...treeOf(this.#root)].map((ref) => nodeOf(ref, this.#names));
    return { at: Date.now(), actors, recent: this.#recent, dropped: this.#dropped };
  }

  #startInspection(): void {
    this.#dropped = 0;
    for (const ref of treeOf(this.#root)) this.#states.set(ref, JSON.stringify(stateOf(ref.getSnapshot())));
    this.#subscription = this.#root.system.inspect((event) => this.#onInspection(event));
  }

  #stopInspection(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending.clear();
    this.#pendingSteps = 0;
    this.#recent = [];
  }

  #onInspection(inspection: InspectionEvent): void {
    // The type is wider than the value: only actors of the tree are inspected.
    const ref = inspection.actorRef as AnyActorRef;
    if (inspection.type === '@xstate.event') {
      this.#origins.set(inspection.event, {
        n: this.#eventCount++,
        source: inspection.sourceRef?.sessionId ?? null,
        at: Date.now(),
      });
      return;
    }
    if (inspection.type !== '@xstate.snapshot') return;
    const state = stateOf(inspection.snapshot as never);
    const text = JSON.stringify(state);
    const isChange = this.#states.get(ref) !== text;
    this.#states.set(ref, text);
    const { event } = inspection;
    const origin = this.#origins.get(event) ?? { n: this.#eventCount++, source: null, at: Date.now() };
    this.#addStep(ref, { ...origin, event: event.type, state: isChange ? state : null });
  }

  #addStep(ref: AnyActorRef, step: MachineStep): void {
    let pending = this.#pending.get(ref.sessionId);
    if (pending === undefined && this.#pending.size < MAX_ACTORS) {
      pending = { ref, steps: [] };
      this.#pending.set(ref.sessionId, pending);
      this.#timer ??= setTimeout(() => this.#sendFrame(), TICK_MS).unref();
    }
    if (pending === undefined) this.#unseen += 1;
    if (pending === undefined || pending.steps.length >= MAX_STEPS || this.#pendingSteps >= MAX_FRAME_STEPS) {
      this.#dropped += 1;
      return;
    }
    this.#pendingSteps += 1;
    pending.steps.push(step);
  }

  #sendFrame(): void {
    this.#timer = undefined;
    const pending = this.#pending;
    this.#pending = new Map();
    this.#pendingSteps = 0;
    const actors = [...pending.values()].map(({ ref, steps }) => ({
      ...nodeOf(ref, this.#names),
      isGone: !isActive(ref),
      steps: steps.map((step) => ({ ...step, event: this.#names.eventOf(step.event) })),
    }));
    const steps = actors.flatMap(({ id, name, machine, steps }) =>
      steps.map((step) => ({ ...step, actor: id, name, machine })),
    );
    this.#recent.push(...steps.sort((a, b) => a.n - b.n));
    if (this.#recent.length > MAX_RECENT) this.#recent = this.#recent.slice(-MAX_RECENT);
    const frame = { at: Date.now(), actors, dropped: this.#dropped };
    for (const onFrame of [...this.#watchers]) onFrame(frame);
  }
}
