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

function values(parameters: readonly Parameter[], text: string, given?: Readonly<Record<string, string>>) {
  const read = commandParameters(parameters, text, given);
  return read.isMissing ? read.missing : { ...read.values };
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
    ['"a"b c', { env: '"a"b', why: 'c' }],
    ['__proto__=x', { env: '__proto__=x' }],
  ])('%j is read as %j', (text, expected) => {
    expect(values(two, text)).toEqual(expected);
  });

  test('is all of the only parameter, and nothing without any', () => {
    expect(values([parameter('question')], 'what is "this", please?')).toEqual({
      question: 'what is "this", please?',
    });
    expect(values([], 'anything a=b')).toEqual({});
  });

  test.each(['constructor', 'toString', '__proto__'])('may name a parameter that is called %s', (name) => {
    const read = commandParameters([parameter(name, { required: true })], `${name}=x`);
    expect(read).toMatchObject({ isMissing: false });
    expect(read.isMissing ? [] : Object.entries(read.values)).toEqual([[name, 'x']]);
  });

  test('that is very long is the end of the last parameter', () => {
    const long = 'word '.repeat(10_000).trim();
    expect(values(two, `x ${long}`)).toEqual({ env: 'x', why: long });
  });
});

describe('values that came beside the text', () => {
  test('go before it, and are passed on', () => {
    expect(values(two, 'from text', { env: 'given', other: 'too' })).toEqual({
      env: 'given',
      other: 'too',
      why: 'from text',
    });
    expect(values(two, 'env=text', { env: 'given' })).toEqual({ env: 'given' });
  });
});

describe('defaults', () => {
  test('fill what is not there, and only that', () => {
    const parameters = [
      parameter('env', { default: 'test' }),
      parameter('why', { required: true, default: 'none' }),
    ];
    expect(values(parameters, '')).toEqual({ env: 'test', why: 'none' });
    expect(values(parameters, '""')).toEqual({ env: '', why: 'none' });
  });
});

describe('a required parameter that is missing', () => {
  const parameters = [
    parameter('env', { required: true, description: 'Where to deploy' }),
    parameter('version', { required: true }),
    parameter('why'),
  ];

  test('is asked for with its description and an example', () => {
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
    const one = commandParameters(parameters, 'production', {}, 'deploy');
    expect(one.values).toEqual({ env: 'production' });
    expect(one.isMissing && one.help).toMatch(/^A parameter is missing:\n- version\nUsage: deploy <env>/);
  });

  test('is there when it is empty on purpose', () => {
    expect(values(parameters, '"" ""')).toEqual({ env: '', version: '' });
  });
});
