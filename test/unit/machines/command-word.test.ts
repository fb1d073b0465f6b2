import { expect, it } from 'vitest';
import { commandWordOf } from '../../../machines/matching.ts';

it.each([
  ['deploy prod now', { name: 'deploy', rest: 'prod now' }],
  [' /deploy\nprod\nnow ', { name: 'deploy', rest: 'prod\nnow ' }],
  ['deploy', { name: 'deploy', rest: '' }],
  ['//deploy', { name: '/deploy', rest: '' }],
  ['  ', { name: '', rest: '' }],
])('commandWordOf splits %j into the command name and the rest', (text, parts) => {
  expect(commandWordOf(text)).toEqual(parts);
});
