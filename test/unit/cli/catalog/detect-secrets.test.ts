// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Detection of secrets in long texts; test/unit/cli/import/imported-servers.test.ts covers the rules.

import { expect, test } from 'vitest';
import { secretsIn } from '../../../../src/cli/catalog/detect-secrets.ts';

const COUNT = 400_000;

// A quadratic algorithm exceeds the test's time limit many times.
test.each([
  ['a list with semicolons', `a=b;c${' '.repeat(COUNT)}d`],
  ['an address', `${'a-'.repeat(COUNT)}://`],
  ['references', '${'.repeat(COUNT)],
])('secrets are detected in linear time in %s', (_, text) => {
  expect(secretsIn(`${text} password=abc-def`)).toHaveLength(1);
});
