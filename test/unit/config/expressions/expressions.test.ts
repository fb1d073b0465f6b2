import { describe, expect, it } from 'vitest';
import { isFault, readExpression } from '../../../../config/expressions/expression.ts';
import { readTemplate } from '../../../../config/expressions/template.ts';

const variables = { steps: 'map<string, dyn>', parameters: 'map<string, string>', index: 'int' };
const scopeNames = ['steps', 'parameters'];
const values = {
  steps: {
    half: '\ud800',
    long: ' '.repeat(790_000),
    quotes: '"'.repeat(100_000),
    check: {
      state: 'done',
      output: { text: 'all well', data: { ok: true, n: 3, part: 0.5, list: [1, 2, 3], none: null } },
    },
  },
  parameters: { version: '1.2' },
  index: 2n,
};

function parse(text: string) {
  const expression = readExpression(text, variables, scopeNames);
  if (isFault(expression)) throw new Error(`${expression.message} at ${expression.at}`);
  return expression;
}

const evaluate = (text: string) => parse(text).evaluate(values);

describe('an expression', () => {
  it.each([
    ['steps.check.output.data.ok', true],
    ['!steps.check.output.data.ok || parameters.version == "1.2"', true],
    ['steps.check.output.data.n + 1', 4],
    ['1 + steps.check.output.data.n * 2', 7],
    ['steps.check.output.data.n / 2', 1.5],
    ['index + 1', 3],
    ['steps.check.output.data.n in [1, 2, 3]', true],
    ['size(steps.check.output.data.list)', 3],
    ['steps.check.output.data.list.filter(x, x > 1)', [2, 3]],
    ['steps.check.output.data.list.map(x, x * 2)', [2, 4, 6]],
    ['has(steps.check.output.data.other) ? 1 : 2', 2],
    ['steps.check.output.data.none == null', true],
    ['{"v": parameters.version, "n": [1, "two"]}', { v: '1.2', n: [1, 'two'] }],
    ['find(steps.check.output.text, "w[a-z]+")', 'well'],
    ['find(steps.check.output.text, "x+") != ""', false],
    ['string(steps.check.output.data.n) + "x"', '3x'],
    ['timestamp("2026-01-01T00:00:00Z")', '2026-01-01T00:00:00.000Z'],
    ['encode("a/b?c=d&e+f g#%é")', 'a%2Fb%3Fc%3Dd%26e%2Bf%20g%23%25%C3%A9'],
    ['encode(string(steps.check.output.data.n)) == "3"', true],
    ['json(steps.check.output.data)', '{"ok":true,"n":3,"part":0.5,"list":[1,2,3],"none":null}'],
    ['json("say \\"hi\\"\\n")', '"say \\"hi\\"\\n"'],
    ['json([1, 2u, 1.5, null, {"a": index}])', '[1,2,1.5,null,{"a":2}]'],
    ['json(timestamp("2026-01-01T00:00:00Z"))', '"2026-01-01T00:00:00.000Z"'],
    ['base64("ü:é")', 'w7w6w6k='],
    ['base64("")', ''],
  ])('returns a JSON value: %s', (text, value) => {
    expect(evaluate(text)).toEqual(value);
  });

  it.each([
    ['1 +', 'unexpected token: EOF', 3],
    ['index == 1 and index == 2', 'use && instead of and', 11],
    ['find("x or y", "or") == "or" or true', 'use || instead of or', 29],
    ['not (index > 1)', 'use ! instead of not', 0],
    ['index === 1', 'use == instead of ===', 6],
    ['index = 1', 'use == instead of =', 6],
    ['index <> 1', 'use != instead of <>', 6],
    ['index > 1 & index < 3', 'use && instead of &', 10],
    ['index > 1 | index < 3', 'use || instead of |', 10],
    ['"a = b" = "a"', 'use == instead of =', 8],
    ['stepz.check', 'unknown variable: stepz', 0],
    ['1 == "a"', 'no such overload: int == string', 0],
    ['now()', "found no matching overload for 'now()'", 0],
    ['encode(1)', "found no matching overload for 'encode(int)'", 0],
    ['base64([1])', "found no matching overload for 'base64(list<int>)'", 0],
    ['json()', "found no matching overload for 'json()'", 0],
    [
      'parameters.version.matches("(a+)+")',
      "matches() can take very long; write find(text, 'pattern') != ''",
      0,
    ],
    [
      '[1].map(x, [2].map(y, x + y))',
      'nested map() can take very long; compute the inner list in an earlier node',
      11,
    ],
  ])('with an error is refused with the position of the error: %s (CEL2)', (text, message, at) => {
    expect(readExpression(text, variables, scopeNames)).toEqual({ message, at });
  });

  it('is limited in length and depth', () => {
    expect(readExpression('a'.padEnd(9_000, 'a'), variables)).toMatchObject({
      at: 0,
      message: expect.stringContaining('8192'),
    });
    expect(readExpression('('.repeat(200), variables)).toMatchObject({ message: 'exceeded maxDepth (60)' });
  });

  it('lists the names that it refers to, in any notation', () => {
    expect(
      parse('steps.check.output.x == steps["ask"].output && parameters.version != ""').references,
    ).toEqual([
      { variable: 'steps', member: 'check', at: 0 },
      { variable: 'steps', member: 'ask', at: 24 },
      { variable: 'parameters', member: 'version', at: 47 },
    ]);
    expect(parse('steps[parameters.version]').references).toContainEqual({
      variable: 'steps',
      member: undefined,
      at: 0,
    });
    expect(parse('size(steps)').references).toEqual([{ variable: 'steps', member: undefined, at: 5 }]);
  });

  it.each([
    ['steps.check.output.data.other', '`steps.check.output.data.other`: no such key: other'],
    ['steps.check.constructor.name', '`steps.check.constructor.name`: no such key: constructor'],
    ['steps.check.output.data.n < "a"', expect.stringContaining('no such overload')],
    ['9007199254740993 * 2', expect.stringContaining('too large a number')],
    ['find("a", "(" + "")', expect.stringContaining('missing closing )')],
    ['encode(steps.check.output.data.n)', expect.stringContaining('no matching overload')],
    ['base64(steps.check.output.data.none)', expect.stringContaining('no matching overload')],
    ['encode(steps.half)', expect.stringContaining('half of a surrogate pair')],
    ['base64(steps.half)', expect.stringContaining('half of a surrogate pair')],
    ['json(9007199254740993)', expect.stringContaining('too large a number')],
    ['encode(steps.long)', expect.stringContaining('longer than 1048576 characters')],
    ['base64(steps.long)', expect.stringContaining('longer than 1048576 characters')],
    ['json(json(json(json(steps.quotes))))', expect.stringContaining('at most 100000 steps')],
  ])('fails with the reason if its values do not fit: %s', (text, message) => {
    expect(() => evaluate(text)).toThrow(expect.objectContaining({ code: 'ERR_EXPRESSION', message }));
  });
});

describe('a template', () => {
  const rendered = (text: string) => {
    const template = readTemplate(text, variables, scopeNames);
    return 'message' in template ? template : template.render(values);
  };

  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['{{ steps.check.output.data.n }}', 3],
    ['{{steps.check.output.data.list}}', [1, 2, 3]],
    ['n is {{ steps.check.output.data.n }}, {{ parameters.version }}', 'n is 3, 1.2'],
    ['{{ steps.check.output.data.list }}!', '[1,2,3]!'],
    ['a{{ steps.check.output.data.none }}b', 'ab'],
    ['{{ "}}" }}', '}}'],
    ['{{ {"a": {"b": 1}} }}', { a: { b: 1 } }],
    ['{ not } one }}', '{ not } one }}'],
  ])('renders %s', (text, value) => {
    expect(rendered(text)).toEqual(value);
  });

  it.each([
    ['a {{ b', '{{ without }}', 2],
    ['a {{ }}', 'the expression in {{ }} is empty', 2],
    ['ab {{ nope }}', 'unknown variable: nope', 6],
  ])('with an error is refused with the position of the error: %s', (text, message, at) => {
    expect(rendered(text)).toEqual({ message, at });
  });
});
