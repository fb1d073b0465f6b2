// Displayed names of actors, which may contain text from senders.
// Invariant A9 is in ARCHITECTURE.md.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import { ActorNames } from '../../../../src/inspector/feed/actor-names.ts';

const SECRET = 'sk-0123456789';
const names = new ActorNames(new Redactor([SECRET]));

describe('the displayed name of an actor', () => {
  test('is its id if nothing must be redacted', () => {
    for (const id of ['gateway', 'files~3#4', 'conversation/repohost/acme/site#7#12', SECRET])
      expect(names.nameOf(id)).toBe(id);
  });

  test('is redacted, truncated and unique per actor', () => {
    expect(names.nameOf(`conversation/http/${SECRET}#12`)).toBe('conversation/http/[redacted] (12)#12');
    const long = `conversation/http/${'x'.repeat(300)}`;
    const [one, two] = [names.nameOf(`${long}1#1`), names.nameOf(`${long}2#2`)];
    expect(one).toMatch(/^conversation\/http\/x{102}… \(1\)#1$/);
    expect(two).toMatch(/… \(2\)#2$/);
  });

  test('is also used in events about its end', () => {
    const id = `conversation/http/${SECRET}#3`;
    for (const what of ['done', 'error'])
      expect(names.eventOf(`xstate.${what}.actor.${id}`)).toBe(`xstate.${what}.actor.${names.nameOf(id)}`);
    expect(names.eventOf('xstate.done.actor.0.gateway.booting.part')).toBe(
      'xstate.done.actor.0.gateway.booting.part',
    );
  });

  test('never contains a secret, and is bounded, for any key (A9)', () => {
    const piece = fc.oneof(
      fc.constant(SECRET),
      fc.constant('/'),
      fc.constant('#7'),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.nat(), (pieces, number) => {
        const id = `conversation/${pieces.join('')}#${number}`;
        for (const name of [names.nameOf(id), names.eventOf(`xstate.done.actor.${id}`)]) {
          expect(name).not.toContain(SECRET);
          expect(name.length).toBeLessThan(240);
          expect(name.endsWith(`#${number}`)).toBe(true);
        }
      }),
    );
  });
});
