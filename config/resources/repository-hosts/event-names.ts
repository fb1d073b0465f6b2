// Names of the events of a repository host, as they stand in `repo_events` and as commands: `event`, or `event.action`. A host may
// have another sign of its own between the two; the dot is understood everywhere.

import { suggest } from '../../reader/suggest.ts';

/** What people write in a comment: a word behind a slash. */
const SPOKEN = /^\/[A-Za-z][\w-]{0,63}$/;

export class EventNames {
  /** By event; one without actions has an empty list. */
  readonly actions: Readonly<Record<string, readonly string[]>>;
  readonly #sign: string;

  /** `sign` is what the host writes between event and action. */
  constructor(actions: Readonly<Record<string, readonly string[]>>, sign = '.') {
    this.actions = actions;
    this.#sign = sign;
  }

  /** The same for both spellings of a name: with a dot, whatever the host writes. */
  plain(name: string): string {
    return name.startsWith('/') ? name : name.replace(this.#sign, '.');
  }

  /** What is wrong with a name, or undefined. */
  faultOf(written: string): string | undefined {
    const name = this.plain(written);
    const sign = written === name ? '.' : this.#sign;
    const dot = name.indexOf('.');
    const event = dot === -1 ? name : name.slice(0, dot);
    const actions = Object.hasOwn(this.actions, event) ? this.actions[event] : undefined;
    if (actions === undefined) {
      const all = Object.keys(this.actions);
      const near = suggest(event, all);
      if (near !== undefined) return `there is no event ${event}; did you mean ${near}?`;
      return `there is no event ${event}; events are ${all.join(', ')}`;
    }
    if (dot === -1) return undefined;
    const action = name.slice(dot + 1);
    if (actions.includes(action)) return undefined;
    if (actions.length === 0) return `${event} has no actions; write ${event}`;
    const near = suggest(action, actions);
    if (near !== undefined) return `${event} has no action ${action}; did you mean ${event}${sign}${near}?`;
    return `${event} has no action ${action}; its actions are ${actions.join(', ')}`;
  }

  /** The same for a command, which may also be one that people write: `/deploy`. */
  commandFaultOf(command: string): string | undefined {
    if (!command.startsWith('/')) return this.faultOf(command);
    return SPOKEN.test(command)
      ? undefined
      : 'what people write as a command is a slash and a word of up to 64 of A-Z a-z 0-9 _ -, such as /deploy';
  }
}

/** Whether there is an event that each of the lists takes. */
export function haveEventInCommon(lists: readonly (readonly string[])[]): boolean {
  const [first = [], ...others] = lists.filter((list) => list.length > 0);
  if (others.length === 0) return true;
  // Of two that meet one is the other, or an action of it: what both stand for is the longer one.
  const [second = [], ...rest] = others;
  const common = first.flatMap((each) =>
    second.filter((other) => doEventsMeet(each, other)).map((other) => longer(each, other)),
  );
  return common.length > 0 && haveEventInCommon([common, ...rest]);
}

const longer = (one: string, other: string) => (one.length < other.length ? other : one);

/** `pull_request` stands for all of its actions. */
function doEventsMeet(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}
