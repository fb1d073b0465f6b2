// Commands in comments at repository hosts. A command starts with a slash and is the first word of a new
// comment or review. No other text is a command.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commandIn } from '../../../../actors/platforms/repository-hosts/facts.ts';
import { repoHostEvents } from '../../../../actors/platforms/repository-hosts/repohost/facts.ts';
import { repoHostEventNames } from '../../../../config/resources/repository-hosts/repohost-events.ts';
import { commandWordOf } from '../../../../machines/matching.ts';
import { commentPayload } from '../../../fixtures/automation/repo-comments.ts';
import { repoExamples } from '../../../fixtures/automation/repo-payloads.ts';

const arbCommand = fc.stringMatching(/^\/[A-Za-z][\w-]{0,20}$/);
const arbText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.oneof(
        arbCommand,
        fc.constantFrom(' ', '   ', '    ', '\t', '\n', '\r\n', '```', '> ', '- ', '`', '/', '//'),
        fc.string(),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
);

/** The model: returns the first word of the first line with text. At most three spaces may precede it. */
function firstWord(content: string): string | undefined {
  const line = content.split('\n').find((each) => each.trim() !== '') ?? '';
  const indent = line.length - line.trimStart().length;
  if (indent > 3 || line.slice(0, indent) !== ' '.repeat(indent)) return undefined;
  return line.trim().split(/\s/u)[0];
}

/** Returns the command in a comment, if any. */
const commandOf = (content: string, action = 'created') => {
  const facts = repoHostEvents.facts('issue_comment', commentPayload(content, 'ada', action));
  return facts && commandIn(facts);
};

test('only a leading word with a slash is a command, and it has the name that was written', () => {
  fc.assert(
    fc.property(arbText, (content) => {
      const command = commandOf(content);
      const first = firstWord(content);
      const isCommand = first !== undefined && /^\/[A-Za-z][\w-]{0,63}$/.test(first);
      expect(command).toBe(isCommand ? first : undefined);
      if (command !== undefined) expect(`/${commandWordOf(content).name}`).toBe(command);
    }),
  );
});

test('the text after a command does not change the recognised command', () => {
  fc.assert(
    fc.property(arbCommand, fc.constantFrom(' ', '\n', '\t', '\r\n'), arbText, (command, gap, rest) => {
      expect(commandOf(`${command}${gap}${rest}`)).toBe(command);
      expect(commandWordOf(`${command}${gap}${rest}`).rest).toBe(rest.trimStart());
    }),
  );
});

test('a word that is quoted, in code, after another word, or in an edit is no command', () => {
  fc.assert(
    fc.property(arbCommand, arbText, (command, rest) => {
      for (const before of ['> ', '```\n', '`', 'please ', '- ', '    ', '\t', '.', '//', '\\'])
        expect(commandOf(`${before}${command} ${rest}`)).toBeUndefined();
      for (const action of ['edited', 'deleted'])
        expect(commandOf(`${command} ${rest}`, action)).toBeUndefined();
    }),
  );
});

test('only new comments and reviews of an issue or a pull request can contain commands', () => {
  const expectedNames = [
    'issue_comment.created',
    'pull_request_review_comment.created',
    'pull_request_review.submitted',
  ];
  // Each example gets `/deploy` as body and title of these members. Only some events may contain commands.
  const members = ['comment', 'review', 'issue', 'pull_request', 'release', 'head_commit'];
  const eventNames = new Set<string>();
  for (const { event, payload } of repoExamples) {
    const content = Object.fromEntries(
      members
        .filter((member) => typeof payload[member] === 'object' && payload[member] !== null)
        .map((member) => [member, { ...(payload[member] as object), body: '/deploy', title: '/deploy' }]),
    );
    const facts = repoHostEvents.facts(event, { ...payload, ...content });
    if (facts !== undefined && commandIn(facts) !== undefined) eventNames.add(facts.names[0] ?? '');
  }
  expect(eventNames).toEqual(new Set(expectedNames));
  // All these events have known names.
  expect(Object.keys(repoHostEventNames.actions)).toEqual(
    expect.arrayContaining(expectedNames.map((name) => name.split('.')[0])),
  );
});
