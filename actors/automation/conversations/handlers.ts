// Handlers by target. A handler is reused while its agent, fleet or flow is unchanged, so reloads do not
// break the connections of unchanged targets.

import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import { type Target, type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import type { Handler } from '../../agents/handlers/handler.ts';

/** Loaded targets. */
export type LoadedTargets = Pick<LoadedResources, 'agents' | 'fleets' | 'flows'>;

interface ByKind {
  readonly agent: LoadedTargets['agents'][number];
  readonly fleet: LoadedTargets['fleets'][number];
  readonly flow: LoadedTargets['flows'][number];
}

/** Returns undefined if the target has no handler. */
export type MakeHandlers = {
  readonly [Kind in TargetKind]: (resource: ByKind[Kind]) => Handler | undefined;
};

interface HandlerEntry {
  readonly hash: string;
  readonly handler: Handler | undefined;
}

type EntriesByKind = Readonly<Record<TargetKind, ReadonlyMap<string, HandlerEntry>>>;

const NO_TARGETS: LoadedTargets = { agents: [], fleets: [], flows: [] };

export class Handlers {
  readonly #make: MakeHandlers;
  #loaded = NO_TARGETS;
  #entries: EntriesByKind = {
    agent: new Map(),
    fleet: new Map(),
    flow: new Map(),
  };

  constructor(make: MakeHandlers) {
    this.#make = make;
  }

  /** Loaded targets, each kind in file order. */
  get loaded(): LoadedTargets {
    return this.#loaded;
  }

  /** Returns undefined if the target is unknown or has no handler. */
  of({ kind, name }: Target): Handler | undefined {
    return this.#entries[kind].get(name)?.handler;
  }

  /** Replaces the targets; the handlers of unchanged targets stay. */
  use(loaded: LoadedTargets): void {
    this.#loaded = loaded;
    const resources = { agent: loaded.agents, fleet: loaded.fleets, flow: loaded.flows };
    const entries = targetKinds.map((kind) => [kind, this.#update(kind, resources[kind])] as const);
    this.#entries = Object.fromEntries(entries) as unknown as EntriesByKind;
  }

  #update<Kind extends TargetKind>(
    kind: Kind,
    resources: readonly ByKind[Kind][],
  ): ReadonlyMap<string, HandlerEntry> {
    const before = this.#entries[kind];
    return new Map(
      resources.map((resource) => {
        const { name, hash } = resource;
        const entry = before.get(name);
        return [name, entry?.hash === hash ? entry : { hash, handler: this.#make[kind](resource) }];
      }),
    );
  }
}
