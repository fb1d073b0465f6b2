// The choice of a trigger for an event, compared with a simple implementation of the rules: all triggers that
// accept the event, sorted.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Binding } from '../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import { type Matchable, matchTrigger, type Routable } from '../../../machines/matching.ts';

interface Case extends Routable {
  readonly channels: readonly string[];
  readonly users: readonly string[];
  readonly words: readonly string[];
}

const letters = fc.constantFrom('a', 'b', 'c');
const some = fc.uniqueArray(letters, { maxLength: 2 });
const binding = (command: string): Binding => ({
  command,
  target: agentTarget(command),
  description: undefined,
  parameters: [],
});
const triggers: fc.Arbitrary<readonly Case[]> = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z]{1,3}$/),
    commands: some.map((names) => names.map(binding)),
    default_target: fc.option(letters.map(agentTarget), { nil: undefined }),
    channels: some,
    users: fc.uniqueArray(fc.constantFrom('a', 'b', '*'), { maxLength: 2 }),
    words: some,
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);
const event: fc.Arbitrary<Matchable> = fc.record({
  names: some,
  text: fc.option(
    fc.array(fc.constantFrom('a', '/a', 'b', ' ', 'c d'), { maxLength: 4 }).map((texts) => texts.join(' ')),
    {
      nil: undefined,
    },
  ),
  channel: fc.option(fc.constantFrom('a', '#a', 'b'), { nil: undefined }),
  user: fc.option(letters, { nil: undefined }),
});

const plain = (text: string) => text.replace(/^[#/]/, '');

function expectedTrigger(
  all: readonly Case[],
  { names, text, channel, user }: Matchable,
): string | undefined {
  const rows = all.flatMap((trigger) => {
    const { channels, users, words: texts, commands, default_target, name } = trigger;
    if (channels.length > 0 && !channels.some((each) => channel !== undefined && each === plain(channel)))
      return [];
    if (users.length > 0 && !users.some((each) => user !== undefined && (each === '*' || each === user)))
      if (!users.includes('*')) return [];
    if (texts.length > 0 && !texts.some((each) => text?.includes(each) === true)) return [];
    const score =
      (channels.length > 0 ? 100 : 0) +
      (user !== undefined && users.includes(user) ? 80 : 0) +
      (texts.length > 0 ? 60 : 0);
    const requestedNames = names.length > 0 ? names : [plain((text ?? '').trim().split(/\s+/)[0] ?? '')];
    const commandNames = commands.map(({ command }) => command);
    const index = requestedNames.findIndex((each) => commandNames.includes(each));
    if (index === -1 && default_target === undefined) return [];
    return [
      { name, score, place: index === -1 ? 99 : index, command: index === -1 ? '' : requestedNames[index] },
    ];
  });
  const [best] = rows.sort((a, b) => b.score - a.score || a.place - b.place || (a.name < b.name ? -1 : 1));
  return best && `${best.name} ${best.command} ${best.score + 10}`;
}

test('the trigger chosen for an event is the first of all triggers that accept the event', () => {
  fc.assert(
    fc.property(triggers, event, (all, what) => {
      const match = matchTrigger(all, what, ({ channels, users, words: texts }) => ({
        channels: new Set(channels),
        users: new Set(users),
        patterns: texts.map((word) => (text: string) => text.includes(word)),
      }));
      const expectedTarget =
        typeof match === 'string' ? undefined : `${match.trigger.name} ${match.command ?? ''} ${match.score}`;
      expect(expectedTarget).toBe(expectedTrigger(all, what));
    }),
    { numRuns: 3000 },
  );
});
