// Names of tools and patterns of resources: against models that are slow and plain.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exposedName, hashedName } from '../../../../../actors/client/aggregate/tool-names.ts';
import { matchesTemplate } from '../../../../../actors/client/aggregate/uri-template.ts';

const id = fc.string({
  unit: fc.constantFrom(...'abcXYZ019._-'),
  minLength: 1,
  maxLength: 64,
});
const toolName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.string({ unit: fc.constantFrom(...'ab_-./é'), maxLength: 100 }),
);

test('every name is one that model APIs accept, and the same every time', () => {
  fc.assert(
    fc.property(id, toolName, (server, name) => {
      for (const make of [exposedName, hashedName]) {
        expect(make(server, name)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(make(server, name)).toBe(make(server, name));
      }
      const plain = `${server}__${name}`;
      if (/^[A-Za-z0-9_-]{1,64}$/.test(plain)) expect(exposedName(server, name)).toBe(plain);
    }),
    { numRuns: 500 },
  );
});

test('hashed names of different tools differ, however alike they are', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(id, toolName), { selector: ([a, b]) => `${a}\0${b}` }), (tools) => {
      const names = tools.map(([server, name]) => hashedName(server, name));
      expect(new Set(names).size).toBe(names.length);
    }),
  );
});

/** Whether `{…}` can be replaced by some text so that the template becomes the uri: by trying. */
function model(template: string, uri: string): boolean {
  const open = /\{[^{}]*\}/.exec(template);
  if (open === null) return template === uri;
  const head = template.slice(0, open.index);
  if (!uri.startsWith(head)) return false;
  const rest = template.slice(open.index + open[0].length);
  for (let length = 0; length <= uri.length - head.length; length += 1) {
    if (model(rest, uri.slice(head.length + length))) return true;
  }
  return false;
}

test('a template matches what trying every replacement would match', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
  const template = fc
    .array(fc.oneof(letters, fc.constantFrom('{x}', '{}', '{?a,b*}', '{', '}', '/')), { maxLength: 7 })
    .map((parts) => parts.join(''));
  const uri = fc.string({ unit: fc.constantFrom('a', 'b', 'a', 'b', '/', '{', '}'), maxLength: 9 });
  fc.assert(
    fc.property(template, uri, fc.array(letters), (pattern, any, fillings) => {
      expect(matchesTemplate(pattern, any)).toBe(model(pattern, any));
      let at = 0;
      const made = pattern.replace(/\{[^{}]*\}/g, () => fillings[at++] ?? '');
      expect(matchesTemplate(pattern, made)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
