// Names of agents, fleets and flows ("targets") that triggers and other resources can refer to. Includes the
// names of files with errors, so that a reference to such a file is not reported as unknown.

import type { Problem } from '../reader/problem.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { suggest } from '../reader/suggest.ts';
import type { Agent } from './agents/agent.ts';
import type { ReadResource } from './resource-context.ts';
import { type Target, type TargetKind, targetText } from './triggers/target.ts';

const kinds: Readonly<Record<string, TargetKind>> = { Agent: 'agent', Fleet: 'fleet', Flow: 'flow' };

export class KnownTargets {
  /** Agents by name; undefined if the agent has errors. */
  readonly agents = new Map<string, Agent | undefined>();
  readonly #names: Readonly<Record<TargetKind, Set<string>>> = {
    agent: new Set(),
    fleet: new Set(),
    flow: new Set(),
  };
  readonly #isPartial: boolean;

  /** `isPartial` means that further targets may be in files that were not loaded. */
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

  /** Returns the severity of an unknown name: a warning if all targets of the kind may be in other files. */
  severityOf(kind: TargetKind): Problem['severity'] {
    return this.#isPartial && this.#names[kind].size === 0 ? 'warning' : 'error';
  }

  /** Returns the error message if the target is unknown. */
  faultOf(target: Target): string | undefined {
    const names = this.#names[target.kind];
    if (names.has(target.name)) return undefined;
    const near = suggest(target.name, [...names]);
    const fault = `there is no ${targetText(target)}`;
    return near === undefined ? fault : `${fault}; did you mean ${near}?`;
  }

  /** Reports an unknown name. */
  check(reader: SchemaReader, path: string, target: Target): void {
    const fault = this.faultOf(target);
    if (fault !== undefined) reader.report(path, fault, this.severityOf(target.kind));
  }
}
