import { describe, expect, test } from 'vitest';
import type { Parameter } from '../../../config/resources/triggers/binding.ts';
import { commandParameters } from '../../../machines/command-parameters.ts';

const parameter = (name: string, more: Partial<Parameter> = {}): Parameter => ({
  name,
  required: false,
  description: undefined,
  default: undefined,
  ...more,
});
const two = [parameter('env'), parameter('why')];

function values(
  parameters: readonly Parameter[],
  text: string,
  typedValues?: Readonly<Record<string, string>>,
) {
  const result = commandParameters(parameters, text, typedValues);
  return result.isMissing ? result.missing : { ...result.values };
}

describe('the text after a command', () => {
  test.each([
    ['', {}],
    ['production', { env: 'production' }],
    ['production because it is slow', { env: 'production', why: 'because it is slow' }],
    [
      'production  keeps   its "spaces" and\nlines ',
      { env: 'production', why: 'keeps   its "spaces" and\nlines' },
    ],
    ['"two words" "and a reason"', { env: 'two words', why: 'and a reason' }],
    ["'two words' x", { env: 'two words', why: 'x' }],
    ['"say \\"hi\\" \\\\" x', { env: 'say "hi" \\', why: 'x' }],
    ['""', { env: '' }],
    ['why=slow production', { env: 'production', why: 'slow' }],
    ['production why="quite slow"', { env: 'production', why: 'quite slow' }],
    ['env=a why=b', { env: 'a', why: 'b' }],
    ['env=', { env: '' }],
    ['env=a env=b', { env: 'b' }],
    ['env=a the rest is why', { env: 'a', why: 'the rest is why' }],
    ['the why=x rest env=y goes', { env: 'y', why: 'x' }],
    ['one env=x two', { env: 'x', why: 'one two' }],
    ['url=http://a?b=c', { env: 'url=http://a?b=c' }],
    ['ENV=x', { env: 'ENV=x' }],
    ['"open quote', { env: '"open', why: 'quote' }],
    ["don't stop", { env: "don't", why: 'stop' }],
    ['“two words” x', { env: 'two words', why: 'x' }],
    ['„two words“ x', { env: 'two words', why: 'x' }],
    ['„two words” x', { env: 'two words', why: 'x' }],
    ['”two words” x', { env: 'two words', why: 'x' }],
    ['«\u00a0two words\u00a0» x', { env: 'two words', why: 'x' }],
    ['‘don’t stop’ x', { env: 'don’t stop', why: 'x' }],
    ['「two words」 x', { env: 'two words', why: 'x' }],
    ['x why=“quite slow”', { env: 'x', why: 'quite slow' }],
    ['“open quote', { env: '“open', why: 'quote' }],
    ['“a” “b c”', { env: 'a', why: 'b c' }],
    ['“mixed" x', { env: '“mixed"', why: 'x' }],
    ['"a"b c', { env: '"a"b', why: 'c' }],
    ['__proto__=x', { env: '__proto__=x' }],
  ])('%j is read as %j', (text, expected) => {
    expect(values(two, text)).toEqual(expected);
  });

  test('is the value of the only parameter, and is ignored if the command has no parameters', () => {
    expect(values([parameter('question')], 'what is "this", please?')).toEqual({
      question: 'what is "this", please?',
    });
    expect(values([], 'anything a=b')).toEqual({});
  });

  test.each(['constructor', 'toString', '__proto__'])('may name a parameter called %s', (name) => {
    const result = commandParameters([parameter(name, { required: true })], `${name}=x`);
    expect(result).toMatchObject({ isMissing: false });
    expect(result.isMissing ? [] : Object.entries(result.values)).toEqual([[name, 'x']]);
  });

  test('that is very long ends up in the last parameter', () => {
    const long = 'word '.repeat(10_000).trim();
    expect(values(two, `x ${long}`)).toEqual({ env: 'x', why: long });
  });
});

describe('values given by name besides the text of a command', () => {
  test('take precedence over the text, and are passed on even if no parameter has the name', () => {
    expect(values(two, 'from text', { env: 'given', other: 'too' })).toEqual({
      env: 'given',
      other: 'too',
      why: 'from text',
    });
    expect(values(two, 'env=text', { env: 'given' })).toEqual({ env: 'given' });
  });
});

describe('defaults of command parameters', () => {
  test('fill only missing parameters', () => {
    const parameters = [
      parameter('env', { default: 'test' }),
      parameter('why', { required: true, default: 'none' }),
    ];
    expect(values(parameters, '')).toEqual({ env: 'test', why: 'none' });
    expect(values(parameters, '""')).toEqual({ env: '', why: 'none' });
  });
});

describe('a required parameter without a value', () => {
  const parameters = [
    parameter('env', { required: true, description: 'Where to deploy' }),
    parameter('version', { required: true }),
    parameter('why'),
  ];

  test('is requested with its description and an example', () => {
    expect(commandParameters(parameters, '', {}, 'deploy')).toEqual({
      isMissing: true,
      missing: ['env', 'version'],
      help: `Some parameters are missing:
- env: Where to deploy
- version
Usage: deploy <env> <version> [why …]
Values may also be given by name: env="some text"`,
      values: {},
    });
    const unnamed = commandParameters(parameters, 'production', {}, 'deploy');
    expect(unnamed.values).toEqual({ env: 'production' });
    expect(unnamed.isMissing && unnamed.help).toMatch(
      /^A parameter is missing:\n- version\nUsage: deploy <env>/,
    );
  });

  test('is not requested if it is intentionally empty', () => {
    expect(values(parameters, '"" ""')).toEqual({ env: '', version: '' });
  });
});
