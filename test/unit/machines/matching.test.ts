import { describe, expect, test } from 'vitest';
import type { Binding } from '../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import { type Filters, type Matchable, matched, type Routable } from '../../../machines/matching.ts';

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
const nothing: Matchable = { names: [], text: undefined, channel: undefined, user: undefined };
const filters = (
  channels: readonly string[] = [],
  users: readonly string[] = [],
  patterns: readonly RegExp[] = [],
): Filters => ({
  channels: new Set(channels),
  users: new Set(users),
  patterns: patterns.map((pattern) => (text: string) => pattern.test(text)),
});

function chosen(triggers: readonly Routable[], event: Partial<Matchable>, by: Record<string, Filters> = {}) {
  const match = matched(triggers, { ...nothing, ...event }, ({ name }) => by[name]);
  if (typeof match === 'string') return match;
  return {
    trigger: match.trigger.name,
    command: match.binding?.command,
    rest: match.rest,
    score: match.score,
  };
}

describe('the command of an event', () => {
  test('is found by its names, the most exact first, and leaves the text alone', () => {
    const event = { names: ['issues.opened', 'issues'], text: 'issues.closed please' };
    expect(chosen([trigger('t', ['issues', 'issues.opened'])], event)).toMatchObject({
      command: 'issues.opened',
      rest: 'issues.closed please',
    });
    expect(chosen([trigger('t', ['issues', 'issues.closed'])], event)).toMatchObject({ command: 'issues' });
  });

  test.each([
    ['/deploy now', 'deploy', 'now'],
    ['deploy now', 'deploy', 'now'],
    ['  /deploy\n  two  lines ', 'deploy', 'two  lines '],
    ['deploy', 'deploy', ''],
    ['deployment now', undefined, 'deployment now'],
    ['Deploy now', undefined, 'Deploy now'],
    ['please deploy', undefined, 'please deploy'],
    ['', undefined, ''],
    ['/', undefined, '/'],
  ])('in the text %j is %j, and the rest %j', (text, command, rest) => {
    expect(chosen([trigger('t', ['deploy'], 'helper')], { text })).toEqual({
      trigger: 't',
      command,
      rest,
      score: 10,
    });
  });

  test('is not looked for in the text of an event that has names', () => {
    expect(
      chosen([trigger('t', ['push'], 'helper')], { names: ['issue_comment'], text: 'push it' }),
    ).toMatchObject({
      command: undefined,
      rest: 'push it',
    });
  });

  test('may be named with a slash', () => {
    expect(chosen([trigger('t', ['deploy'])], { names: ['/deploy'] })).toMatchObject({ command: 'deploy' });
  });
});

describe('the rules of a trigger', () => {
  const rule = (agent: string, ...contains: readonly string[]) => ({ contains, target: agentTarget(agent) });
  const desk: Routable = {
    ...trigger('desk', ['deploy'], 'anybody'),
    rules: [rule('billing', 'invoice', 'refund'), rule('shipping', 'parcel', 'refund')],
  };
  const ruleOf = (triggers: readonly Routable[], text: string) => {
    const match = matched(triggers, { ...nothing, text });
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
  ])('decide on %j: %s', (text, expected) => {
    expect(ruleOf([desk], text)).toBe(expected);
  });

  test('go before the default of another trigger, and behind its command', () => {
    const plain = trigger('a-plain-one', ['refund'], 'anybody');
    expect(chosen([plain, desk], { text: 'an invoice' })).toMatchObject({ trigger: 'desk' });
    expect(chosen([plain, desk], { text: 'refund' })).toMatchObject({ trigger: 'a-plain-one' });
    expect(matched([{ ...desk, default_target: undefined }], { ...nothing, text: 'hello' })).toMatch(
      /no trigger has a command/,
    );
  });
});

describe('an event that nobody takes', () => {
  test('has a reason (MC1)', () => {
    expect(chosen([], {})).toBe('there is no trigger for it');
    expect(chosen([trigger('t', ['push'])], { names: ['issues'] })).toBe(
      'no trigger has a command for it, or a default_agent',
    );
    expect(chosen([trigger('t', [], 'helper')], { channel: 'b' }, { t: filters(['a']) })).toBe(
      'no filter of a trigger lets it pass',
    );
  });
});

describe('the score', () => {
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
  ])('of filter %# is what matches', (filter, score) => {
    const found = chosen([trigger('t', [], 'helper')], event, { t: filter });
    expect(typeof found === 'string' ? undefined : found.score).toBe(score);
  });

  test('of a pressed button is not about patterns, which are for what people write', () => {
    const triggers = [trigger('t', ['approve'], 'helper')];
    const by = { t: filters([], [], [/^help/]) };
    const pressed = { names: ['approve'], text: 'approve 7', isChoice: true };
    expect(chosen(triggers, pressed, by)).toMatchObject({ command: 'approve', score: 10 });
    expect(chosen(triggers, { ...pressed, names: ['later'] }, by)).toMatchObject({ command: undefined });
    expect(chosen(triggers, { ...pressed, isChoice: false }, by)).toContain('no filter');
    expect(chosen(triggers, pressed, { t: filters(['ops'], [], [/^help/]) })).toContain('no filter');
  });

  test('of a filter that an event says nothing of is none', () => {
    for (const filter of [filters(['ops']), filters([], ['U1']), filters([], [], [/./])])
      expect(chosen([trigger('t', [], 'helper')], {}, { t: filter })).toBe(
        'no filter of a trigger lets it pass',
      );
  });

  test('decides before anything else (MC2)', () => {
    const triggers = [trigger('a', ['help'], 'helper'), trigger('b', [], 'helper')];
    expect(chosen(triggers, event, { b: filters(['ops']) })).toMatchObject({ trigger: 'b' });
  });
});

describe('of equal scores', () => {
  test('a command goes before a default agent, and a more exact one before another', () => {
    const event = { names: ['issues.opened', 'issues'] };
    const triggers = [trigger('a', [], 'helper'), trigger('b', ['issues']), trigger('c', ['issues.opened'])];
    expect(chosen(triggers, event)).toMatchObject({ trigger: 'c' });
    expect(chosen(triggers.slice(0, 2), event)).toMatchObject({ trigger: 'b' });
  });

  test('the name decides, whatever the order', () => {
    const triggers = [trigger('b', [], 'helper'), trigger('a', [], 'helper')];
    expect(chosen(triggers, {})).toMatchObject({ trigger: 'a' });
    expect(chosen([...triggers].reverse(), {})).toMatchObject({ trigger: 'a' });
  });
});

test('a filter knows a channel and a user by any of their names', () => {
  const by = { t: filters(['-10'], ['ann']) };
  const event = { text: 'hi', channel: '-100', user: '5' };
  const t = [trigger('t', [], 'a')];
  expect(chosen(t, { ...event, channelAliases: ['-20', '-10'], userAliases: ['ann'] }, by)).toMatchObject({
    score: 190,
  });
  expect(chosen(t, { ...event, channelAliases: ['-20'], userAliases: ['ann'] }, by)).toBeTypeOf('string');
  expect(chosen(t, { ...event, channelAliases: ['-10'] }, by)).toBeTypeOf('string');
});
