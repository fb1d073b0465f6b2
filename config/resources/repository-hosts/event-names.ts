// Names of a repository host's events: `event`, or `event.action`. A trigger has such names in `repo_events`
// and as keys in `spec.commands`. Some hosts use another separator; the dot is always accepted.

import { suggest } from '../../reader/suggest.ts';

/** Command in a comment: a slash and a word. */
const COMMENT_COMMAND = /^\/[A-Za-z][\w-]{0,63}$/;

/** The known events of one repository host. */
export class EventNames {
  /** Actions by event; an empty list for an event without actions. */
  readonly actions: Readonly<Record<string, readonly string[]>>;
  readonly #separator: string;

  /** `separator` is the character between event and action in the host's notation. */
  constructor(actions: Readonly<Record<string, readonly string[]>>, separator = '.') {
    this.actions = actions;
    this.#separator = separator;
  }

  /** Normalises a name to the dot as separator. */
  plain(name: string): string {
    return name.startsWith('/') ? name : name.replace(this.#separator, '.');
  }

  /** Returns the error message if the name is unknown. */
  faultOf(written: string): string | undefined {
    const name = this.plain(written);
    const separator = written === name ? '.' : this.#separator;
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
    if (near !== undefined)
      return `${event} has no action ${action}; did you mean ${event}${separator}${near}?`;
    return `${event} has no action ${action}; its actions are ${actions.join(', ')}`;
  }

  /** Returns the error message for a command: an event name, or a command in a comment such as `/deploy`. */
  commandFaultOf(command: string): string | undefined {
    if (!command.startsWith('/')) return this.faultOf(command);
    return COMMENT_COMMAND.test(command)
      ? undefined
      : 'a command in a comment is a slash and a word of up to 64 characters A-Z a-z 0-9 _ -, such as /deploy';
  }
}

/** Returns true if some event matches all lists. An empty list matches every event. */
export function haveEventInCommon(lists: readonly (readonly string[])[]): boolean {
  const [first = [], ...others] = lists.filter((list) => list.length > 0);
  if (others.length === 0) return true;
  // If two names overlap, the longer one is the intersection: an action of the event, or the same.
  const [second = [], ...rest] = others;
  const common = first.flatMap((each) =>
    second.filter((other) => doEventsOverlap(each, other)).map((other) => longer(each, other)),
  );
  return common.length > 0 && haveEventInCommon([common, ...rest]);
}

const longer = (one: string, other: string) => (one.length < other.length ? other : one);

/** Returns true if both names match a common event. An event name without an action matches every action. */
function doEventsOverlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}
