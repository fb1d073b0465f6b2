// The keys of an identity provider, for all who take its tokens.
//
// MV1  whoever takes tokens of one provider, routes and triggers alike, has its keys in common: they are fetched once, and kept
//      over a reload.

import { WeakValues } from '../../base/bounds/weak-values.ts';
import { KeySet, type KeySetOptions } from './key-set.ts';

const keySets = new WeakValues<KeySet>();

export function sharedKeys(source: KeySetOptions['source']): KeySet {
  // The address as it is asked: an issuer is a part of what is expected there.
  return keySets.of(JSON.stringify(source), () => new KeySet({ source }));
}
