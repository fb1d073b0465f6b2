import { describe, expect, test } from 'vitest';
import type { Binding } from '../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import { type Filters, type Matchable, matchTrigger, type Routable } from '../../../machines/matching.ts';

const binding = (command: string): Binding => ({
  command,
  target: agentTarget(`agent-of-${command}`),
  description: undefined,
  parameters: [],
});
const trigger = (name: string, commands: readonly string[] = [], default_agent?: string): Routable => ({
  name,
  commands: commands.map(binding),
  default_target: default_agent === undefined ? undefined : agentTarget(default_agent),
});
const emptyEvent: Matchable = { names: [], text: undefined, channel: undefined, user: undefined };
const filters = (
  channels: readonly string[] = [],
  users: readonly string[] = [],
  patterns: readonly RegExp[] = [],
): Filters => ({
  channels: new Set(channels),
  users: new Set(users),
  patterns: patterns.map((pattern) => (text: string) => pattern.test(text)),
});

function chosenTriggers(
  triggers: readonly Routable[],
  event: Partial<Matchable>,
  by: Record<string, Filters> = {},
) {
  const match = matchTrigger(triggers, { ...emptyEvent, ...event }, ({ name }) => by[name]);
  if (typeof match === 'string') return match;
  return {
    trigger: match.trigger.name,
    command: match.binding?.command,
    rest: match.rest,
    score: match.score,
  };
}

describe('the command of an event', () => {
  test('is found by its names, the most specific first, without changing the text', () => {
    const event = { names: ['issues.opened', 'issues'], text: 'issues.closed please' };
    expect(chosenTriggers([trigger('t', ['issues', 'issues.opened'])], event)).toMatchObject({
      command: 'issues.opened',
      rest: 'issues.closed please',
    });
    expect(chosenTriggers([trigger('t', ['issues', 'issues.closed'])], event)).toMatchObject({
      command: 'issues',
    });
  });

  test.each([
    ['/deploy now', 'deploy', 'now'],
    ['deploy now', 'deploy', 'now'],
    ['  /deploy\n  two  lines ', 'deploy', 'two  lines '],
    ['deploy', 'deploy', ''],
    ['deployment now', undefined, 'deployment now'],
    ['Deploy now', 'deploy', 'now'],
    ['/DEPLOY now', 'deploy', 'now'],
    ['\u200e\u200b/deploy now', 'deploy', 'now'],
    ['\ufeff \u2060deploy now', 'deploy', 'now'],
    ['dep\u00adloy\u200b now', 'deploy', 'now'],
    ['\u200b', undefined, '\u200b'],
    ['please deploy', undefined, 'please deploy'],
    ['', undefined, ''],
    ['/', undefined, '/'],
  ])('in the text %j is %j, and the rest %j', (text, command, rest) => {
    expect(chosenTriggers([trigger('t', ['deploy'], 'helper')], { text })).toEqual({
      trigger: 't',
      command,
      rest,
      score: 10,
    });
  });

  test('is found in any letter case only if no command has exactly this name', () => {
    const both = trigger('t', ['Deploy', 'deploy', 'CAFÉ']);
    const commandOf = (text: string) => chosenTriggers([both], { text });
    expect(commandOf('deploy')).toMatchObject({ command: 'deploy' });
    expect(commandOf('Deploy')).toMatchObject({ command: 'Deploy' });
    expect(commandOf('DEPLOY')).toMatchObject({ command: 'Deploy' });
    expect(commandOf('cafe\u0301')).toMatchObject({ command: 'CAFÉ' });
    const exact = [trigger('a', ['Deploy']), trigger('b', ['deploy'])];
    expect(chosenTriggers(exact, { text: 'deploy' })).toMatchObject({ trigger: 'b' });
  });

  test('typed by a person precedes event names, in any letter case', () => {
    const event = { names: ['issue_comment'], typedCommand: '/deploy', text: '/deploy x' };
    const found = (...commands: readonly string[]) => chosenTriggers([trigger('t', commands)], event);
    expect(found('issue_comment', '/Deploy')).toMatchObject({ command: '/Deploy', rest: 'x' });
    expect(found('issue_comment', 'deploy')).toMatchObject({ command: 'issue_comment' });
  });

  test('is not searched in the text of an event with names', () => {
    expect(
      chosenTriggers([trigger('t', ['push'], 'helper')], { names: ['issue_comment'], text: 'push it' }),
    ).toMatchObject({
      command: undefined,
      rest: 'push it',
    });
  });

  test('may have a slash in its name', () => {
    expect(chosenTriggers([trigger('t', ['deploy'])], { names: ['/deploy'] })).toMatchObject({
      command: 'deploy',
    });
  });
});

