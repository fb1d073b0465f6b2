import { describe, expect, it } from 'vitest';
import { celMap, celValue } from '../../../../config/expressions/cel-value.ts';
import { EvaluationBudget, MAX_STEPS } from '../../../../config/expressions/evaluation-budget.ts';
import { isFault, readExpression } from '../../../../config/expressions/expression.ts';
import { readTemplate, renderedValue } from '../../../../config/expressions/template.ts';

const variables = { steps: 'map<string, dyn>', input: 'string' };
const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]));
let deep: unknown = 'x';
for (let level = 0; level < 50_000; level += 1) deep = [deep];
const values = {
  steps: {
    items: Array.from({ length: 60_000 }, (_, index) => index % 10),
    seen: Array.from({ length: 15_000 }, (_, index) => 100_000 + index),
    texts: Array.from({ length: 1_000 }, (_, index) => 'a'.repeat(200) + index),
    text: 'a'.repeat(130_000),
    digits: '1'.repeat(50_000),
    objects: Array.from({ length: 3_000 }, (_, id) => ({ id, name: `n${id}`, tags: ['a', 'b'] })),
    wide,
    deep,
    lists: Array.from({ length: 2_000 }, () => [wide]),
  },
  input: 'x',
};

function parse(text: string) {
  const expression = readExpression(text, variables);
  if (isFault(expression)) throw new Error(`${expression.message} at ${expression.at}`);
  return expression;
}

describe('an expression', () => {
  it.each([
    'size(steps.items.filter(i, !(i in steps.seen)))',
    'steps.items.all(i, steps.text.contains(steps.text + "b"))',
    'steps.items.exists(i, steps.seen + [1] == steps.seen + [2])',
    'steps.items.exists(i, size(steps.text) == 0)',
    'steps.items.exists(i, size(steps.wide) == 0)',
    'steps.items.exists(i, steps.wide == null)',
    'steps.items.exists(i, json(steps.seen) == "")',
    'steps.items.exists(i, steps.text.split("") == [])',
    'steps.items.exists(i, steps.missing)',
    'steps.items.exists(i, i > "a" || steps.missing == 1)',
    'steps.items.exists(i, timestamp(0).getHours("Europe/Berlin") == 30)',
    'steps.items.filter(i, find(steps.text, ".{0,500}b.{0,400}c") != "")',
    'steps.items.filter(i, find("b", "a{1000}".substring(0, 7) + string(i)) != "")',
    'steps.seen.map(n, steps.text.upperAscii() == "")',
    '[steps.seen, steps.seen] == [steps.items, steps.items] || steps.items.all(i, [i, i, i, i] != [])',
    'steps.lists == [] || steps.items.all(i, steps.lists != [])',
  ])('ends at the limit of steps: %s (CEL2)', (text) => {
    const expression = parse(text);
    const startedAt = performance.now();
    expect(() => expression.evaluate(values)).toThrow(
      expect.objectContaining({
        code: 'ERR_EXPRESSION',
        message: expect.stringContaining(`at most ${MAX_STEPS} steps`),
      }),
    );
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it.each([
    'steps.seen.map(n, steps.text)',
    'steps.seen.map(n, steps.text + string(n))',
    'steps.seen.map(n, steps.text).join("-")',
    'steps.seen.map(n, steps.text.substring(1))',
    'cel.bind(a, steps.text + steps.text, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, d + d))))',
    'cel.bind(a, steps.items + steps.items, cel.bind(b, a + a, cel.bind(c, b + b, c + c + c + c)))',
    '{"a": [[steps.text, steps.text], [steps.text, steps.text]].map(l, [l, l, l, l, l, l, l, l, l, l])}',
  ])('ends at the limit of bytes or steps: %s (CEL2)', (text) => {
    const heapBefore = process.memoryUsage().heapUsed;
    expect(() => parse(text).evaluate(values)).toThrow(/have at most \d+ steps|build at most \d+ bytes/);
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(100_000_000);
  });

  it.each([
    ['duration(steps.digits)', 'a duration has at most 100 characters'],
    ['bool(steps.text)', /^.{1,700}$/s],
    ['steps.deep', 'nested deeper than 100 levels'],
  ])('fails with a short reason: %s', (text, message) => {
    const startedAt = performance.now();
    expect(() => parse(text).evaluate(values)).toThrow(message);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it.each([
    ['size(steps.objects.filter(o, o.name == "n3" && "a" in o.tags))', 1],
    ['size(steps.objects.map(o, {"id": o.id, "name": o.name + "!"}))', 3_000],
    ['12 in steps.seen', false],
    ['steps.text.contains("b") || steps.text.contains("ab") || steps.text.indexOf("a") == 1', false],
    ['size(steps.text)', 130_000],
    ['find(steps.text, "b+") + find(input, "x")', 'x'],
    ['size(steps.texts.map(t, t + "!").join(", "))', 205_888],
  ])('evaluates usual work within the budget: %s', (text, result) => {
    expect(parse(text).evaluate(values)).toBe(result);
  });

  it('cannot hide the end of the budget behind an operator', () => {
    expect(() =>
      parse('true || false || steps.items.all(i, i in steps.seen)').evaluate(values),
    ).not.toThrow();
    expect(() => parse('steps.items.all(i, !(i in steps.seen)) || true').evaluate(values)).toThrow('steps');
  });

  it('compiles literal patterns when it is read', () => {
    expect(readExpression('find(input, "(")', variables)).toMatchObject({
      message: expect.stringContaining('missing'),
      at: 12,
    });
  });

  it.each([
    ['steps.get.ok', true],
    ['steps.get.n.v', 1],
    ['has(steps.get.ok)', true],
    ['has(steps.get.constructor)', true],
    ['steps.get.constructor', 'x'],
    ['steps.get["constructor"]', 'x'],
    ['steps.get.n == steps.get.n', true],
    ['steps.get.list == [{"v": 2}]', false],
    ['steps.get.list.map(each, each.v)', [1]],
    ['size(steps.get)', 4],
    ['"constructor" in steps.get', true],
    ['json(steps.get.n)', '{"constructor":null,"v":1}'],
    [
      'steps.get',
      JSON.parse(
        '{"ok":true,"constructor":"x","n":{"constructor":null,"v":1},"list":[{"constructor":{},"v":1}]}',
      ),
    ],
    ['steps.constructor', 1],
  ])('reads JSON with members named constructor: %s', (text, result) => {
    const get: unknown = JSON.parse(
      '{"ok":true,"constructor":"x","n":{"constructor":null,"v":1},"list":[{"constructor":{},"v":1}]}',
    );
    const steps = celMap({ get: celValue(get), constructor: 1 });
    expect(parse(text).evaluate({ steps, input: '' })).toEqual(result);
  });
});

describe('a value with several templates', () => {
  it('shares one budget among its expressions', () => {
    const template = readTemplate('{{ size(steps.items.filter(i, i == 3)) }}', variables);
    if ('message' in template) throw new Error(template.message);
    const text = { kind: 'text', template } as const;
    const budget = new EvaluationBudget();
    const list = { kind: 'list', items: Array.from({ length: 10 }, () => text) } as const;
    expect(() => renderedValue(list, values, budget)).toThrow('steps');
  });
});
