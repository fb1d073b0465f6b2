// What people command is the first word of what they have just written, and begins with a slash; nothing else of any text is.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spokenIn } from '../../../../actors/platforms/repository-hosts/facts.ts';
import { repoHostEvents } from '../../../../actors/platforms/repository-hosts/repohost/facts.ts';
import { repoHostEventNames } from '../../../../config/resources/repository-hosts/repohost-events.ts';
import { commandWordOf } from '../../../../machines/matching.ts';
import { commentPayload } from '../../../fixtures/automation/repo-comments.ts';
import { repoExamples } from '../../../fixtures/automation/repo-payloads.ts';

const word = fc.stringMatching(/^\/[A-Za-z][\w-]{0,20}$/);
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.oneof(
        word,
        fc.constantFrom(' ', '   ', '    ', '\t', '\n', '\r\n', '```', '> ', '- ', '`', '/', '//'),
        fc.string(),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
);

/** The same, told without a pattern: line by line. */
function firstWord(said: string): string | undefined {
  const line = said.split('\n').find((each) => each.trim() !== '') ?? '';
  const indent = line.length - line.trimStart().length;
  if (indent > 3 || line.slice(0, indent) !== ' '.repeat(indent)) return undefined;
  return line.trim().split(/\s/u)[0];
}

const spokenOf = (said: string, action = 'created') => {
  const facts = repoHostEvents.facts('issue_comment', commentPayload(said, 'ada', action));
  return facts && spokenIn(facts);
};

test('only a leading word with a slash is spoken, and it is the word that is found as the command', () => {
  fc.assert(
    fc.property(text, (said) => {
      const spoken = spokenOf(said);
      const first = firstWord(said);
      const isCommand = first !== undefined && /^\/[A-Za-z][\w-]{0,63}$/.test(first);
      expect(spoken).toBe(isCommand ? first : undefined);
      if (spoken !== undefined) expect(`/${commandWordOf(said).name}`).toBe(spoken);
    }),
  );
});

test('what stands behind it changes nothing', () => {
  fc.assert(
    fc.property(word, fc.constantFrom(' ', '\n', '\t', '\r\n'), text, (command, gap, rest) => {
      expect(spokenOf(`${command}${gap}${rest}`)).toBe(command);
      expect(commandWordOf(`${command}${gap}${rest}`).rest).toBe(rest.trimStart());
    }),
  );
});

test('what is quoted, code, behind a word, or changed later is none', () => {
  fc.assert(
    fc.property(word, text, (command, rest) => {
      for (const before of ['> ', '```\n', '`', 'please ', '- ', '    ', '\t', '.', '//', '\\'])
        expect(spokenOf(`${before}${command} ${rest}`)).toBeUndefined();
      for (const action of ['edited', 'deleted'])
        expect(spokenOf(`${command} ${rest}`, action)).toBeUndefined();
    }),
  );
});

test('nothing but what was just said about an issue or a request is', () => {
  const saying = [
    'issue_comment.created',
    'pull_request_review_comment.created',
    'pull_request_review.submitted',
  ];
  const members = ['comment', 'review', 'issue', 'pull_request', 'release', 'head_commit'];
  const heard = new Set<string>();
  for (const { event, payload } of repoExamples) {
    const said = Object.fromEntries(
      members
        .filter((member) => typeof payload[member] === 'object' && payload[member] !== null)
        .map((member) => [member, { ...(payload[member] as object), body: '/deploy', title: '/deploy' }]),
    );
    const facts = repoHostEvents.facts(event, { ...payload, ...said });
    if (facts !== undefined && spokenIn(facts) !== undefined) heard.add(facts.names[0] ?? '');
  }
  expect(heard).toEqual(new Set(saying));
  expect(Object.keys(repoHostEventNames.actions)).toEqual(
    expect.arrayContaining(saying.map((name) => name.split('.')[0])),
  );
});
