// The handlers by target. A handler lives as long as its agent, fleet or flow is unchanged, so that a reload breaks no connection of
// others.

import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import { type Target, type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import type { Handler } from '../../agents/handlers/handler.ts';

/** Those who answer, as they were loaded. */
export type Answering = Pick<LoadedResources, 'agents' | 'fleets' | 'flows'>;

interface ByKind {
  readonly agent: Answering['agents'][number];
  readonly fleet: Answering['fleets'][number];
  readonly flow: Answering['flows'][number];
}

/** Undefined for one that has nobody to answer for it. */
export type MakeHandlers = {
  readonly [Kind in TargetKind]: (resource: ByKind[Kind]) => Handler | undefined;
};

interface Kept {
  readonly hash: string;
  readonly handler: Handler | undefined;
}

type KeptByKind = Readonly<Record<TargetKind, ReadonlyMap<string, Kept>>>;

const NOBODY: Answering = { agents: [], fleets: [], flows: [] };

export class Handlers {
  readonly #make: MakeHandlers;
  #loaded = NOBODY;
  #kept: KeptByKind = {
    agent: new Map(),
    fleet: new Map(),
    flow: new Map(),
  };

  constructor(make: MakeHandlers) {
    this.#make = make;
  }

  /** All that were loaded, each kind in the order of its files. */
  get loaded(): Answering {
    return this.#loaded;
  }

  /** Undefined for one that is not there, or has nobody to answer for it. */
  of({ kind, name }: Target): Handler | undefined {
    return this.#kept[kind].get(name)?.handler;
  }

  use(loaded: Answering): void {
    this.#loaded = loaded;
    const { agents: agent, fleets: fleet, flows: flow } = loaded;
    const resources = { agent, fleet, flow };
    const kept = targetKinds.map((kind) => [kind, this.#keep(kind, resources[kind])] as const);
    this.#kept = Object.fromEntries(kept) as unknown as KeptByKind;
  }

  #keep<Kind extends TargetKind>(kind: Kind, resources: readonly ByKind[Kind][]): ReadonlyMap<string, Kept> {
    const before = this.#kept[kind];
    return new Map(
      resources.map((resource) => {
        const { name, hash } = resource;
        const kept = before.get(name);
        return [name, kept?.hash === hash ? kept : { hash, handler: this.#make[kind](resource) }];
      }),
    );
  }
}
