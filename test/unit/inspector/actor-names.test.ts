// Names of actors as they are shown: what somebody has sent stands in some of them.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import { ActorNames } from '../../../src/inspector/feed/actor-names.ts';

const SECRET = 'sk-0123456789';
const names = new ActorNames(new Redactor([SECRET]));

describe('the name of an actor', () => {
  test('is its id where nothing has to be kept back', () => {
    for (const id of ['gateway', 'files~3#4', 'conversation/repohost/acme/site#7#12', SECRET])
      expect(names.nameOf(id)).toBe(id);
  });

  test('is without secrets and cut, and still another for each actor (AN1)', () => {
    expect(names.nameOf(`conversation/http/${SECRET}#12`)).toBe('conversation/http/[redacted] (12)#12');
    const long = `conversation/http/${'x'.repeat(300)}`;
    const [one, two] = [names.nameOf(`${long}1#1`), names.nameOf(`${long}2#2`)];
    expect(one).toMatch(/^conversation\/http\/x{102}… \(1\)#1$/);
    expect(two).toMatch(/… \(2\)#2$/);
  });

  test('stands in the events that tell of its end as it is shown elsewhere', () => {
    const id = `conversation/http/${SECRET}#3`;
    for (const what of ['done', 'error'])
      expect(names.eventOf(`xstate.${what}.actor.${id}`)).toBe(`xstate.${what}.actor.${names.nameOf(id)}`);
    expect(names.eventOf('xstate.done.actor.0.gateway.booting.part')).toBe(
      'xstate.done.actor.0.gateway.booting.part',
    );
  });

  test('never has a secret or more than a bound, whatever the key (A9)', () => {
    const piece = fc.oneof(
      fc.constant(SECRET),
      fc.constant('/'),
      fc.constant('#7'),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.nat(), (pieces, number) => {
        const id = `conversation/${pieces.join('')}#${number}`;
        for (const shown of [names.nameOf(id), names.eventOf(`xstate.done.actor.${id}`)]) {
          expect(shown).not.toContain(SECRET);
          expect(shown.length).toBeLessThan(240);
          expect(shown.endsWith(`#${number}`)).toBe(true);
        }
      }),
    );
  });
});
