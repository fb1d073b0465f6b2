import { expect, it } from 'vitest';
import { commandWordOf } from '../../../machines/matching.ts';

it.each([
  ['deploy prod now', { name: 'deploy', rest: 'prod now' }],
  [' /deploy\nprod\nnow ', { name: 'deploy', rest: 'prod\nnow ' }],
  ['deploy', { name: 'deploy', rest: '' }],
  ['//deploy', { name: '/deploy', rest: '' }],
  ['  ', { name: '', rest: '' }],
])('of %j the first word is the name of a command, and what stands behind it is the rest', (text, found) => {
  expect(commandWordOf(text)).toEqual(found);
});
