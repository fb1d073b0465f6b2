// The choice of a trigger for an event (matchTrigger), compared with a simple implementation of its rules:
// all triggers that accept the event, sorted by score.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Binding } from '../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import { type Matchable, matchTrigger, type Routable } from '../../../machines/matching.ts';

/** A trigger and its filters. An empty filter accepts every event. */
interface FilteredTrigger extends Routable {
  readonly channels: readonly string[];
  readonly users: readonly string[];
  readonly words: readonly string[];
}

const arbLetter = fc.constantFrom('a', 'b', 'c');
const arbFewLetters = fc.uniqueArray(arbLetter, { maxLength: 2 });
const bindingOf = (command: string): Binding => ({
  command,
  target: agentTarget(command),
  description: undefined,
  parameters: [],
});
const arbTriggers: fc.Arbitrary<readonly FilteredTrigger[]> = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z]{1,3}$/),
    commands: arbFewLetters.map((names) => names.map(bindingOf)),
    default_target: fc.option(arbLetter.map(agentTarget), { nil: undefined }),
    channels: arbFewLetters,
    users: fc.uniqueArray(fc.constantFrom('a', 'b', '*'), { maxLength: 2 }),
    words: arbFewLetters,
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);
const arbEvent: fc.Arbitrary<Matchable> = fc.record({
  names: arbFewLetters,
  text: fc.option(
    fc.array(fc.constantFrom('a', '/a', 'b', ' ', 'c d'), { maxLength: 4 }).map((texts) => texts.join(' ')),
    { nil: undefined },
  ),
  channel: fc.option(fc.constantFrom('a', '#a', 'b'), { nil: undefined }),
  user: fc.option(arbLetter, { nil: undefined }),
});

/** Removes the `#` of channels or the `/` of commands. */
const withoutSign = (text: string) => text.replace(/^[#/]/, '');

/** The model: returns the trigger, the command and the score as one text. Undefined if no trigger accepts. */
function expectedTrigger(
  all: readonly FilteredTrigger[],
  { names, text, channel, user }: Matchable,
): string | undefined {
  const candidates = all.flatMap((trigger) => {
    const { channels, users, words, commands, default_target, name } = trigger;
    if (
      channels.length > 0 &&
      !channels.some((each) => channel !== undefined && each === withoutSign(channel))
    )
      return [];
    // `*` accepts every user, also an unknown one.
    const isUserAccepted = users.includes('*') || (user !== undefined && users.includes(user));
    if (users.length > 0 && !isUserAccepted) return [];
    if (words.length > 0 && !words.some((each) => text?.includes(each) === true)) return [];
    // The points of the documented rules. `*` does not match a single user.
    const score =
      (channels.length > 0 ? 100 : 0) +
      (user !== undefined && users.includes(user) ? 80 : 0) +
      (words.length > 0 ? 60 : 0);
    // The event names, or the first word in its text. An earlier name is more exact.
    const requestedNames =
      names.length > 0 ? names : [withoutSign((text ?? '').trim().split(/\s+/)[0] ?? '')];
    const commandNames = commands.map(({ command }) => command);
    const index = requestedNames.findIndex((each) => commandNames.includes(each));
    if (index === -1 && default_target === undefined) return [];
    // A trigger without a matching command follows all others.
    if (index === -1) return [{ name, score, rank: 99, command: '' }];
    return [{ name, score, rank: index, command: requestedNames[index] }];
  });
  const [best] = candidates.sort(
    (a, b) => b.score - a.score || a.rank - b.rank || (a.name < b.name ? -1 : 1),
  );
  // The platform adds 10 points to every score.
  return best && `${best.name} ${best.command} ${best.score + 10}`;
}

test('the trigger chosen for an event is the first of all triggers that accept the event', () => {
  fc.assert(
    fc.property(arbTriggers, arbEvent, (triggers, event) => {
      const match = matchTrigger(triggers, event, ({ channels, users, words }) => ({
        channels: new Set(channels),
        users: new Set(users),
        patterns: words.map((word) => (text: string) => text.includes(word)),
      }));
      const chosen =
        typeof match === 'string' ? undefined : `${match.trigger.name} ${match.command ?? ''} ${match.score}`;
      expect(chosen).toBe(expectedTrigger(triggers, event));
    }),
    { numRuns: 3000 },
  );
});