describe('the rules of a trigger', () => {
  const rule = (agent: string, ...contains: readonly string[]) => ({ contains, target: agentTarget(agent) });
  const desk: Routable = {
    ...trigger('desk', ['deploy'], 'anybody'),
    rules: [rule('billing', 'invoice', 'refund'), rule('shipping', 'parcel', 'refund')],
  };
  const ruleOf = (triggers: readonly Routable[], text: string) => {
    const match = matchTrigger(triggers, { ...emptyEvent, text });
    return typeof match === 'string'
      ? match
      : (match.rule?.target.name ?? match.binding?.command ?? 'default');
  };

  test.each([
    ['My INVOICES?', 'billing'],
    ['a refund for the parcel', 'billing'],
    ['where is my parcel', 'shipping'],
    ['deploy the invoice', 'deploy'],
    ['hello', 'default'],
  ])('choose for the text %j: %s', (text, expected) => {
    expect(ruleOf([desk], text)).toBe(expected);
  });

  test('take precedence over the default of another trigger, but not over a command of that trigger', () => {
    const plain = trigger('a-plain-one', ['refund'], 'anybody');
    expect(chosenTriggers([plain, desk], { text: 'an invoice' })).toMatchObject({ trigger: 'desk' });
    expect(chosenTriggers([plain, desk], { text: 'refund' })).toMatchObject({ trigger: 'a-plain-one' });
    expect(matchTrigger([{ ...desk, default_target: undefined }], { ...emptyEvent, text: 'hello' })).toMatch(
      /no trigger has a matching command/,
    );
  });
});

describe('an event without a matching trigger', () => {
  test('is rejected with a reason', () => {
    expect(chosenTriggers([], {})).toBe('no trigger for this event');
    expect(chosenTriggers([trigger('t', ['push'])], { names: ['issues'] })).toBe(
      'no trigger has a matching command or a default_agent',
    );
    expect(chosenTriggers([trigger('t', [], 'helper')], { channel: 'b' }, { t: filters(['a']) })).toBe(
      'no filter of a trigger lets it pass',
    );
  });
});

describe('the score of a match', () => {
  const event = { channel: '#ops', user: 'U1', text: 'help me' };
  test.each([
    [filters(), 10],
    [filters(['ops']), 110],
    [filters([], ['U1']), 90],
    [filters([], ['*']), 10],
    [filters([], ['*', 'U1']), 90],
    [filters([], [], [/help/]), 70],
    [filters([], [], [/zebra/, /^help/]), 70],
    [filters(['ops'], ['U1'], [/help/]), 250],
    [filters(['dev']), undefined],
    [filters(['op']), undefined],
    [filters([], ['U2']), undefined],
    [filters([], [], [/zebra/]), undefined],
    [filters(['ops'], ['U2'], [/help/]), undefined],
  ])('for filter number %# depends on the matching parts of the filter', (filter, score) => {
    const result = chosenTriggers([trigger('t', [], 'helper')], event, { t: filter });
    expect(typeof result === 'string' ? undefined : result.score).toBe(score);
  });

  test('of a pressed button ignores patterns, which are for typed text', () => {
    const triggers = [trigger('t', ['approve'], 'helper')];
    const by = { t: filters([], [], [/^help/]) };
    const pressed = { names: ['approve'], text: 'approve 7', isChoice: true };
    expect(chosenTriggers(triggers, pressed, by)).toMatchObject({ command: 'approve', score: 10 });
    expect(chosenTriggers(triggers, { ...pressed, names: ['later'] }, by)).toMatchObject({
      command: undefined,
    });
    expect(chosenTriggers(triggers, { ...pressed, isChoice: false }, by)).toContain('no filter');
    expect(chosenTriggers(triggers, pressed, { t: filters(['ops'], [], [/^help/]) })).toContain('no filter');
  });

  test('does not exist if the event lacks the filtered property', () => {
    for (const filter of [filters(['ops']), filters([], ['U1']), filters([], [], [/./])])
      expect(chosenTriggers([trigger('t', [], 'helper')], {}, { t: filter })).toBe(
        'no filter of a trigger lets it pass',
      );
  });

  test('takes precedence over commands and names', () => {
    const triggers = [trigger('a', ['help'], 'helper'), trigger('b', [], 'helper')];
    expect(chosenTriggers(triggers, event, { b: filters(['ops']) })).toMatchObject({ trigger: 'b' });
  });
});

describe('matches with equal scores', () => {
  test('prefer a command to a default agent, and a more specific command', () => {
    const event = { names: ['issues.opened', 'issues'] };
    const triggers = [trigger('a', [], 'helper'), trigger('b', ['issues']), trigger('c', ['issues.opened'])];
    expect(chosenTriggers(triggers, event)).toMatchObject({ trigger: 'c' });
    expect(chosenTriggers(triggers.slice(0, 2), event)).toMatchObject({ trigger: 'b' });
  });

  test('are decided by the names of the triggers, in any order of configuration', () => {
    const triggers = [trigger('b', [], 'helper'), trigger('a', [], 'helper')];
    expect(chosenTriggers(triggers, {})).toMatchObject({ trigger: 'a' });
    expect(chosenTriggers([...triggers].reverse(), {})).toMatchObject({ trigger: 'a' });
  });
});

test('a filter matches a channel and a user by each of their names', () => {
  const by = { t: filters(['-10'], ['ann']) };
  const event = { text: 'hi', channel: '-100', user: '5' };
  const t = [trigger('t', [], 'a')];
  expect(
    chosenTriggers(t, { ...event, channelAliases: ['-20', '-10'], userAliases: ['ann'] }, by),
  ).toMatchObject({
    score: 190,
  });
  expect(chosenTriggers(t, { ...event, channelAliases: ['-20'], userAliases: ['ann'] }, by)).toBeTypeOf(
    'string',
  );
  expect(chosenTriggers(t, { ...event, channelAliases: ['-10'] }, by)).toBeTypeOf('string');
});
