// Types for the functions that read resource files (triggers, agents, fleets, flows): their context, and the
// result for a document.

import type { SchemaReader } from '../reader/schema-reader.ts';
import type { Agent } from './agents/agent.ts';
import type { Fleet } from './fleets/fleet.ts';
import type { Flow } from './flows/flow.ts';
import type { TargetReference } from './triggers/bindings.ts';
import type { Trigger } from './triggers/trigger.ts';
import type { ListenAddress } from './triggers/trigger-type.ts';

/** Settings of a platform in the gateway file (gateway.yaml); undefined members are not set. */
export interface PlatformSettings {
  readonly enabled?: boolean | undefined;
  readonly webhook_path?: string | undefined;
  /** Members of `spec.config`, as defaults for triggers of the platform. */
  readonly [member: string]: unknown;
}

/** Settings by name of the platform, such as `schedule` or `http`. */
export type Platforms = Readonly<Record<string, PlatformSettings | undefined>>;

export interface ResourceContext {
  readonly platforms: Platforms;
  /** Listen address of the gateway; undefined if unknown. */
  readonly listen: ListenAddress | undefined;
  /** Default agent of triggers that name none. */
  readonly defaultAgent: string | undefined;
}

/** Tool server of an agent, for problems at its position. */
export interface ServerPosition {
  readonly name: string;
  /** Path of the server in the agent's file. */
  readonly path: string;
}

/** Validated document of a resource file. */
export interface ReadResource {
  /** Kind in the file; undefined if it is missing or invalid. */
  readonly kind: string | undefined;
  readonly name: string | undefined;
  /** Collects the problems of the document, and knows the positions of its fields. */
  readonly reader: SchemaReader;
  /** The trigger; undefined for another kind, and for a trigger with errors. */
  readonly trigger?: Trigger | undefined;
  readonly agent?: Agent | undefined;
  readonly fleet?: Fleet | undefined;
  readonly flow?: Flow | undefined;
  /** Agents and fleets defined within this resource; their errors also count for this resource. */
  readonly inline?: readonly ReadResource[];
  /** Agents, fleets and flows that the trigger names, with positions. */
  readonly references?: readonly TargetReference[];
  /** True if the trigger accepts events without verification. */
  readonly isUnverified?: boolean;
  /** Positions of the agent's servers. */
  readonly servers?: readonly ServerPosition[];
}
