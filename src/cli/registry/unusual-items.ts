// What an entry of a registry wants beyond its package: variables that lead programs, options of the program that runs it, another source of
// packages, an address that is not public. A stranger wrote the entry, so each item is shown, and written only if it is allowed by name.
//
// The items are read from what will be written, and not from the entry: a template, a default or an answer cannot hide one.

import type { RegistryPackage } from '../../../actors/registry/registry-entry.ts';
import { otherWords } from './harmless-options.ts';
import { imageOf } from './package-command.ts';
import { riskOfAddress } from './risky-addresses.ts';
import { steeringEffect } from './steering-variables.ts';

export interface UnusualItem {
  /** By which it is allowed: --allow NAME. */
  readonly name: string;
  /** Its value, where the name does not contain it. */
  readonly value?: string;
  readonly reason: string;
}

/** Returns the items among the variables that are set. */
export function unusualVariables(env: Readonly<Record<string, string>>): UnusualItem[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const effect = steeringEffect(name);
    return effect === undefined ? [] : [{ name: `env:${name}`, value, reason: `it can change ${effect}` }];
  });
}

/** Returns the items among the words between the program and the package. */
export function unusualOptions(program: string, words: readonly string[]): UnusualItem[] {
  const reason =
    program === 'docker' || program === 'podman'
      ? 'it can give the container a part of this machine'
      : `it can make ${program} run other code`;
  return otherWords(program, words).map((word) => ({ name: `option:${word}`, reason }));
}

/** Hosts from which images usually come. */
const imageHosts =
  /^(?:docker\.io|index\.docker\.io|registry-1\.docker\.io|ghcr\.io|quay\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.gitlab\.com|registry\.k8s\.io|gcr\.io|[a-z]+\.gcr\.io|[a-z0-9-]+-docker\.pkg\.dev)$/;

/** Returns the item of a package that comes from another place than the usual one of its kind. */
export function unusualSource(given: RegistryPackage, program: string): UnusualItem[] {
  const reason = 'its package comes from another place than usual';
  if (given.registryType === 'oci') {
    const image = imageOf(program, given);
    const [host = ''] = image.split('/');
    const hasHost = image.includes('/') && /[.:]|^localhost$/.test(host);
    return hasHost && !imageHosts.test(host) ? [{ name: `source:${host}`, reason }] : [];
  }
  const address = given.registryBaseUrl;
  const isUsual =
    address === undefined || /^https:\/\/(?:registry\.npmjs\.org|pypi\.org)(?:\/|$)/.test(address);
  return isUsual ? [] : [{ name: `source:${address}`, reason }];
}

/** Returns the item of an address that is not public. */
export function unusualAddress(address: string): UnusualItem[] {
  const reason = riskOfAddress(address);
  const name = URL.canParse(address) ? new URL(address).origin : address;
  return reason === undefined ? [] : [{ name: `address:${name}`, reason }];
}
