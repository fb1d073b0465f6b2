// What happens in the actor tree, for as long as somebody watches. XState is inspected from the first watcher on and left
// alone after the last; unwatched, the feed costs nothing.
//
// AF1  ten frames a second at most, and in each an actor once, with the steps it took since the frame before.
// AF2  types of events and values of states, and nothing else of them (see actor-tree.ts, actor-names.ts).
// AF3  everything is bounded: steps per actor, actors and steps per frame, the ring of recent steps. What is over a bound is counted in
//      `dropped`; when whole actors were left out (`unseen`), whoever watches is to be sent the tree anew.

import type { AnyActorRef, InspectionEvent, Subscription } from 'xstate';
import type { Frame, RecentStep, Step, Tree } from '../wire/feed-wire.ts';
import type { ActorNames } from './actor-names.ts';
import { isThere, nodeOf, stateOf, treeOf } from './actor-tree.ts';

const TICK_MS = 100;
const MAX_STEPS = 16;
const MAX_ACTORS = 2_000;
/** Of all actors together, in a frame: a megabyte of text. */
const MAX_FRAME_STEPS = 8_000;
const MAX_RECENT = 1_024;

interface Seen {
  readonly ref: AnyActorRef;
  readonly steps: Step[];
}

export class ActorFeed {
  readonly #root: AnyActorRef;
  readonly #names: ActorNames;
  readonly #watchers = new Set<(frame: Frame) => void>();
  #seen = new Map<string, Seen>();
  /** In all of `#seen`. */
  #steps = 0;
  /** The last known state of each actor, as JSON: to tell a step that changed it from one that did not. */
  readonly #states = new WeakMap<AnyActorRef, string>();
  /**
   * Where events came from, when, and in which order; the snapshot that an event led to tells none of it. Of an event that led to
   * another the snapshot comes after that of the other: by their times the two would stand in the wrong order.
   */
  readonly #origins = new WeakMap<object, Pick<Step, 'n' | 'source' | 'at'>>();
  #count = 0;
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

  /** How often an actor found no room in a frame. */
  get unseen(): number {
    return this.#unseen;
  }

  /** Frames from now on, until what is returned is called. */
  watch(onFrame: (frame: Frame) => void): () => void {
    this.#watchers.add(onFrame);
    if (this.#subscription === undefined) this.#begin();
    return () => {
      if (this.#watchers.delete(onFrame) && this.#watchers.size === 0) this.#end();
    };
  }

  /** The tree as it is; what has not been told in a frame yet is in it already. */
  tree(): Tree {
    const actors = [...treeOf(this.#root)].map((ref) => nodeOf(ref, this.#names));
    return { at: Date.now(), actors, recent: this.#recent, dropped: this.#dropped };
  }

  #begin(): void {
    this.#dropped = 0;
    for (const ref of treeOf(this.#root)) this.#states.set(ref, JSON.stringify(stateOf(ref.getSnapshot())));
    this.#subscription = this.#root.system.inspect((event) => this.#onInspection(event));
  }

  #end(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#seen.clear();
    this.#steps = 0;
    this.#recent = [];
  }

  #onInspection(inspected: InspectionEvent): void {
    // The types say that this may be any actor-like thing; here all are actors of the tree.
    const ref = inspected.actorRef as AnyActorRef;
    if (inspected.type === '@xstate.event') {
      this.#origins.set(inspected.event, {
        n: this.#count++,
        source: inspected.sourceRef?.sessionId ?? null,
        at: Date.now(),
      });
      return;
    }
    if (inspected.type !== '@xstate.snapshot') return;
    const state = stateOf(inspected.snapshot as never);
    const text = JSON.stringify(state);
    const isChange = this.#states.get(ref) !== text;
    this.#states.set(ref, text);
    const { event } = inspected;
    const origin = this.#origins.get(event) ?? { n: this.#count++, source: null, at: Date.now() };
    this.#note(ref, { ...origin, event: event.type, state: isChange ? state : null });
  }

  #note(ref: AnyActorRef, step: Step): void {
    let seen = this.#seen.get(ref.sessionId);
    if (seen === undefined && this.#seen.size < MAX_ACTORS) {
      seen = { ref, steps: [] };
      this.#seen.set(ref.sessionId, seen);
      this.#timer ??= setTimeout(() => this.#tick(), TICK_MS).unref();
    }
    if (seen === undefined) this.#unseen += 1;
    if (seen === undefined || seen.steps.length >= MAX_STEPS || this.#steps >= MAX_FRAME_STEPS) {
      this.#dropped += 1;
      return;
    }
    this.#steps += 1;
    seen.steps.push(step);
  }

  #tick(): void {
    this.#timer = undefined;
    const seen = this.#seen;
    this.#seen = new Map();
    this.#steps = 0;
    const actors = [...seen.values()].map(({ ref, steps }) => ({
      ...nodeOf(ref, this.#names),
      isGone: !isThere(ref),
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
