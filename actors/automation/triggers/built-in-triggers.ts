// Built-in trigger of each agent, fleet and flow, for manual runs by the API and the CLI. These triggers are
// not listed, paused or edited. They also define the timeouts of attempts. Their names, for example
// `agent/NAME`, cannot occur in a file.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import type { LoadedTargets } from '../conversations/handlers.ts';

/** Scripts may contain delays. */
const SCRIPT_SECONDS = 300;
/** Additional time, so that the target's own limit is reached first and reported. */
const MARGIN_SECONDS = 15;
/** Limit of system timers. */
const LONGEST_SECONDS = 2_147_483;

/** Retries with short pauses, because a caller blocks meanwhile. */
const RETRY: TriggerRetry = { attempts: 4, min_backoff_seconds: 1, max_backoff_seconds: 30, factor: 4 };

interface TargetSettings {
  readonly target: Target;
  readonly file: string;
  readonly hash: string;
  readonly seconds: number;
}

const nameOf = ({ kind, name }: Target): string => `${kind}/${name}`;

export class BuiltInTriggers {
  #byName: ReadonlyMap<string, ManualTrigger> = new Map();

  /** Replaces the triggers; triggers of unchanged targets stay. */
  use(loaded: LoadedTargets): void {
    const before = this.#byName;
    this.#byName = new Map(
      settingsOf(loaded).map((settings) => {
        const name = nameOf(settings.target);
        const previous = before.get(name);
        return [name, previous?.hash === settings.hash ? previous : triggerOf(name, settings)];
      }),
    );
  }

  /** Returns a trigger by name. */
  get(name: string): ManualTrigger | undefined {
    return this.#byName.get(name);
  }

  of(target: Target): ManualTrigger | undefined {
    return this.#byName.get(nameOf(target));
  }

  /** Longest built-in timeout. */
  get longestTimeoutMs(): number {
    return Math.max(0, ...[...this.#byName.values()].map((trigger) => trigger.timeout_seconds * 1000));
  }
}

function settingsOf({ agents, fleets, flows }: LoadedTargets): readonly TargetSettings[] {
  return [
    ...agents.map(({ name, file, hash, runtime }): TargetSettings => {
      const seconds = runtime.kind === 'scripted' ? SCRIPT_SECONDS : runtime.timeout_seconds + MARGIN_SECONDS;
      return { target: { kind: 'agent', name }, file, hash, seconds };
    }),
    ...fleets.map((fleet) => compositeSettings('fleet', fleet)),
    ...flows.map((flow) => compositeSettings('flow', flow)),
  ];
}

function compositeSettings(
  kind: 'fleet' | 'flow',
  { name, file, hash, timeout_seconds }: LoadedTargets['fleets' | 'flows'][number],
): TargetSettings {
  const seconds = Math.min(timeout_seconds + MARGIN_SECONDS, LONGEST_SECONDS);
  return { target: { kind, name }, file, hash, seconds };
}

function triggerOf(name: string, { target, file, hash, seconds }: TargetSettings): ManualTrigger {
  return {
    name,
    type: 'Manual',
    config: { require_confirmation: false, allowed_commands: [], timeout: undefined },
    commands: [],
    default_target: target,
    enabled: true,
    labels: {},
    annotations: {},
    retry: RETRY,
    timeout_seconds: seconds,
    on_failure: 'silent',
    mentions: 'none',
    file,
    hash,
  };
}
