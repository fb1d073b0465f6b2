// The trigger that each agent, fleet and flow has by itself, so that it can be asked without one of a file: through the API and from
// the terminal. It is none of those that are listed, paused or changed. How long one attempt may take is known by it too.
//
// AGT1  its name, `agent/NAME`, is none that a file can have.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import type { Answering } from '../conversations/handlers.ts';

/** A script may take its time. */
const SCRIPT_SECONDS = 300;
/** So that the limit of whoever answers is over first, and says so. */
const MARGIN_SECONDS = 15;
/** Of what the system's timers can count. */
const LONGEST_SECONDS = 2_147_483;

/** Somebody waits for it: a moment, and not minutes. */
const RETRY: TriggerRetry = { attempts: 4, min_backoff_seconds: 1, max_backoff_seconds: 30, factor: 4 };

interface Own {
  readonly target: Target;
  readonly file: string;
  readonly hash: string;
  readonly seconds: number;
}

const nameOf = ({ kind, name }: Target): string => `${kind}/${name}`;

export class OwnTriggers {
  #byName: ReadonlyMap<string, ManualTrigger> = new Map();

  use(loaded: Answering): void {
    const before = this.#byName;
    this.#byName = new Map(
      ownersOf(loaded).map((own) => {
        const name = nameOf(own.target);
        const known = before.get(name);
        return [name, known?.hash === own.hash ? known : triggerOf(name, own)];
      }),
    );
  }

  /** By the name of the trigger. */
  get(name: string): ManualTrigger | undefined {
    return this.#byName.get(name);
  }

  of(target: Target): ManualTrigger | undefined {
    return this.#byName.get(nameOf(target));
  }

  /** What the most patient of them gives its handler. */
  get longestTimeoutMs(): number {
    return Math.max(0, ...[...this.#byName.values()].map((trigger) => trigger.timeout_seconds * 1000));
  }
}

function ownersOf({ agents, fleets, flows }: Answering): readonly Own[] {
  return [
    ...agents.map(({ name, file, hash, runtime }): Own => {
      const seconds = runtime.kind === 'scripted' ? SCRIPT_SECONDS : runtime.timeout_seconds + MARGIN_SECONDS;
      return { target: { kind: 'agent', name }, file, hash, seconds };
    }),
    ...fleets.map((fleet) => ownerOf('fleet', fleet)),
    ...flows.map((flow) => ownerOf('flow', flow)),
  ];
}

function ownerOf(
  kind: 'fleet' | 'flow',
  { name, file, hash, timeout_seconds }: Answering['fleets' | 'flows'][number],
): Own {
  const seconds = Math.min(timeout_seconds + MARGIN_SECONDS, LONGEST_SECONDS);
  return { target: { kind, name }, file, hash, seconds };
}

function triggerOf(name: string, { target, file, hash, seconds }: Own): ManualTrigger {
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
