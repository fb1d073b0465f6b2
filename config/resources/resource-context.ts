// What the readers of resources are told beside the file, and what they give back.

import type { SchemaReader } from '../reader/schema-reader.ts';
import type { Agent } from './agents/agent.ts';
import type { Fleet } from './fleets/fleet.ts';
import type { Flow } from './flows/flow.ts';
import type { TargetReference } from './triggers/bindings.ts';
import type { Trigger } from './triggers/trigger.ts';
import type { ListenAddress } from './triggers/trigger-type.ts';

/** Settings of a platform from the daemon's configuration; members that are undefined were not written. */
export interface PlatformSettings {
  readonly enabled?: boolean | undefined;
  readonly webhook_path?: string | undefined;
  /** Members of `spec.config`, as defaults for the triggers of the platform. */
  readonly [member: string]: unknown;
}

/** By the word of the platform: `repohost`. */
export type Platforms = Readonly<Record<string, PlatformSettings | undefined>>;

export interface ResourceContext {
  readonly platforms: Platforms;
  readonly listen: ListenAddress | undefined;
  /** For triggers without one of their own. */
  readonly defaultAgent: string | undefined;
}

export interface PlacedServer {
  readonly name: string;
  readonly path: string;
}

/** One document of a file, read. */
export interface ReadResource {
  /** As it was written; undefined when it cannot be made out. */
  readonly kind: string | undefined;
  readonly name: string | undefined;
  readonly reader: SchemaReader;
  /** Undefined for one with an error. */
  readonly trigger?: Trigger | undefined;
  readonly agent?: Agent | undefined;
  readonly fleet?: Fleet | undefined;
  readonly flow?: Flow | undefined;
  /** Agents that are written in it: what is wrong with one of them is wrong with it. */
  readonly inline?: readonly ReadResource[];
  /** Who is to answer, as a trigger names them. */
  readonly references?: readonly TargetReference[];
  /** True if the trigger accepts events without verification. */
  readonly isUnverified?: boolean;
  /** Where servers stand that an agent names. */
  readonly servers?: readonly PlacedServer[];
}
