// Who may be named to answer: the agents, fleets and flows that were found, those with an error too.

import type { Problem } from '../reader/problem.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { suggest } from '../reader/suggest.ts';
import type { Agent } from './agents/agent.ts';
import type { ReadResource } from './resource-context.ts';
import { type Target, type TargetKind, targetText } from './triggers/target.ts';

const kinds: Readonly<Record<string, TargetKind>> = { Agent: 'agent', Fleet: 'fleet', Flow: 'flow' };

export class KnownTargets {
  /** Undefined for one with an error. */
  readonly agents = new Map<string, Agent | undefined>();
  readonly #names: Readonly<Record<TargetKind, Set<string>>> = {
    agent: new Set(),
    fleet: new Set(),
    flow: new Set(),
  };
  readonly #isPartial: boolean;

  /** `isPartial`: there may be more of them, in files that were not given. */
  constructor(resources: readonly ReadResource[], isPartial: boolean) {
    this.#isPartial = isPartial;
    for (const { kind = '', name, agent } of resources) {
      const known = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (known === undefined || name === undefined) continue;
      this.#names[known].add(name);
      if (known === 'agent') this.agents.set(name, agent);
    }
  }

  namesOf(kind: TargetKind): ReadonlySet<string> {
    return this.#names[kind];
  }

  /** Of a name that is not there. */
  severityOf(kind: TargetKind): Problem['severity'] {
    return this.#isPartial && this.#names[kind].size === 0 ? 'warning' : 'error';
  }

  /** Undefined for one that is there. */
  faultOf(target: Target): string | undefined {
    const names = this.#names[target.kind];
    if (names.has(target.name)) return undefined;
    const near = suggest(target.name, [...names]);
    const fault = `there is no ${targetText(target)}`;
    return near === undefined ? fault : `${fault}; did you mean ${near}?`;
  }

  /** Reports a name that is not there. */
  check(reader: SchemaReader, path: string, target: Target): void {
    const fault = this.faultOf(target);
    if (fault !== undefined) reader.report(path, fault, this.severityOf(target.kind));
  }
}
