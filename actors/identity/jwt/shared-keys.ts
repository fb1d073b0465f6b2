// Key sets, one per identity provider, shared by all routes and triggers that use it: the keys are fetched
// once, and stay cached when the configuration is reloaded.

import { WeakValues } from '../../base/bounds/weak-values.ts';
import { KeySet, type KeySetOptions } from './key-set.ts';

const keySets = new WeakValues<KeySet>();

export function sharedKeys(source: KeySetOptions['source']): KeySet {
  // The source includes the expected issuer, so users with different expectations do not share a set.
  return keySets.getOrCreate(JSON.stringify(source), () => new KeySet({ source }));
}
